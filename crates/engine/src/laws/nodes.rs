//! Pure nodes whose results tell everything that went in, and in which order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value as Json;

use crate::node::{any, integer, text};
use crate::stream::Chunk;
use crate::{EngineOptions, ExecutionEngine, NodeBuilder, NodeError, NodeManager, NodeType, Value};

/// What nodes of one run did, given to them as the host of the run.
#[derive(Default)]
pub(super) struct Watch {
    /// How often each node ran.
    pub(super) runs: Mutex<BTreeMap<String, usize>>,
    /// Nodes at work now.
    pub(super) alive: AtomicIsize,
    /// Chunks that were sent and not yet received.
    pub(super) ahead: AtomicIsize,
    pub(super) most_ahead: AtomicIsize,
}

impl Watch {
    pub(super) fn ran(&self, id: &str) {
        *self.runs.lock().unwrap().entry(id.to_owned()).or_default() += 1;
    }
}

/// At work until it is dropped, however that comes about.
pub(super) struct Alive(Option<Arc<Watch>>);

impl Alive {
    pub(super) fn new(watch: Option<Arc<Watch>>) -> Self {
        if let Some(watch) = &watch {
            watch.alive.fetch_add(1, Ordering::SeqCst);
        }
        Self(watch)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        if let Some(watch) = &self.0 {
            watch.alive.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Small, and different for whatever is different.
pub(super) fn digest(parts: &[&Json]) -> i64 {
    let mut sum = 17i64;
    for part in parts {
        for byte in part.to_string().bytes() {
            sum = (sum * 31 + i64::from(byte)) % 1_009;
        }
        sum = (sum * 31 + 7) % 1_009;
    }
    sum
}

pub(super) const FAILED: &str = "the number did not please it";

pub(super) fn pleases(number: i64) -> bool {
    number % 3 != 0
}

pub(super) fn engine(options: EngineOptions) -> ExecutionEngine {
    let nodes = NodeManager::new();
    nodes.replace("law", types()).unwrap();
    nodes.replace("test", crate::testing::test_nodes()).unwrap();
    ExecutionEngine::new(nodes, options)
}

fn types() -> Vec<NodeType> {
    vec![
        mix(false),
        mix(true),
        picky(false),
        picky(true),
        endless(),
        relay(),
        listen(),
    ]
}

fn node(name: &str, is_task: bool) -> NodeBuilder {
    let name = format!("{name}{}", if is_task { "Task" } else { "" });
    NodeBuilder::new("law", &name, "Law", &name, "For laws")
}

fn mix(is_task: bool) -> NodeType {
    let mut node = node("Mix", is_task);
    let a = node.input(integer("a").default(3));
    let b = node.input(any("b"));
    let list = node.input(any("list").multi());
    let said = node.input(text("t").default("q"));
    let x = node.output(integer("x"));
    let y = node.output(text("y"));
    let none = node.output(any("none"));
    let work = move |io: &mut crate::node::Io| -> Result<(), NodeError> {
        let a = Json::from(io.get(a)?);
        let (b, said) = (io.get(b)?, Json::from(io.get(said)?));
        let list: Json = Value::from(io.get(list)?).into_json();
        let sum = digest(&[&a, b.as_json(), &list, &said]);
        io.set(x, sum);
        io.set(y, sum.to_string());
        if sum % 3 != 0 {
            io.set(none, sum + 1);
        }
        Ok(())
    };
    match is_task {
        false => node.inline(work),
        true => node.task(move |mut io| async move {
            watched(&io).await;
            work(&mut io)?;
            io.done()
        }),
    }
}

fn picky(is_task: bool) -> NodeType {
    let mut node = node("Picky", is_task);
    let a = node.input(integer("a").default(4));
    let out = node.output(integer("out"));
    let work = move |io: &mut crate::node::Io| -> Result<(), NodeError> {
        let a = io.get(a)?;
        if !pleases(a) {
            return Err(NodeError::failed("law.failed", FAILED));
        }
        io.set(out, a + 1);
        Ok(())
    };
    match is_task {
        false => node.inline(work),
        true => node.task(move |mut io| async move {
            watched(&io).await;
            work(&mut io)?;
            io.done()
        }),
    }
}

/// Never ends by itself.
fn endless() -> NodeType {
    let mut node = node("Endless", false);
    node.input(any("after"));
    let out = node.output(any("out"));
    node.effects();
    node.task(move |mut io| async move {
        let _alive = Alive::new(watch(&io));
        io.set(out, 1i64);
        std::future::pending::<()>().await;
        io.done()
    })
}

fn watch(io: &crate::node::TaskIo) -> Option<Arc<Watch>> {
    io.context().host::<Arc<Watch>>().cloned()
}

/// Waits as long as its setting `ms` says.
async fn watched(io: &crate::node::TaskIo) {
    let watch = watch(io);
    if let Some(watch) = &watch {
        watch.ran(&io.info().id);
    }
    let _alive = Alive::new(watch);
    match io.config("ms").as_u64() {
        None | Some(0) => {}
        Some(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
    }
}

/// Numbers from 0, or those that come in, each one higher. Gives how many there were, when all are sent.
fn relay() -> NodeType {
    let mut node = node("Relay", false);
    let numbers = node.input(any("numbers").stream());
    let to = node.input(integer("to"));
    let ms = node.input(integer("ms"));
    let after = node.input(any("after"));
    let out = node.output(integer("out").stream());
    let count = node.output(integer("count"));
    node.effects();
    node.task(move |mut io| async move {
        let watch = watch(&io);
        let _alive = Alive::new(watch.clone());
        let (to, ms) = (io.get(to)?, u64::try_from(io.get(ms)?).unwrap());
        drop(io.get(after)?);
        let writer = io.writer(out);
        let mut reader = match to {
            0 => Some(io.get(numbers)?),
            _ => None,
        };
        let mut sent = 0;
        loop {
            let number = match &mut reader {
                None if sent < to => sent,
                None => break,
                Some(reader) => match reader.next().await {
                    Some(chunk) => chunk?.content.as_json().as_i64().unwrap() + 1,
                    None => break,
                },
            };
            if ms > 0 && sent % 3 == 0 {
                tokio::time::sleep(Duration::from_millis(ms)).await;
            }
            writer.send(Chunk::of(number.into())).await?;
            sent += 1;
            if let Some(watch) = &watch {
                let ahead = watch.ahead.fetch_add(1, Ordering::SeqCst) + 1;
                watch.most_ahead.fetch_max(ahead, Ordering::SeqCst);
            }
        }
        io.set(count, sent);
        io.done()
    })
}

/// Gives what it has heard, and goes after `most` if that is set.
fn listen() -> NodeType {
    let mut node = node("Listen", false);
    let numbers = node.input(any("numbers").stream().required());
    let most = node.input(integer("most").optional());
    let ms = node.input(integer("ms"));
    node.input(any("after"));
    let seen = node.output(crate::node::array("seen"));
    node.effects();
    node.task(move |mut io| async move {
        let watch = watch(&io);
        let _alive = Alive::new(watch.clone());
        let ms = u64::try_from(io.get(ms)?).unwrap();
        let (mut reader, most) = (io.get(numbers)?, io.get(most)?);
        let mut list: Vec<Value> = Vec::new();
        while most.is_none_or(|most| (list.len() as i64) < most)
            && let Some(chunk) = reader.next().await
        {
            if let Some(watch) = &watch {
                watch.ahead.fetch_sub(1, Ordering::SeqCst);
            }
            if ms > 0 {
                tokio::time::sleep(Duration::from_millis(ms)).await;
            }
            list.push(chunk?.content);
        }
        io.set(seen, list);
        io.done()
    })
}
