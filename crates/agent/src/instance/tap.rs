//! Listens in while a deliberation asks its model: whatever the workflow does with the answer, people see it come, and
//! what it cost is counted.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures_util::StreamExt;
use innkeeper_engine::NodeError;
use innkeeper_engine::port::{
    MODEL_ROLE, ModelCall, ModelChunks, ModelFound, ModelPort, RESPONSE_ID,
};
use innkeeper_engine::stream::{Chunk, ChunkKind};
use serde_json::{Map, Value as Json};
use tokio_util::sync::CancellationToken;

use super::live::Live;
use super::meter::{Asker, RunMeter};
use crate::run::ModelUse;

/// The models of one turn.
pub(crate) struct Tap {
    pub(crate) models: Arc<dyn ModelPort>,
    /// Nobody where the profile does not want its answers to be seen before they are whole.
    pub(crate) live: Option<Live>,
    pub(crate) heard: Arc<Mutex<Heard>>,
    /// Where they are counted, and for whom.
    pub(crate) meter: Arc<RunMeter>,
    pub(crate) asker: Asker,
}

/// A request of the agent itself; dropped, it is over.
struct UnderWay {
    meter: Arc<RunMeter>,
    asker: Asker,
    request: u64,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.meter.ended(&self.asker, self.request);
    }
}

/// What was asked and used, over all requests of the turn.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) requests: u32,
    pub(crate) text: String,
    /// What the provider calls the last answer.
    pub(crate) response_id: Option<String>,
    /// Of requests that are over.
    total: Map<String, Json>,
    /// Those of them whose price nobody knows.
    unpriced: u32,
    /// Of the one under way; each word of it replaces the one before.
    current: Map<String, Json>,
}

impl Heard {
    /// How often nobody knows what was paid.
    pub(crate) fn unpriced(&self) -> u32 {
        self.unpriced + u32::from(is_unpriced(&self.current))
    }

    /// What is known of requests that came to nothing; nothing where nothing is.
    pub(crate) fn in_vain(&self, nested: Option<ModelUse>) -> Option<ModelUse> {
        let mut usage = self.usage();
        let (mut requests, mut unpriced) = (self.requests, self.unpriced());
        if let Some(nested) = nested {
            requests = requests.saturating_add(nested.requests);
            unpriced = unpriced.saturating_add(nested.unpriced);
            if let Json::Object(more) = &nested.usage {
                add(&mut usage, more);
            }
        }
        (!usage.is_empty()).then(|| ModelUse {
            requests,
            cost: usage.get("cost").and_then(Json::as_f64),
            usage: Json::Object(usage),
            unpriced,
        })
    }

    /// Of all requests together.
    pub(crate) fn usage(&self) -> Map<String, Json> {
        let mut usage = self.total.clone();
        add(&mut usage, &self.current);
        usage
    }
}

#[async_trait]
impl ModelPort for Tap {
    fn find(&self, model: &str) -> Result<Option<ModelFound>, NodeError> {
        self.models.find(model)
    }

    async fn stream(
        &self,
        call: ModelCall,
        cancel: CancellationToken,
    ) -> Result<ModelChunks, NodeError> {
        let under_way = UnderWay {
            meter: self.meter.clone(),
            asker: self.asker.clone(),
            request: self.meter.ask(&self.asker, &call).await?,
        };
        {
            let mut heard = lock(&self.heard);
            heard.requests += 1;
            heard.text.clear();
            heard.response_id = None;
            let ended = std::mem::take(&mut heard.current);
            heard.unpriced += u32::from(is_unpriced(&ended));
            add(&mut heard.total, &ended);
        }
        let chunks = self.models.stream(call, cancel).await?;
        let (live, heard) = (self.live.clone(), self.heard.clone());
        Ok(Box::pin(chunks.inspect(move |chunk| {
            if let Ok(chunk) = chunk {
                hear(chunk, live.as_ref(), &heard);
                if chunk.kind == ChunkKind::Usage {
                    let UnderWay {
                        meter,
                        asker,
                        request,
                    } = &under_way;
                    meter.used(asker, *request, chunk.content.as_json());
                }
            }
        })))
    }
}

fn hear(chunk: &Chunk, live: Option<&Live>, heard: &Mutex<Heard>) {
    match (chunk.kind, live) {
        (ChunkKind::Text, _) => {
            let text = chunk.content.to_text();
            lock(heard).text.push_str(&text);
            if let Some(live) = live {
                live.text(&text);
            }
        }
        (ChunkKind::Custom, _) => {
            let extra = |name| {
                chunk
                    .extra
                    .as_ref()
                    .and_then(|extra| extra.get(name)?.as_str())
            };
            match (extra("role"), live) {
                (Some(MODEL_ROLE), _) => {
                    lock(heard).response_id = extra(RESPONSE_ID).map(str::to_owned);
                }
                (Some("reasoning"), Some(live)) => live.reasoning(&chunk.content.to_text()),
                _ => {}
            }
        }
        (ChunkKind::ToolCall, None) => {}
        (ChunkKind::ToolCall, Some(live)) => {
            let piece = chunk.content.as_json();
            let index = piece.get("index").and_then(Json::as_u64);
            let name = piece.get("name").and_then(Json::as_str);
            let arguments = piece.get("arguments").and_then(Json::as_str);
            live.native(
                index.unwrap_or_default(),
                name,
                arguments.unwrap_or_default(),
            );
        }
        (ChunkKind::Usage, _) => {
            if let Json::Object(usage) = chunk.content.as_json() {
                lock(heard).current.clone_from(usage);
            }
        }
        (ChunkKind::FinishReason | ChunkKind::Error, _) => {}
    }
}

fn is_unpriced(usage: &Map<String, Json>) -> bool {
    !usage.is_empty() && !usage.contains_key("cost")
}

/// Numbers add up; of the rest the last counts.
pub(super) fn add(all: &mut Map<String, Json>, more: &Map<String, Json>) {
    for (key, value) in more {
        let sum = match (all.get(key), value) {
            (Some(Json::Number(one)), Json::Number(other)) => {
                match (one.as_u64(), other.as_u64()) {
                    (Some(one), Some(other)) => Json::from(one + other),
                    _ => Json::from(
                        one.as_f64().unwrap_or_default() + other.as_f64().unwrap_or_default(),
                    ),
                }
            }
            _ => value.clone(),
        };
        all.insert(key.clone(), sum);
    }
}

pub(crate) fn lock(heard: &Mutex<Heard>) -> std::sync::MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}
