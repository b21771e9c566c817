//! PublishEvent and SubscribeEvent.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Map, Value as Json, json};

use super::call::call;
use crate::limits::MAX_HEARD_EVENTS;
use crate::node::{NodeBuilder, NodeType, any, array, boolean, integer, object, text};
use crate::port::BusEvent;
use crate::stream::Chunk;
use crate::{NodeError, Value};

pub(super) fn publish() -> NodeType {
    let mut node = NodeBuilder::core(
        "PublishEvent",
        "World",
        "Publish event",
        "Tells everyone who listens that something happened",
    );
    node.alias("core:PublishEventNode");
    let kind = node.input(
        text("type")
            .title("Type")
            .about("Words with dots between them: npc.anna.greets")
            .required(),
    );
    let payload = node.input(
        any("payload")
            .title("Payload")
            .about("What there is to tell"),
    );
    let id = node.output(text("id").title("Id"));
    let event = node.output(object("event").title("Event"));
    node.effects();
    node.task(move |mut io| async move {
        let (kind, payload) = (io.get(kind)?, io.get(payload)?.into_json());
        if kind.trim().is_empty() {
            let message = "the event has no type; name it like npc.anna.greets";
            return Err(NodeError::invalid("event.no_type", message));
        }
        let told = json!({"type": kind, "payload": payload});
        let new_id = match io.context().event_bus() {
            Ok(bus) => bus.publish(BusEvent { kind, payload }).await?,
            // Without a bus of its own the run may still have the tool.
            Err(_) => {
                let arguments = told.as_object().cloned().unwrap_or_default();
                let said = call(io.context(), "event:Publish", arguments).await?;
                let id = said.get("id").and_then(Json::as_str);
                id.unwrap_or_default().to_owned()
            }
        };
        io.set(id, new_id);
        io.set(event, told);
        io.done()
    })
}

pub(super) fn subscribe() -> NodeType {
    let mut node = NodeBuilder::core(
        "SubscribeEvent",
        "World",
        "Subscribe to events",
        "Gives events as they happen, from the moment the node runs",
    );
    node.alias("core:SubscribeEventNode");
    let names = node.input(
        any("names")
            .title("Names")
            .about("Types of events as a list, or as a text with commas; * stands for any part")
            .default("*"),
    );
    let count = node.input(
        integer("count")
            .title("Count")
            .about("Ends after so many; 0 for no such end")
            .default(1)
            .range(0, i64::MAX),
    );
    let timeout = node.input(
        integer("timeout_ms")
            .title("Timeout")
            .about("Ends after so many milliseconds; 0 for no such end")
            .default(0)
            .range(0, i64::MAX),
    );
    let events = node.output(
        object("events")
            .title("Events")
            .about("Each as {type, payload}")
            .stream(),
    );
    let all = node.output(
        array("all")
            .title("All")
            .about("Those that came, the newest if there were very many"),
    );
    let last = node.output(object("last").title("Last"));
    let received = node.output(integer("received").title("Received"));
    let timed_out = node.output(boolean("timed_out").title("Timed out"));
    node.effects();
    node.task(move |mut io| async move {
        let wanted = names_of(&io.get(names)?)?;
        let most = u64::try_from(io.get(count)?).unwrap_or_default();
        let limit = u64::try_from(io.get(timeout)?).unwrap_or_default();
        let mut bus = io.context().event_bus()?.subscribe(wanted).await?;
        let writer = io.writer(events);
        let end = async {
            match limit {
                0 => std::future::pending().await,
                limit => tokio::time::sleep(Duration::from_millis(limit)).await,
            }
        };
        tokio::pin!(end);
        let mut heard: std::collections::VecDeque<Json> = Default::default();
        let mut number = 0u64;
        let is_late = loop {
            let event = tokio::select! {
                event = bus.next() => event,
                () = &mut end => break true,
            };
            let Some(event) = event else { break false };
            let told = json!({"type": event.kind, "payload": event.payload});
            number += 1;
            if heard.len() == MAX_HEARD_EVENTS {
                heard.pop_front();
            }
            heard.push_back(told.clone());
            writer.send(Chunk::of(told.into())).await?;
            if number == most {
                break false;
            }
        };
        io.set(received, number);
        io.set(timed_out, is_late);
        if let Some(newest) = heard.back() {
            io.set(last, newest.clone());
        } else {
            io.set(last, Map::new());
        }
        io.set(all, Vec::from(heard));
        io.done()
    })
}

fn names_of(names: &Value) -> Result<Vec<String>, NodeError> {
    let names: Option<Vec<String>> = match names.as_json() {
        Json::String(text) => Some(text.split(',').map(|name| name.trim().to_owned()).collect()),
        Json::Array(list) => list
            .iter()
            .map(|name| name.as_str().map(str::to_owned))
            .collect(),
        Json::Null => Some(vec!["*".to_owned()]),
        _ => None,
    };
    let names = names.map(|names| names.into_iter().filter(|name| !name.is_empty()).collect());
    match names {
        Some(names) if !Vec::is_empty(&names) => Ok(names),
        _ => Err(NodeError::invalid(
            "event.names",
            "'names' has to be a list of types of events, or a text with commas",
        )),
    }
}
