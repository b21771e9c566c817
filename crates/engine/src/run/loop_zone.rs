//! A loop at work: its inside is run again and again, each time with what the last time left.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Value as Json, json};

use super::driver::{Message, News, Streams, run_region};
use super::event::{EventBody, IterationStatus};
use super::loop_settings::OnError;
use super::state::{Held, State};
use super::task::{Task, Work, panicked};
use super::{NodeEvents, Part, RunShared};
use crate::expression::{Expression, Variables};
use crate::flow::coerce;
use crate::limits::{MAX_ITERATIONS, MAX_LOOP_BYTES, MAX_LOOP_ERRORS, NODES_PER_TURN};
use crate::node::{Input, NodeInfo, Output, Outputs, TaskIo, Writer};
use crate::plan::{PlanInput, Region, VariableKind, Zone, ZoneOutput};
use crate::{NodeError, Value};

/// Boxed, because a loop may lie in a loop.
pub(super) fn run(
    shared: Arc<RunShared>,
    zone: Arc<Zone>,
    captured: Vec<Held>,
    task: Task,
) -> Pin<Box<dyn Future<Output = Message> + Send>> {
    Box::pin(async move {
        let Task { number, part, work } = task;
        let (writers, events) = (work.writers.clone(), work.context.events.clone());
        let is_caught = work.is_caught;
        let mut parts = vec![part];
        let looping = async {
            match work.rules.timeout_ms {
                None => {
                    let looping = Looping::new(&shared, &zone, captured, work);
                    looping.run(&mut parts).await
                }
                Some(limit) => run_in_time(&shared, &zone, captured, work, limit, &mut parts).await,
            }
        };
        let end = AssertUnwindSafe(looping).catch_unwind().await;
        let end = end.unwrap_or_else(|panic| Err(panicked(&*panic)));
        Work::end_streams(&writers, &events, &end, is_caught);
        let news = News::Node {
            node: number,
            end,
            is_cached: false,
        };
        let part = parts.pop().unwrap_or_else(|| shared.ledger.join());
        Message { news, part }
    })
}

/// When the time is over everything inside is stopped, and nothing else.
async fn run_in_time(
    shared: &Arc<RunShared>,
    zone: &Zone,
    captured: Vec<Held>,
    work: Work,
    limit: u64,
    parts: &mut Vec<Part>,
) -> Result<Outputs, NodeError> {
    let inside = Arc::new(RunShared {
        cancel: shared.cancel.child_token(),
        ..shared.as_ref().clone()
    });
    let looping = Looping::new(&inside, zone, captured, work).run(parts);
    tokio::pin!(looping);
    tokio::select! {
        end = &mut looping => end,
        () = tokio::time::sleep(Duration::from_millis(limit)) => {
            inside.cancel.cancel();
            match looping.await {
                Err(error) if error.is_cancelled() && !shared.cancel.is_cancelled() => {
                    let message = format!("the loop did not end within {limit} ms");
                    Err(NodeError::failed("node.timeout", message))
                }
                end => end,
            }
        }
    }
}

struct Looping<'l> {
    shared: &'l Arc<RunShared>,
    zone: &'l Zone,
    events: NodeEvents,
    info: Arc<NodeInfo>,
    inputs: Vec<Input>,
    /// What is taken from outside.
    captured: Vec<Held>,
    /// For each argument of the body.
    variables: Vec<Option<Value>>,
    items: Option<Value>,
    /// For each output of the body, where its chunks go.
    streams: Vec<Option<Writer>>,
    /// For each output of the body, its last value.
    last: Vec<Option<Value>>,
    /// For each output of the body that is collected.
    all: Vec<Option<Vec<Json>>>,
    collected_bytes: usize,
    errors: Vec<Json>,
    iterations: u64,
}

impl<'l> Looping<'l> {
    fn new(shared: &'l Arc<RunShared>, zone: &'l Zone, captured: Vec<Held>, work: Work) -> Self {
        let events = work.context.events.clone();
        let outputs = zone.body.outputs.len();
        let mut all: Vec<Option<Vec<Json>>> = vec![None; outputs];
        let mut streams: Vec<Option<Writer>> = Vec::new();
        streams.resize_with(outputs, || None);
        let io = TaskIo {
            io: work.io,
            context: work.context,
            writers: work.writers,
        };
        for (index, output) in zone.outputs.iter().enumerate() {
            match output {
                ZoneOutput::All(inside) => {
                    if let Some(all) = all.get_mut(*inside) {
                        *all = Some(Vec::new());
                    }
                }
                ZoneOutput::Stream(inside) => {
                    if let Some(stream) = streams.get_mut(*inside) {
                        *stream = Some(io.writer_at(index));
                    }
                }
                _ => {}
            }
        }
        let info = io.io.info.clone();
        let inputs = io.io.inputs;
        let value_of = |input: &Input| match input {
            Input::Absent | Input::Stream(_) => None,
            input => Some(input.as_value()),
        };
        let variables = zone.variables.iter().map(|variable| match variable.kind {
            VariableKind::Input(input) => inputs.get(input).and_then(value_of),
            _ => None,
        });
        let variables = variables.collect();
        let items = info.inputs.iter().position(|slot| &*slot.key == "items");
        let items = items.and_then(|index| inputs.get(index)).and_then(value_of);
        Self {
            shared,
            zone,
            events,
            info,
            variables,
            items: items.filter(|items| items.as_json().is_array()),
            inputs,
            captured,
            streams,
            last: vec![None; outputs],
            all,
            collected_bytes: 0,
            errors: Vec::new(),
            iterations: 0,
        }
    }

    async fn run(mut self, parts: &mut Vec<Part>) -> Result<Outputs, NodeError> {
        let most = self.most()?;
        let zone = self.zone;
        let body = &zone.body;
        let items = self
            .items
            .as_ref()
            .and_then(|items| items.as_json().as_array());
        let items = items.map(Vec::len);
        let mut state = State::new(body);
        let mut stopped_by = "maxIterations";
        while self.iterations < most {
            if items.is_some_and(|items| self.iterations >= items as u64) {
                stopped_by = "items";
                break;
            }
            if let Some(condition) = &zone.settings.while_
                && !self.holds(condition)?
            {
                stopped_by = "while";
                break;
            }
            self.iterations += 1;
            // An iteration that has nothing to run takes its turn too.
            state.turn += 1;
            if state.turn >= NODES_PER_TURN {
                state.turn = 0;
                tokio::task::yield_now().await;
            }
            if self.shared.cancel.is_cancelled() {
                return Err(NodeError::cancelled());
            }
            self.begin(&mut state);
            self.tell(|| IterationStatus::Started);
            let iteration = Some(self.iterations);
            let streams = Streams::Loop(&self.streams);
            run_region(self.shared, body, &mut state, iteration, streams, parts).await?;
            match state.failures.first() {
                None => self.tell(|| IterationStatus::Complete),
                Some(failure) => {
                    let message = failure.error.message.clone();
                    self.tell(|| IterationStatus::Error {
                        message: message.clone(),
                    });
                    if zone.settings.on_error == OnError::Stop {
                        return Err(NodeError {
                            message: format!(
                                "iteration {}, {}: {message}",
                                self.iterations, failure.node
                            ),
                            ..failure.error.clone()
                        });
                    }
                    if self.errors.len() < MAX_LOOP_ERRORS {
                        let mut error = failure.error.to_json();
                        error["node"] = json!(failure.node);
                        error["iteration"] = json!(self.iterations);
                        self.errors.push(error);
                    }
                    continue;
                }
            }
            let stop = self.take_results(body, &state)?;
            if stop {
                stopped_by = "stop";
                break;
            }
            if let Some(condition) = &zone.settings.until
                && self.holds(condition)?
            {
                stopped_by = "until";
                break;
            }
        }
        if stopped_by == "maxIterations"
            && items.is_some_and(|items| self.iterations >= items as u64)
        {
            stopped_by = "items";
        }
        Ok(self.outputs(stopped_by))
    }

    /// An input of the loop beats its setting.
    fn most(&self) -> Result<u64, NodeError> {
        let input = self
            .info
            .inputs
            .iter()
            .position(|slot| &*slot.key == "maxIterations");
        let given = input.and_then(|index| self.inputs.get(index));
        let given = match given {
            Some(Input::Value(value)) => value.as_json().as_i64(),
            _ => None,
        };
        match given {
            Some(most) => u64::try_from(most)
                .ok()
                .filter(|most| *most <= MAX_ITERATIONS)
                .ok_or_else(|| {
                    let message =
                        format!("{most} is no number of iterations; use 0 to {MAX_ITERATIONS}");
                    NodeError::invalid("loop.iterations", message)
                }),
            None => {
                let items = self
                    .items
                    .as_ref()
                    .and_then(|items| items.as_json().as_array());
                Ok(self.zone.settings.default_iterations(items.map(Vec::len)))
            }
        }
    }

    fn tell(&self, status: impl FnOnce() -> IterationStatus) {
        if self.shared.feed.is_followed() {
            self.shared.feed.tell(EventBody::LoopIteration {
                node: self.events.node.clone(),
                iteration: self.iterations,
                status: status(),
            });
        }
    }

    /// The slots as the iteration finds them.
    fn begin(&mut self, state: &mut State) {
        let zone = self.zone;
        state.reset(&zone.body);
        for (slot, held) in zone.body.captured.iter().zip(&self.captured) {
            state.set(
                *slot,
                match held {
                    Held::Value(value) => Held::Value(value.clone()),
                    Held::Dead(why) => Held::Dead(*why),
                    Held::Pending | Held::Absent | Held::Stream(_) => Held::Absent,
                },
            );
        }
        let variables = zone.variables.iter().zip(&self.variables);
        for (argument, (variable, value)) in zone.body.arguments.iter().zip(variables) {
            let value = match variable.kind {
                VariableKind::Iteration => Some(self.iterations.into()),
                VariableKind::Index => Some((self.iterations - 1).into()),
                VariableKind::Item => self.item(),
                VariableKind::Input(_) | VariableKind::Unset => value.clone(),
            };
            state.set(argument.slot, value.map_or(Held::Absent, Held::Value));
        }
    }

    fn item(&self) -> Option<Value> {
        let index = usize::try_from(self.iterations.saturating_sub(1)).ok()?;
        let item = self.items.as_ref()?.as_json().get(index)?;
        Some(item.clone().into())
    }

    /// What the iteration left. Whether it said that it is enough.
    fn take_results(&mut self, body: &Region, state: &State) -> Result<bool, NodeError> {
        for (index, output) in body.outputs.iter().enumerate() {
            let Some(value) = output_value(&output.input, state) else {
                continue;
            };
            if let Some(Some(all)) = self.all.get_mut(index) {
                self.collected_bytes += value.weight();
                if self.collected_bytes > MAX_LOOP_BYTES {
                    let message = format!(
                        "the loop has collected more than {MAX_LOOP_BYTES} bytes; collect less, or write it to a file"
                    );
                    return Err(NodeError::invalid("loop.too_large", message));
                }
                all.push(value.as_json().clone());
            }
            if let Some(last) = self.last.get_mut(index) {
                *last = Some(value);
            }
        }
        for (value, variable) in self.variables.iter_mut().zip(&self.zone.variables) {
            let changed = variable
                .changed_by
                .and_then(|index| body.outputs.get(index));
            if let Some(new) = changed.and_then(|output| output_value(&output.input, state)) {
                *value = Some(new);
            }
        }
        let stop = self.zone.stop.and_then(|index| body.outputs.get(index));
        let stop = stop.and_then(|output| output_value(&output.input, state));
        Ok(stop.is_some_and(|stop| stop.is_truthy()))
    }

    fn holds(&self, condition: &Expression) -> Result<bool, NodeError> {
        let mut names = Vec::new();
        for (output, value) in self.zone.body.outputs.iter().zip(&self.last) {
            names.push((output.key.clone(), value.clone().unwrap_or_default()));
        }
        for (argument, value) in self.zone.body.arguments.iter().zip(&self.variables) {
            if let Some(value) = value
                && !names.iter().any(|(known, _)| *known == argument.key)
            {
                names.push((argument.key.clone(), value.clone()));
            }
        }
        names.push(("iteration".into(), self.iterations.into()));
        Ok(condition.holds(Arc::new(Scope(names)))?)
    }

    fn outputs(self, stopped_by: &str) -> Outputs {
        let mut all = self.all;
        // Where no iteration has changed a variable, it is what it began with.
        let begun = |output: usize| {
            let key = &self.info.outputs.get(output)?.key;
            let mut inputs = self.info.inputs.iter().zip(&self.inputs);
            match inputs.find(|(slot, _)| slot.key == *key)?.1 {
                Input::Absent | Input::Stream(_) => None,
                input => Some(input.as_value()),
            }
        };
        let found = self.zone.outputs.iter().enumerate().map(|(place, output)| {
            let value = match output {
                ZoneOutput::Last(index) => {
                    let last = self.last.get(*index).cloned().flatten();
                    last.or_else(|| begun(place))
                }
                ZoneOutput::All(index) => {
                    all.get_mut(*index).and_then(Option::take).map(Value::from)
                }
                ZoneOutput::Variable(index) => self.variables.get(*index).cloned().flatten(),
                ZoneOutput::Iterations => Some(self.iterations.into()),
                ZoneOutput::StoppedBy => Some(stopped_by.into()),
                ZoneOutput::Errors => Some(self.errors.clone().into()),
                ZoneOutput::Stream(_) | ZoneOutput::Nothing => None,
            };
            value.map_or(Output::Absent, Output::Value)
        });
        Outputs(found.collect())
    }
}

struct Scope(Vec<(Arc<str>, Value)>);

impl Variables for Scope {
    fn get(&self, name: &str) -> Option<Value> {
        let found = self.0.iter().find(|(known, _)| &**known == name);
        found.map(|(_, value)| value.clone())
    }
}

/// The value of an output of a region; `None` where nothing was given.
pub(crate) fn output_value(input: &PlanInput, state: &State) -> Option<Value> {
    match input {
        PlanInput::Fixed(value) | PlanInput::FixedStream(value) => Some(value.clone()),
        PlanInput::FixedMany(values) => Some(values.clone().into()),
        PlanInput::One(from) | PlanInput::Wrapped(from) => match state.get(from.slot) {
            // As the output declares it, where that is possible.
            Held::Value(value) => coerce(from.flow, value.clone()).or_else(|| Some(value.clone())),
            _ => None,
        },
        PlanInput::Many { parts, .. } => {
            let values = parts.iter().filter_map(|part| match part {
                crate::plan::Part::Value(value) => Some(value.clone()),
                crate::plan::Part::Slot(slot) => match state.get(*slot) {
                    Held::Value(value) => Some(value.clone()),
                    _ => None,
                },
            });
            let values: Vec<Value> = values.collect();
            Some(values.into())
        }
        PlanInput::Absent | PlanInput::Stream { .. } => None,
    }
}
