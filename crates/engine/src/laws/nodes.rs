//! Pure nodes whose results tell everything that went in, and in which order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value as Json;

use crate::node::{any, integer, text};
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
    let mut types = vec![mix(false), mix(true), picky(false), picky(true), endless()];
    types.extend(super::streams::nodes::types());
    types
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

pub(super) fn watch(io: &crate::node::TaskIo) -> Option<Arc<Watch>> {
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
