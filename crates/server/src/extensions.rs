//! Tools that an extension of a page brings: called back over a channel of the page's socket, answered by a command of the host
//! API. They are there as long as the page is; who may use them is decided as for every tool.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, Execution, ToolDefinition};
use innkeeper_tools::registry::{Offer, Prepared, Source};
use innkeeper_tools::{Executor, Invocation, ToolError, ToolManager};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use tokio::sync::oneshot;

use crate::clients::Client;
use crate::limits::{GENERATE_CALL_TIMEOUT, MAX_CHANNELS, MAX_EXTENSION_TOOLS};
use crate::live::told;
use crate::problem::Problem;

/// What an extension says of its tool.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Definition {
    pub(crate) extension_id: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) title: Option<String>,
    pub(crate) input_schema: Json,
    #[serde(default = "in_chats")]
    pub(crate) contexts: Vec<String>,
    #[serde(default = "yes")]
    pub(crate) enabled: bool,
    #[serde(default)]
    pub(crate) annotations: Map<String, Json>,
}

fn in_chats() -> Vec<String> {
    vec!["chat".to_owned()]
}

const fn yes() -> bool {
    true
}

impl Definition {
    fn tool_id(&self) -> String {
        format!("extension:{}.{}", self.extension_id, self.name)
    }
}

/// Of one house.
#[derive(Clone)]
pub(crate) struct Extensions {
    tools: ToolManager,
    desk: Arc<Mutex<Desk>>,
}

#[derive(Default)]
struct Desk {
    channels: HashMap<String, Arc<Client>>,
    brought: BTreeMap<String, Brought>,
    calls: HashMap<String, oneshot::Sender<Result<Json, String>>>,
}

struct Brought {
    channel: String,
    registration: String,
    definition: Definition,
    enabled: bool,
}

impl Extensions {
    pub(crate) fn new(tools: ToolManager) -> Self {
        Self {
            tools,
            desk: Arc::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whatever is said to that name from now on goes to this client.
    pub(crate) fn open(&self, channel: &str, client: &Arc<Client>) -> Result<(), Problem> {
        let mut desk = self.lock();
        let is_ours = |owner: &&Arc<Client>| Arc::ptr_eq(owner, client);
        if channel.is_empty() || channel.len() > 200 {
            return Err(Problem::new(
                ErrorCode::HttpInvalidRequest,
                "channel: a name of 1 to 200 characters",
            ));
        }
        if desk
            .channels
            .get(channel)
            .is_some_and(|owner| !is_ours(&owner))
        {
            return Err(Problem::new(
                ErrorCode::HttpConflict,
                "somebody else has opened a channel of that name",
            ));
        }
        if desk.channels.values().filter(is_ours).count() >= MAX_CHANNELS {
            return Err(Problem::new(
                ErrorCode::HttpRateLimited,
                format!("one connection has at most {MAX_CHANNELS} channels"),
            ));
        }
        desk.channels.insert(channel.to_owned(), client.clone());
        Ok(())
    }

    /// The client is gone, and with it what it brought.
    pub(crate) fn close(&self, client: &Arc<Client>) {
        let mut desk = self.lock();
        desk.channels.retain(|_, owner| !Arc::ptr_eq(owner, client));
        let lost: Vec<String> = {
            let Desk {
                channels, brought, ..
            } = &*desk;
            let is_lost = |(id, tool): (&String, &Brought)| {
                (!channels.contains_key(&tool.channel)).then(|| id.clone())
            };
            brought.iter().filter_map(is_lost).collect()
        };
        for id in &lost {
            desk.brought.remove(id);
        }
        drop(desk);
        for id in lost {
            self.tools.registry().remove(&id);
        }
    }

    /// Known from now on; once more under the same name takes the place of the one before.
    pub(crate) fn register(&self, definition: Definition, channel: &str) -> Result<Json, Problem> {
        let invalid = |message: String| {
            Problem::new(ErrorCode::AgentValidationError, message).because("extension.tool_invalid")
        };
        let is_word = |text: &str| {
            !text.is_empty()
                && text.len() <= 100
                && text
                    .chars()
                    .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
        };
        for (what, text) in [
            ("extensionId", &definition.extension_id),
            ("name", &definition.name),
        ] {
            if !is_word(text) {
                return Err(invalid(format!(
                    "{what} is made of letters, digits, '-', '_' and '.', at most 100 of them"
                )));
            }
        }
        let known = ["chat", "session"];
        let contexts = &definition.contexts;
        if contexts.is_empty() || contexts.iter().any(|one| !known.contains(&one.as_str())) {
            return Err(invalid(
                "contexts must be some of: chat, session".to_owned(),
            ));
        }
        let id = definition.tool_id();
        let mut desk = self.lock();
        if !desk.channels.contains_key(channel) {
            return Err(Problem::new(
                ErrorCode::ToolUnavailable,
                "the channel is not open: say channel.open over the socket first",
            )
            .because("extension.tool_unavailable"));
        }
        let is_new = !desk.brought.contains_key(&id);
        if is_new && desk.brought.len() >= MAX_EXTENSION_TOOLS {
            return Err(invalid(format!(
                "there are {MAX_EXTENSION_TOOLS} tools of extensions already; take some back"
            )));
        }
        let enabled = definition.enabled;
        let source = match enabled {
            true => self.source(&definition, channel)?,
            // Whether it fits is known now and not when it is turned on.
            false => {
                self.source(&definition, channel)?;
                Source::default()
            }
        };
        self.tools
            .registry()
            .replace(&id, source)
            .map_err(|error| invalid(error.to_string()))?;
        let registration = uuid::Uuid::now_v7().simple().to_string();
        let told = json!({ "toolId": id, "registrationId": registration, "enabled": enabled });
        let brought = Brought {
            channel: channel.to_owned(),
            registration,
            definition,
            enabled,
        };
        desk.brought.insert(id, brought);
        Ok(told)
    }

    pub(crate) fn set_enabled(&self, id: &str, enabled: bool) -> Result<Json, Problem> {
        let mut desk = self.lock();
        let Some(brought) = desk.brought.get_mut(id) else {
            let id: String = id.chars().take(120).collect();
            return Err(Problem::new(
                ErrorCode::ToolUnavailable,
                format!("no page has brought a tool '{id}'"),
            )
            .because("extension.tool_unavailable"));
        };
        let source = match enabled {
            true => self.source(&brought.definition, &brought.channel)?,
            false => Source::default(),
        };
        self.tools
            .registry()
            .replace(id, source)
            .map_err(|error| Problem::new(ErrorCode::AgentValidationError, error.to_string()))?;
        brought.enabled = enabled;
        let registration = &brought.registration;
        Ok(json!({ "toolId": id, "registrationId": registration, "enabled": enabled }))
    }

    /// What the page says came of a call. One that nobody waits for any more is dropped.
    pub(crate) fn resolve(&self, request: &str, result: Result<Json, String>) {
        let waiting = self.lock().calls.remove(request);
        if let Some(waiting) = waiting {
            let _ = waiting.send(result);
        }
    }

    fn source(&self, definition: &Definition, channel: &str) -> Result<Source, Problem> {
        let id = definition.tool_id();
        let parameters = definition.input_schema.clone();
        let declared = ToolDefinition {
            display_name: definition.title.clone().unwrap_or_default(),
            execution: Execution {
                timeout_ms: u64::try_from(GENERATE_CALL_TIMEOUT.as_millis()).ok(),
                ..Execution::default()
            },
            tags: vec!["extension".to_owned()],
            source: format!("extension:{}", definition.extension_id),
            extra: Map::from_iter([(
                "annotations".to_owned(),
                Json::Object(definition.annotations.clone()),
            )]),
            ..ToolDefinition::new(&id, &definition.description, parameters)
        };
        let prepared = Prepared::new(declared).map_err(|error| {
            Problem::new(ErrorCode::AgentValidationError, error.to_string())
                .because("extension.tool_invalid")
        })?;
        let executor = PageTool {
            desk: self.desk.clone(),
            store: self.tools.store().journal(),
            channel: channel.to_owned(),
            contexts: definition.contexts.clone(),
        };
        Ok(Source {
            tools: vec![Offer::new(prepared, Arc::new(executor))],
            ..Source::default()
        })
    }
}

struct PageTool {
    desk: Arc<Mutex<Desk>>,
    store: Arc<dyn innkeeper_store::journal::RunJournal>,
    channel: String,
    contexts: Vec<String>,
}

impl PageTool {
    fn lock(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `{kind: chat}`, or `{kind: session, sessionId}` for a run of no chat.
    async fn target(&self, call: &Invocation) -> Result<Json, ToolError> {
        let run = &call.context.caller.run;
        let record = self.store.record(run).await;
        let record = record.map_err(|error| ToolError::failed(error.to_string()))?;
        Ok(match record {
            Some(record) if !record.chat_ref.is_null() => json!({ "kind": "chat" }),
            Some(record) => json!({ "kind": "session", "sessionId": record.stable_chat_id }),
            None => json!({ "kind": "session" }),
        })
    }
}

#[async_trait]
impl Executor for PageTool {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let target = self.target(&call).await?;
        let kind = target["kind"].as_str().unwrap_or_default();
        if !self.contexts.iter().any(|context| context == kind) {
            let message = format!(
                "this tool is not for a {kind}: {}",
                self.contexts.join(", ")
            );
            return Err(ToolError::unavailable(message).because("extension.tool_unavailable"));
        }
        let gone = || {
            ToolError::unavailable("the page that brought this tool is gone")
                .because("extension.tool_unavailable")
        };
        let request = uuid::Uuid::now_v7().simple().to_string();
        let (answer, answered) = oneshot::channel();
        let client = {
            let mut desk = self.lock();
            let client = desk.channels.get(&self.channel).cloned();
            let client = client.ok_or_else(gone)?;
            desk.calls.insert(request.clone(), answer);
            client
        };
        let open = OpenCall {
            tool: self,
            client: &client,
            request: &request,
            is_over: false,
        };
        let caller = &call.context.caller;
        let context = json!({
            "runId": caller.run,
            "invocationId": caller.invocation,
            "callId": call.context.asked_as.as_deref().unwrap_or(&call.context.call_id),
            "target": target,
        });
        let message = json!({
            "kind": "call",
            "requestId": request,
            "arguments": call.arguments,
            "context": context,
        });
        let said = told(
            "channel.message",
            json!({ "channel": self.channel, "message": message }),
        );
        client.mouth().say(said).await.map_err(|_| gone())?;
        let left = client.left();
        let result = tokio::select! {
            result = answered => result,
            () = left => return Err(gone()),
            () = call.context.cancel.cancelled() => {
                return Err(ToolError::new(ErrorCode::AgentCancelled, "the call was taken back"));
            }
        };
        open.over();
        match result {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(message)) => Err(ToolError::failed(message)),
            Err(_) => Err(gone()),
        }
    }

    fn keeps_time(&self) -> bool {
        false
    }
}

/// A call that is dropped before it was answered is taken back.
struct OpenCall<'a> {
    tool: &'a PageTool,
    client: &'a Arc<Client>,
    request: &'a str,
    is_over: bool,
}

impl OpenCall<'_> {
    fn over(mut self) {
        self.is_over = true;
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        self.tool.lock().calls.remove(self.request);
        let message = json!({ "kind": "cancel", "requestId": self.request });
        let channel = &self.tool.channel;
        let said = told(
            "channel.message",
            json!({ "channel": channel, "message": message }),
        );
        self.client.mouth().try_say(said);
    }
}
