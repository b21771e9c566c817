//! Runs the nodes of a region: every node whose inputs are there runs at once. Those that wait for nothing run in
//! place, one after the other; those that wait are tasks of their own.
//!
//! Owns the order of things. What a node takes is found in `gather.rs`, what a task does in `task.rs`.

mod ends;
mod streams;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::task::JoinSet;

use super::event::{EventBody, NodeRef, Skip};
use super::gather::Gathered;
use super::kept::Kept;
use super::state::{Held, State};
use super::task::{self, Task, Work};
use super::{NodeEvents, Part, RunShared, loop_zone};
use crate::NodeError;
use crate::limits::NODES_PER_TURN;
use crate::node::{Behaviour, InlineRun, Io, NodeContext, Output, Outputs, Writer};
use crate::plan::{Op, PlanNode, Region};

/// A node that failed, and nobody took its error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub node: Arc<str>,
    pub error: NodeError,
}

/// Events that are told together.
const EVENTS_AT_ONCE: usize = 128;

/// What a task brings back, and its part in the work.
pub(super) struct Message {
    pub(super) news: News,
    pub(super) part: Part,
}

pub(super) enum News {
    Node {
        node: u32,
        end: Result<Outputs, NodeError>,
        is_cached: bool,
    },
    Collected {
        into: u32,
        end: Result<crate::Value, NodeError>,
    },
}

/// Where the outputs of a region that are streams go.
pub(crate) enum Streams<'s> {
    /// To whoever follows the run.
    Run,
    /// Out of a loop: by number of the output.
    Loop(&'s [Option<Writer>]),
}

/// Runs all nodes. The slots of arguments and captured values are already filled. `Err` only if it was stopped.
///
/// `parts` is what the caller holds in the run's work; while this waits for tasks it is let go.
pub(crate) async fn run_region(
    shared: &Arc<RunShared>,
    region: &Region,
    state: &mut State,
    iteration: Option<u64>,
    streams: Streams<'_>,
    parts: &mut Vec<Part>,
) -> Result<(), NodeError> {
    let mut driver = Driver {
        shared,
        region,
        state,
        iteration,
        streams,
        tasks: JoinSet::new(),
        at_work: 0,
    };
    let end = driver.run(parts).await;
    if end.is_err() {
        // They all know, and each ends what it has begun: to abort one would leave behind what is in it.
        while driver.tasks.join_next().await.is_some() {}
    }
    driver.flush();
    end
}

struct Driver<'d> {
    shared: &'d Arc<RunShared>,
    region: &'d Region,
    state: &'d mut State,
    iteration: Option<u64>,
    streams: Streams<'d>,
    tasks: JoinSet<Message>,
    /// Nodes among the tasks.
    at_work: usize,
}

impl<'d> Driver<'d> {
    async fn run(&mut self, parts: &mut Vec<Part>) -> Result<(), NodeError> {
        for slot in 0..self.region.captured.len() {
            self.settle_slot(u32::try_from(slot).unwrap_or(u32::MAX));
        }
        loop {
            self.run_ready().await?;
            self.flush();
            if self.tasks.is_empty() {
                break;
            }
            parts.clear();
            let joined = tokio::select! {
                joined = self.tasks.join_next() => joined,
                () = self.shared.cancel.cancelled() => None,
            };
            let Some(joined) = joined else {
                parts.push(self.shared.ledger.join());
                return Err(NodeError::cancelled());
            };
            parts.extend(self.take(joined));
            while let Some(joined) = self.tasks.try_join_next() {
                parts.extend(self.take(joined));
            }
            self.start_held_back();
        }
        self.check_all_ended();
        Ok(())
    }

    /// A run is never called complete where a node was left waiting: that would be an error of the plan.
    fn check_all_ended(&mut self) {
        let left = self.region.nodes.len().saturating_sub(self.state.ended);
        if left == 0 {
            return;
        }
        let pending = self.region.nodes.iter().zip(&self.state.pending);
        let waiting = pending.filter(|(_, pending)| **pending > 0);
        let node = waiting.map(|(node, _)| node.info.id.clone()).next();
        let message = format!(
            "{left} nodes were left waiting: this is an error of the engine, please report it"
        );
        let error = NodeError::invalid("run.stuck", message);
        self.note_failure(node.unwrap_or_default(), error);
    }

    async fn run_ready(&mut self) -> Result<(), NodeError> {
        while let Some(number) = self.state.ready.pop_front() {
            let region = self.region;
            let Some(node) = region.nodes.get(number as usize) else {
                continue;
            };
            self.step(number, node);
            self.state.turn += 1;
            if self.state.turn >= NODES_PER_TURN {
                self.state.turn = 0;
                self.flush();
                if self.shared.cancel.is_cancelled() {
                    return Err(NodeError::cancelled());
                }
                tokio::task::yield_now().await;
            }
        }
        if self.shared.cancel.is_cancelled() {
            return Err(NodeError::cancelled());
        }
        Ok(())
    }

    fn step(&mut self, number: u32, node: &PlanNode) {
        let is_task = matches!(node.op, Op::Run(Behaviour::Task(_)) | Op::Loop(_));
        if let Some(gate) = node.gate
            && let Held::Dead(why) = *self.state.get(gate)
        {
            self.state.leave_streams(node);
            return self.skip(node, why);
        }
        // Whoever reads a stream must start, or those who write would wait for ever.
        if is_task && self.at_work >= self.shared.parallel && !node.reads_streams {
            self.state.held_back.push_back(number);
            return;
        }
        match self.state.gather(node, &self.shared.ledger) {
            Gathered::Ready => {}
            Gathered::Skip(why) => return self.skip(node, why),
            // The node itself will say why.
            Gathered::Fail(_) if matches!(node.op, Op::Decide(_)) => {
                return self.skip(node, Skip::BranchNotTaken);
            }
            Gathered::Fail(error) => {
                self.tell(EventBody::NodeExecuting, node);
                return self.fail(node, error);
            }
        }
        if !self.state.failed_lazy.is_empty() && self.wants_failed(node) {
            self.state.io.inputs.clear();
            return self.skip(node, Skip::UpstreamFailed);
        }
        match &node.op {
            Op::Run(Behaviour::Inline(run)) => self.run_inline(node, run),
            Op::Run(Behaviour::Task(_)) | Op::Loop(_) => self.start(number, node),
            Op::Arguments => {
                self.tell(EventBody::NodeExecuting, node);
                self.complete_arguments(node);
            }
            Op::Decide(choose) => {
                let choose = choose.clone();
                self.decide(node, &choose);
            }
            Op::Bypass => self.tell_bypass(node),
            Op::Fail(error) => {
                self.tell(EventBody::NodeExecuting, node);
                self.fail(node, error.clone());
            }
            Op::Run(Behaviour::Structure(_)) => {}
        }
    }

    /// Whether a lazy input that failed is one that the node wants.
    fn wants_failed(&mut self, node: &PlanNode) -> bool {
        let Some(choose) = &node.choose else {
            return false;
        };
        let State {
            io, failed_lazy, ..
        } = &mut *self.state;
        io.info = node.info.clone();
        let mut is_wanted = false;
        let end = catch_unwind(AssertUnwindSafe(|| {
            choose(io, &mut |input| is_wanted |= failed_lazy.contains(&input))
        }));
        matches!(end, Ok(Ok(()))) && is_wanted
    }

    fn run_inline(&mut self, node: &PlanNode, run: &Arc<InlineRun>) {
        self.tell(EventBody::NodeExecuting, node);
        let io = &mut self.state.io;
        io.info = node.info.clone();
        io.outputs.clear();
        io.outputs.resize(node.info.outputs.len(), Output::Absent);
        let end = catch_unwind(AssertUnwindSafe(|| run(io)));
        // What it did not read holds nobody up.
        io.inputs.clear();
        match end {
            Ok(Ok(())) => {
                let outputs = std::mem::take(&mut self.state.io.outputs);
                let outputs = self.complete(node, outputs, false);
                self.state.io.outputs = outputs;
            }
            Ok(Err(error)) => self.fail(node, error),
            Err(panic) => self.fail(node, task::panicked(&*panic)),
        }
    }

    /// A node that waits, or a loop.
    fn start(&mut self, number: u32, node: &PlanNode) {
        self.tell(EventBody::NodeExecuting, node);
        self.flush();
        let writers = match node.writes_streams {
            true => self.open_streams(node),
            false => Vec::new(),
        };
        let events = NodeEvents {
            feed: self.shared.feed.clone(),
            node: self.node_ref(node),
        };
        let io = Io {
            info: node.info.clone(),
            inputs: std::mem::take(&mut self.state.io.inputs),
            outputs: vec![Output::Absent; node.info.outputs.len()],
        };
        let context = NodeContext {
            prompt_id: self.shared.feed.prompt_id.clone(),
            cancel: self.shared.cancel.clone(),
            attempt: 1,
            services: self.shared.services.clone(),
            kept: node
                .rules
                .lends_kept
                .then(|| Kept::lend(self.shared, &node.info.full_type)),
            events,
        };
        self.at_work += 1;
        let task = Task {
            number,
            part: self.shared.ledger.join(),
            work: Work {
                io,
                context,
                writers,
                rules: node.rules.clone(),
                reads_streams: node.reads_streams,
                is_caught: node.error_slot.is_some(),
                turns: (!node.reads_streams).then(|| self.shared.turns.clone()),
            },
        };
        match &node.op {
            Op::Run(Behaviour::Task(run)) => {
                let shared = self.shared.clone();
                self.tasks.spawn(task::run(task, run.clone(), shared));
            }
            Op::Loop(zone) => {
                let captured = self.state.captured(node, zone);
                let work = loop_zone::run(self.shared.clone(), zone.clone(), captured, task);
                self.tasks.spawn(work);
            }
            _ => {}
        }
    }

    fn take(&mut self, joined: Result<Message, tokio::task::JoinError>) -> Option<Part> {
        // Tasks catch every panic, and are aborted only when nobody takes their results any more.
        let message = joined.ok()?;
        match message.news {
            News::Node {
                node: number,
                end,
                is_cached,
            } => {
                self.at_work -= 1;
                let region = self.region;
                let node = region.nodes.get(number as usize)?;
                match end {
                    Ok(outputs) => drop(self.complete(node, outputs.0, is_cached)),
                    Err(error) => self.fail(node, error),
                }
            }
            News::Collected { into, end } => {
                let held = match end {
                    Ok(value) => Held::Value(value),
                    Err(error) => {
                        let why = error.upstream.unwrap_or(Skip::UpstreamFailed);
                        self.stream_failed(into, error);
                        Held::Dead(why)
                    }
                };
                self.state.set(into, held);
                self.settle_slot(into);
            }
        }
        Some(message.part)
    }

    fn start_held_back(&mut self) {
        while self.at_work < self.shared.parallel
            && let Some(number) = self.state.held_back.pop_front()
        {
            let region = self.region;
            if let Some(node) = region.nodes.get(number as usize) {
                self.step(number, node);
            }
        }
    }

    fn node_ref(&self, node: &PlanNode) -> NodeRef {
        NodeRef {
            info: node.info.clone(),
            iteration: self.iteration,
        }
    }

    fn tell(&mut self, body: impl FnOnce(NodeRef) -> EventBody, node: &PlanNode) {
        if self.shared.feed.is_followed() {
            let node = self.node_ref(node);
            self.state.told.push(body(node));
            if self.state.told.len() >= EVENTS_AT_ONCE {
                self.flush();
            }
        }
    }

    /// Before anybody else can tell something, and before this one waits.
    fn flush(&mut self) {
        if !self.state.told.is_empty() {
            self.shared.feed.tell_all(&mut self.state.told.drain(..));
        }
    }
}
