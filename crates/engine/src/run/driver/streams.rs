//! Streams of a region: opened when their writer starts, read by whoever is ready, collected where a value is wanted.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;

use super::{Driver, Message, News, Streams};
use crate::NodeError;
use crate::plan::{PlanInput, PlanNode};
use crate::run::collect::{Listener, collect};
use crate::run::event::EventBody;
use crate::run::state::Held;
use crate::run::task::panicked;
use crate::stream::{StreamWriter, stream};

impl Driver<'_> {
    /// Readers begin at once, and see everything from the beginning.
    pub(super) fn open_streams(&mut self, node: &PlanNode) -> Vec<(usize, Arc<StreamWriter>)> {
        let mut writers = Vec::new();
        for (index, output) in node.info.outputs.iter().enumerate() {
            if !output.is_stream {
                continue;
            }
            let slot = node.first_slot + u32::try_from(index).unwrap_or(u32::MAX);
            let readers = self.region.readers.get(slot as usize).copied();
            let readers = readers.unwrap_or_default() as usize;
            let (writer, readers) = stream(readers, &self.shared.ledger);
            writers.push((index, Arc::new(writer)));
            let readers = readers.into_iter().map(Some).collect();
            self.state.set(slot, Held::Stream(readers));
            for index in self.collected(slot) {
                self.start_collecting(index);
            }
            self.settle_slot(slot);
            self.mark_late(slot);
        }
        writers
    }

    /// Readers that wait for something else too.
    pub(super) fn mark_late(&self, slot: u32) {
        let Held::Stream(readers) = self.state.get(slot) else {
            return;
        };
        for dependent in self.dependents(slot) {
            let is_ready = self.state.pending.get(*dependent as usize) == Some(&0);
            let Some(node) = self.region.nodes.get(*dependent as usize) else {
                continue;
            };
            for input in node.inputs.iter().filter(|_| !is_ready) {
                if let PlanInput::Stream {
                    slot: of, reader, ..
                } = input
                    && *of == slot
                    && let Some(Some(reader)) = readers.get(*reader as usize)
                {
                    reader.is_late();
                }
            }
        }
    }

    /// Where the stream is made into values, by number.
    pub(super) fn collected(&self, stream: u32) -> std::ops::Range<usize> {
        let all = &self.region.collected;
        let begin = all.partition_point(|one| one.stream < stream);
        let end = all.partition_point(|one| one.stream <= stream);
        begin..end
    }

    pub(super) fn start_collecting(&mut self, index: usize) {
        let Some(collected) = self.region.collected.get(index) else {
            return;
        };
        let reader = match self.state.slots.get_mut(collected.stream as usize) {
            Some(Held::Stream(readers)) => readers
                .get_mut(collected.reader as usize)
                .and_then(Option::take),
            _ => None,
        };
        let Some(reader) = reader else {
            return;
        };
        let listener = match collected.output {
            None => Listener::Nobody,
            Some(output) => self.listener(output as usize),
        };
        let (into, flow) = (collected.into, collected.flow);
        let part = self.shared.ledger.join();
        let cancel = self.shared.cancel.clone();
        self.tasks.spawn(async move {
            // Whoever listens may take for ever, or panic.
            let work = AssertUnwindSafe(collect(reader, flow, listener)).catch_unwind();
            let end = tokio::select! {
                end = work => end.unwrap_or_else(|panic| Err(panicked(&*panic))),
                () = cancel.cancelled() => Err(NodeError::cancelled()),
            };
            let news = News::Collected { into, end };
            Message { news, part }
        });
    }

    pub(super) fn listener(&self, output: usize) -> Listener {
        match &self.streams {
            Streams::Loop(writers) => match writers.get(output).cloned().flatten() {
                Some(writer) => Listener::Loop(writer),
                None => Listener::Nobody,
            },
            Streams::Run => match self.region.outputs.get(output) {
                Some(output) => Listener::Output {
                    feed: self.shared.feed.clone(),
                    key: output.key.clone(),
                    display_name: output.display_name.clone(),
                    sink: self.shared.sink.clone(),
                },
                None => Listener::Nobody,
            },
        }
    }

    /// A stream that broke is the failure of whoever wrote it, which tells itself; one that is too long is its own.
    pub(super) fn stream_failed(&mut self, into: u32, error: NodeError) {
        if error.upstream.is_some() || error.is_cancelled() {
            return;
        }
        let collected = self.region.collected.iter().find(|one| one.into == into);
        let stream = collected.map_or(0, |collected| collected.stream);
        let region = self.region;
        let writer = region.nodes.iter().find(|node| {
            let outputs = u32::try_from(node.info.outputs.len()).unwrap_or(u32::MAX);
            (node.first_slot..node.first_slot + outputs).contains(&stream)
        });
        if let Some(node) = writer {
            let told = error.clone();
            self.tell(
                |node| EventBody::NodeError {
                    node,
                    error: told,
                    retry: false,
                },
                node,
            );
            self.note_failure(node.info.id.clone(), error);
        }
    }
}
