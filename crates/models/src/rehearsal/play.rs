//! A scene as a stream of pieces, with its pauses and its faults.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::{Stream, stream};
use serde_json::Value as Json;

use super::REHEARSAL;
use super::pick::Moment;
use super::script::{Call, Fault, Reply, Says, Scene, Shape};
use super::template::Filling;
use crate::{FinishReason, ModelError, ModelErrorKind, ModelEvent};

pub(super) type Played = Result<ModelEvent, ModelError>;

enum Step {
    Wait(Duration),
    Say(Played),
}

/// The pieces in order. Pauses are waited for while the stream is read.
pub(super) fn play(
    scene: &Scene,
    moment: &Moment,
    attempt: u32,
) -> impl Stream<Item = Played> + use<> {
    perform(steps(scene, moment, attempt))
}

/// A text without any pauses.
pub(super) fn say(text: &str, chunk: usize) -> impl Stream<Item = Played> + use<> {
    let mut events = vec![started()];
    events.extend(cut(text, chunk).map(ModelEvent::Text));
    events.push(ModelEvent::Finish(FinishReason::Stop));
    perform(
        events
            .into_iter()
            .map(|event| Step::Say(Ok(event)))
            .collect(),
    )
}

fn perform(steps: VecDeque<Step>) -> impl Stream<Item = Played> {
    stream::unfold(steps, |mut steps| async move {
        loop {
            match steps.pop_front()? {
                Step::Wait(pause) => tokio::time::sleep(pause).await,
                Step::Say(said) => return Some((said, steps)),
            }
        }
    })
}

fn steps(scene: &Scene, moment: &Moment, attempt: u32) -> VecDeque<Step> {
    let reply = &scene.reply;
    let mut deltas = deltas(reply, &moment.filling(scene), moment.turn);
    let fault = reply.fault.as_ref();
    let fault = fault.filter(|fault| fault.attempts.is_none_or(|attempts| attempt <= attempts));
    if let Some(fault) = fault {
        deltas.truncate(fault.after_deltas);
    }

    let mut steps = VecDeque::new();
    let wait = |steps: &mut VecDeque<Step>, pause: Duration| {
        if !pause.is_zero() {
            steps.push_back(Step::Wait(pause));
        }
    };
    wait(&mut steps, reply.before_first);
    if fault.is_none_or(|fault| fault.after_deltas > 0) {
        steps.push_back(Step::Say(Ok(started())));
    }
    for (number, delta) in deltas.into_iter().enumerate() {
        if number > 0 {
            wait(&mut steps, reply.between);
        }
        steps.push_back(Step::Say(Ok(delta)));
    }
    if let Some(fault) = fault {
        steps.push_back(Step::Say(Err(error(fault))));
        return steps;
    }
    let usage = reply.usage.map(ModelEvent::Usage);
    let reason = reply
        .finish_reason
        .clone()
        .unwrap_or(match reply.calls.is_empty() {
            true => FinishReason::Stop,
            false => FinishReason::ToolCalls,
        });
    let end = usage.into_iter().chain([ModelEvent::Finish(reason)]);
    steps.extend(end.map(|event| Step::Say(Ok(event))));
    steps
}

fn started() -> ModelEvent {
    ModelEvent::Started {
        model: REHEARSAL.to_owned(),
        response_id: None,
    }
}

fn deltas(reply: &Reply, filling: &Filling<'_>, turn: u64) -> Vec<ModelEvent> {
    let mut events = Vec::new();
    if let Some(reasoning) = &reply.reasoning {
        events.extend(cut(&reasoning.fill(filling), reply.chunk).map(ModelEvent::Reasoning));
    }
    match &reply.says {
        Says::Nothing => {}
        Says::Text(text) => {
            events.extend(cut(&text.fill(filling), reply.chunk).map(ModelEvent::Text));
        }
        Says::Deltas(deltas) => {
            events.extend(
                deltas
                    .iter()
                    .map(|delta| ModelEvent::Text(delta.fill(filling))),
            );
        }
    }
    for (index, call) in (0..).zip(&reply.calls) {
        events.extend(call_deltas(index, call, reply.chunk, filling, turn));
    }
    events
}

/// As providers send them: id and name first, then the arguments bit by bit.
fn call_deltas(
    index: u32,
    call: &Call,
    chunk: usize,
    filling: &Filling<'_>,
    turn: u64,
) -> impl Iterator<Item = ModelEvent> {
    // No other reply of the conversation has this turn.
    let id = call.id.clone();
    let id = id.unwrap_or_else(|| format!("call_{turn}_{}", index + 1));
    let first = ModelEvent::ToolCall {
        index,
        id: Some(id),
        name: Some(call.name.clone()),
        arguments_delta: String::new(),
    };
    let arguments = fill(&call.arguments, filling).to_string();
    let pieces: Vec<String> = cut(&arguments, chunk).collect();
    let rest = pieces.into_iter().map(move |piece| ModelEvent::ToolCall {
        index,
        id: None,
        name: None,
        arguments_delta: piece,
    });
    std::iter::once(first).chain(rest)
}

fn fill(shape: &Shape, filling: &Filling<'_>) -> Json {
    match shape {
        Shape::Plain(json) => json.clone(),
        Shape::Text(text) => text.fill(filling).into(),
        Shape::List(items) => items.iter().map(|item| fill(item, filling)).collect(),
        Shape::Map(entries) => entries
            .iter()
            .map(|(name, value)| (name.clone(), fill(value, filling)))
            .collect(),
    }
}

/// Into pieces of so many characters.
fn cut(text: &str, chunk: usize) -> impl Iterator<Item = String> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .char_indices()
            .nth(chunk)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at_checked(end)?;
        rest = after;
        Some(piece.to_owned())
    })
}

fn error(fault: &Fault) -> ModelError {
    let what = match fault.kind {
        ModelErrorKind::RateLimited => "too many requests; wait and try again",
        ModelErrorKind::ServerError => "the server has trouble; try again later",
        ModelErrorKind::Timeout => "no answer came in time; try again",
        ModelErrorKind::BrokenStream => "the answer broke off; try again",
        ModelErrorKind::Refused => "the request was refused; ask differently",
        _ => "the request failed",
    };
    let mut error = ModelError::new(fault.kind, format!("rehearsed failure: {what}"));
    error.retry_after = fault.retry_after;
    error
}
