//! Events of agents and workflows on the event bus.
//!
//! An event of the type `npc.anna.greets` is the topic `event.npc.anna.greets`, so that none can be mistaken for what the
//! platform itself tells (`task.completed`). Its payload says whose it is; who listens hears the events of the same
//! person's project, and of those that are meant for one agent only its own.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use futures_util::stream;
use innkeeper_engine::NodeError;
use innkeeper_engine::port::{BusEvent, BusEvents, EventPort};
use innkeeper_protocol::{Argument, Outcome, Pattern, Protocol, Span, ToolCallRequest, Value};
use innkeeper_store::{self as store, EventBus, Received, Subscription};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::tool_port::node_error;
use crate::builtin::event::{self, EventPublisher, NewEvent, Priority};
use crate::limits::{MAX_EVENT_PATTERNS, MAX_EVENT_TYPE_CHARS, MAX_WAITING_EVENTS};
use crate::pipeline::ready::{Leave, Ready};
use crate::registry::{Prepared, RegisterError, Tool};
use crate::{Actor, Caller, Executor, Invocation, Progress, ProjectId, ToolError, ToolRun, UserId};

const TOPIC: &str = "event.";
/// Told to whoever was too slow. Agents cannot make up events of the system.
const MISSED: &str = "system.events.missed";

/// The topic of events of a type; a pattern of types is a pattern of topics.
pub fn event_topic(kind: &str) -> String {
    format!("{TOPIC}{kind}")
}

/// What is on the bus.
#[derive(Debug, Serialize, Deserialize)]
struct Envelope {
    #[serde(rename = "type")]
    kind: String,
    user: UserId,
    project: ProjectId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(default)]
    priority: Priority,
    payload: Json,
}

/// Publishes on the bus.
pub struct BusPublisher(pub Arc<dyn EventBus>);

#[async_trait]
impl EventPublisher for BusPublisher {
    async fn publish(&self, caller: &Caller, event: NewEvent) -> Result<String, ToolError> {
        let topic = event_topic(&event.kind);
        let envelope = json!(Envelope {
            kind: event.kind,
            user: caller.user.clone(),
            project: caller.project.clone(),
            target: event.target,
            priority: event.priority,
            payload: event.payload,
        });
        // A source has no blanks.
        let source: String = caller.actor.to_string().split_whitespace().collect();
        let told = store::BusEvent::new(topic, source, envelope);
        let id = told.id.clone();
        match self.0.publish(told).await {
            Ok(_) => Ok(id),
            Err(error) => Err(ToolError::failed(error.to_string()).because("event.not_published")),
        }
    }
}

/// The bus for the nodes of one run's workflow. To tell is to call `event:Publish`; to listen is judged as a call of
/// `event:Subscribe`, which nobody else can call.
pub(super) struct RunEvents {
    pub(super) bus: Arc<dyn EventBus>,
    pub(super) run: ToolRun,
}

impl RunEvents {
    async fn may_listen(&self, names: &[String]) -> Result<(), NodeError> {
        static LISTENING: LazyLock<Result<Arc<Prepared>, RegisterError>> =
            LazyLock::new(|| Prepared::new(event::listening()).map(Arc::new));
        let prepared = LISTENING
            .as_ref()
            .map_err(|error| NodeError::invalid(error.code(), error.to_string()))?;
        let call = Ready {
            tool: Arc::new(Tool::unlisted(prepared.clone(), Arc::new(Listening))),
            arguments: Map::from_iter([("names".to_owned(), names.into())]),
            leave: Leave::Workflow,
        };
        // Whoever waits for this drops it to stop it.
        let never = CancellationToken::new();
        let said = self.run.run_ready(call, Progress::default(), &never).await;
        said.map(drop).map_err(|outcome| node_error(outcome, None))
    }
}

/// Whether one may is all there is to it.
struct Listening;

#[async_trait]
impl Executor for Listening {
    async fn execute(&self, _: Invocation) -> Result<Json, ToolError> {
        Ok(Json::Null)
    }
}

#[async_trait]
impl EventPort for RunEvents {
    async fn publish(&self, told: BusEvent) -> Result<String, NodeError> {
        let mut request = ToolCallRequest::new(Protocol::ToolCall, event::PUBLISH);
        request.arguments = [("type", told.kind.into()), ("payload", told.payload)]
            .map(|(name, value)| Argument::exact(name, Value::Json(value), Span::default()))
            .into();
        let never = CancellationToken::new();
        let said = self.run.run_to_end(&request, Progress::default(), &never);
        match said.await.outcome {
            Outcome::Success { result, .. } => {
                let id = result.get("id").and_then(Json::as_str);
                Ok(id.unwrap_or_default().to_owned())
            }
            other => Err(node_error(other, None)),
        }
    }

    async fn subscribe(&self, names: Vec<String>) -> Result<BusEvents, NodeError> {
        if names.len() > MAX_EVENT_PATTERNS {
            let message = format!(
                "a node listens for {} types of events; at most {MAX_EVENT_PATTERNS} are possible, use '*'",
                names.len()
            );
            return Err(NodeError::invalid("event.too_many_types", message));
        }
        let long = |name: &String| name.chars().nth(MAX_EVENT_TYPE_CHARS).is_some();
        if names.iter().any(long) {
            let message =
                format!("the type of an event has at most {MAX_EVENT_TYPE_CHARS} characters");
            return Err(NodeError::invalid("event.invalid_type", message));
        }
        self.may_listen(&names).await?;
        let listener = Listener {
            // One subscription for all names: an event that fits two of them is heard once.
            events: self.bus.subscribe(Pattern::new(event_topic("*"))),
            names: names.into_iter().map(Pattern::new).collect(),
            caller: self.run.caller.clone(),
            missed: 0,
        };
        let (sender, receiver) = mpsc::channel(MAX_WAITING_EVENTS);
        // Ends with the stream that is given, which holds the other end.
        tokio::spawn(listener.listen(sender));
        let events = stream::unfold(receiver, |mut receiver| async move {
            let event = receiver.recv().await?;
            Some((event, receiver))
        });
        Ok(Box::pin(events))
    }
}

/// Takes from the bus without waiting for whoever reads: what others tell each other must not make anyone miss what is
/// for them.
struct Listener {
    events: Subscription,
    names: Vec<Pattern>,
    caller: Arc<Caller>,
    /// Since that was last told.
    missed: u64,
}

impl Listener {
    async fn listen(mut self, sender: mpsc::Sender<BusEvent>) {
        loop {
            tokio::select! {
                biased;
                () = sender.closed() => return,
                // As soon as there is room, in the place of what is missing.
                room = sender.reserve(), if self.missed > 0 => {
                    let Ok(room) = room else { return };
                    let missed = std::mem::take(&mut self.missed);
                    room.send(BusEvent {
                        kind: MISSED.to_owned(),
                        payload: json!({ "missed": missed }),
                    });
                }
                received = self.events.next() => match received {
                    Received::Closed => return,
                    Received::Lagged { missed } => self.missed += missed,
                    Received::Event(delivery) => {
                        let told = Envelope::deserialize(&delivery.event.payload);
                        let Some(told) = told.ok().filter(|told| self.is_for_us(told)) else {
                            continue;
                        };
                        let event = BusEvent {
                            kind: told.kind,
                            payload: told.payload,
                        };
                        if self.missed > 0 || sender.try_send(event).is_err() {
                            self.missed += 1;
                        }
                    }
                },
            }
        }
    }

    fn is_for_us(&self, told: &Envelope) -> bool {
        let caller = &self.caller;
        let is_meant = match (&told.target, &caller.actor) {
            (Some(target), Actor::Agent { profile }) => target == profile,
            (None, _) | (_, Actor::Person) => true,
        };
        is_meant
            && told.user == caller.user
            && told.project == caller.project
            && self.names.iter().any(|name| name.matches(&told.kind))
    }
}
