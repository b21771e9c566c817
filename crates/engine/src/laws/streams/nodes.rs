//! Nodes that write streams, read them, and take them as values.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::laws::nodes::{Alive, Watch, digest, watch};
use crate::node::{Io, any, array, integer, text};
use crate::stream::{Chunk, StreamReader};
use crate::{Branch, NodeBuilder, NodeError, NodeType, Value};

pub(in crate::laws) fn types() -> Vec<NodeType> {
    vec![relay(), listen(), both(), pick(), take(false), take(true)]
}

fn node(name: &str) -> NodeBuilder {
    let mut node = NodeBuilder::new("law", name, "Law", name, "For laws");
    node.effects();
    node
}

/// What a relay makes of a chunk: the items of a list one by one, numbers one higher.
pub(super) fn relayed(content: &Json) -> Vec<i64> {
    let one = |item: &Json| match item.as_i64() {
        Some(number) => number + 1,
        None => digest(&[item]),
    };
    match content {
        Json::Array(items) => items.iter().map(one).collect(),
        other => vec![one(other)],
    }
}

/// What a node that takes values gives: different for whatever is different.
pub(super) fn taken(any: &Json, text: &Json, list: &Json, many: &Json) -> Json {
    json!(digest(&[any, text, list, many]))
}

async fn pause(ms: u64) {
    if ms > 0 {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

/// Numbers from 0 where it is told how many, else what it makes of those that come in. Each goes out twice: as a
/// number, and as a text on a stream of its own. Gives how many there were, when all are sent.
fn relay() -> NodeType {
    let mut node = node("Relay");
    let numbers = node.input(any("numbers").stream());
    let to = node.input(integer("to").optional());
    let fail_at = node.input(integer("fail_at").optional());
    let ms = node.input(integer("ms"));
    node.input(any("after"));
    let out = node.output(any("out").stream());
    let also = node.output(text("also").stream());
    let count = node.output(integer("count"));
    node.task(move |mut io| async move {
        let watch = watch(&io);
        let _alive = Alive::new(watch.clone());
        let (to, fail_at) = (io.get(to)?, io.get(fail_at)?);
        let ms = u64::try_from(io.get(ms)?).unwrap();
        let (out, also) = (io.writer(out), io.writer(also));
        let mut reader = match to {
            Some(_) => None,
            None => Some(io.get(numbers)?),
        };
        let mut sent = 0;
        loop {
            if fail_at.is_some_and(|at| at <= sent) {
                return Err(NodeError::failed("law.failed", "the stream breaks"));
            }
            let numbers = match &mut reader {
                None if to.is_some_and(|to| sent < to) => vec![sent],
                None => break,
                Some(reader) => match reader.next().await {
                    Some(chunk) => relayed(chunk?.content.as_json()),
                    None => break,
                },
            };
            for number in numbers {
                if sent % 3 == 0 {
                    pause(ms).await;
                }
                out.send(Chunk::of(number.into())).await?;
                also.text(format!("{number} ")).await?;
                sent += 1;
                if let Some(watch) = &watch {
                    let ahead = watch.ahead.fetch_add(1, Ordering::SeqCst) + 1;
                    watch.most_ahead.fetch_max(ahead, Ordering::SeqCst);
                }
            }
        }
        if fail_at.is_some() {
            return Err(NodeError::failed("law.failed", "it breaks at the end"));
        }
        io.set(count, sent);
        io.done()
    })
}

/// Reads on until the end, or until it has `most`.
async fn hear(
    reader: &mut StreamReader,
    most: Option<i64>,
    ms: u64,
    watch: &Option<Arc<Watch>>,
) -> Result<Vec<Value>, NodeError> {
    let mut list: Vec<Value> = Vec::new();
    while most.is_none_or(|most| (list.len() as i64) < most)
        && let Some(chunk) = reader.next().await
    {
        if let Some(watch) = watch {
            watch.ahead.fetch_sub(1, Ordering::SeqCst);
        }
        pause(ms).await;
        list.push(chunk?.content);
    }
    Ok(list)
}

/// Gives what it has heard, and goes after `most` if that is set.
fn listen() -> NodeType {
    let mut node = node("Listen");
    let numbers = node.input(any("numbers").stream().required());
    let most = node.input(integer("most").optional());
    let ms = node.input(integer("ms"));
    node.input(any("after"));
    let seen = node.output(array("seen"));
    node.task(move |mut io| async move {
        let watch = watch(&io);
        let _alive = Alive::new(watch.clone());
        let ms = u64::try_from(io.get(ms)?).unwrap();
        let (mut reader, most) = (io.get(numbers)?, io.get(most)?);
        let list = hear(&mut reader, most, ms, &watch).await?;
        drop(reader);
        io.set(seen, list);
        io.done()
    })
}

/// Reads two streams: one after the other, or a chunk of each in turn.
fn both() -> NodeType {
    let mut node = node("Both");
    let one = node.input(any("one").stream().required());
    let two = node.input(any("two").stream().required());
    let order = node.input(text("order"));
    let ms = node.input(integer("ms"));
    node.input(any("after"));
    let seen = node.output(array("seen"));
    node.task(move |mut io| async move {
        let _alive = Alive::new(watch(&io));
        let ms = u64::try_from(io.get(ms)?).unwrap();
        let (mut one, mut two) = (io.get(one)?, io.get(two)?);
        let order: String = io.get(order)?;
        let (mut first, mut second) = (Vec::new(), Vec::new());
        if order == "two" {
            second = hear(&mut two, None, ms, &None).await?;
        }
        // Each as long as it lasts; then there is nothing left of either.
        let mut is_more = order == "turns";
        while is_more {
            let (a, b) = (
                hear(&mut one, Some(1), ms, &None).await?,
                hear(&mut two, Some(1), ms, &None).await?,
            );
            is_more = !a.is_empty() || !b.is_empty();
            first.extend(a);
            second.extend(b);
        }
        first.extend(hear(&mut one, None, ms, &None).await?);
        second.extend(hear(&mut two, None, ms, &None).await?);
        let summary = [first, second].map(|list| digest(&[Value::from(list).as_json()]));
        io.set(seen, summary.map(Value::from).to_vec());
        io.done()
    })
}

/// Reads only the stream that `flag` wants; the other, if it came all the same, it lets go or holds unread.
fn pick() -> NodeType {
    let mut node = node("Pick");
    let flag = node.input(any("flag").required());
    let yes = node.input(any("yes").stream().optional().branch(Branch::Lazy));
    let no = node.input(any("no").stream().optional().branch(Branch::Lazy));
    let holds = node.input(integer("holds"));
    let ms = node.input(integer("ms"));
    node.input(any("after"));
    let seen = node.output(array("seen"));
    node.choose(move |io, want| {
        want(match io.get(flag)?.is_truthy() {
            true => yes.index(),
            false => no.index(),
        });
        Ok(())
    });
    node.task(move |mut io| async move {
        let _alive = Alive::new(watch(&io));
        let ms = u64::try_from(io.get(ms)?).unwrap();
        let (mut wanted, mut other) = (io.get(yes)?, io.get(no)?);
        if !io.get(flag)?.is_truthy() {
            std::mem::swap(&mut wanted, &mut other);
        }
        if io.get(holds)? == 0 {
            drop(other.take());
        }
        let list = hear(&mut wanted.unwrap(), None, ms, &None).await?;
        drop(other);
        io.set(seen, list);
        io.done()
    })
}

/// Takes values of every kind, streams among them collected.
fn take(is_task: bool) -> NodeType {
    let mut node = node(if is_task { "TakeTask" } else { "Take" });
    let one = node.input(any("any"));
    let said = node.input(text("text"));
    let list = node.input(array("list"));
    let many = node.input(any("many").multi());
    node.input(any("after"));
    let out = node.output(any("out"));
    let items = node.output(array("items"));
    let work = move |io: &mut Io| -> Result<(), NodeError> {
        let (one, said) = (io.get(one)?, Json::from(io.get(said)?));
        let list: Json = Value::from(io.get(list)?).into_json();
        let many: Json = Value::from(io.get(many)?).into_json();
        io.set(out, taken(one.as_json(), &said, &list, &many));
        io.set(items, list);
        Ok(())
    };
    match is_task {
        false => node.inline(work),
        true => node.task(move |mut io| async move {
            tokio::task::yield_now().await;
            work(&mut io)?;
            io.done()
        }),
    }
}
