//! Clients on the other end of a socket that can be called: to publish into chats that they look after, to ask a model of
//! theirs, to run tools that they bring. Nothing of it is kept: who is gone serves nobody.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use innkeeper_models::Model;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use tokio::sync::{oneshot, watch};

use crate::client_model::ClientModel;
use crate::limits::{MAX_CALLS_TO_CLIENT, MAX_SERVED_CHATS};
use crate::live::Mouth;

/// What can be asked of a client.
pub(crate) const METHODS: [&str; 2] = ["chat.commit", "model.generate"];

/// What a client says that it does.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Offer {
    pub(crate) methods: HashSet<String>,
    /// The chats that it looks after; every one if nothing is said.
    pub(crate) stable_chat_ids: Option<HashSet<String>>,
    /// Models of its own, by name.
    #[serde(default)]
    pub(crate) models: Vec<String>,
}

impl Offer {
    pub(crate) fn check(&self) -> Result<(), String> {
        let unknown = self
            .methods
            .iter()
            .find(|method| !METHODS.contains(&method.as_str()));
        if let Some(unknown) = unknown {
            let known = METHODS.join(", ");
            return Err(format!(
                "methods: nobody calls '{unknown}'; there are {known}"
            ));
        }
        let chats = self.stable_chat_ids.as_ref().map_or(0, HashSet::len);
        match chats.max(self.models.len()) {
            count if count > MAX_SERVED_CHATS => Err(format!(
                "one client looks after at most {MAX_SERVED_CHATS} chats, and has as many models"
            )),
            _ => Ok(()),
        }
    }

    fn serves(&self, method: &str, chat: Option<&str>) -> bool {
        let looks_after = match (&self.stable_chat_ids, chat) {
            (Some(chats), Some(chat)) => chats.contains(chat),
            _ => true,
        };
        self.methods.contains(method) && looks_after
    }
}

/// All that are there now. Clones are the same.
#[derive(Clone)]
pub struct Clients {
    all: Arc<Mutex<Vec<Arc<Client>>>>,
    changes: watch::Sender<u64>,
}

impl Default for Clients {
    fn default() -> Self {
        Self {
            all: Arc::default(),
            changes: watch::Sender::new(0),
        }
    }
}

impl Clients {
    /// Asks for models of clients; to be registered as [`crate::CLIENT_MODELS`].
    pub fn model(&self) -> Arc<dyn Model> {
        Arc::new(ClientModel(self.clone()))
    }

    /// Until the guest is dropped.
    pub(crate) fn enter(&self, mouth: Mouth) -> Guest {
        let client = Arc::new(Client {
            mouth,
            offer: Mutex::default(),
            calls: Mutex::default(),
        });
        lock(&self.all).push(client.clone());
        Guest {
            client,
            all: self.all.clone(),
            changes: self.changes.clone(),
        }
    }

    /// Fires when somebody offers something.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Whoever came last: a page that was opened again is more likely to be looked at.
    pub(crate) fn serving(&self, method: &str, chat: Option<&str>) -> Option<Arc<Client>> {
        let all = lock(&self.all);
        let serves = |client: &&Arc<Client>| lock(&client.offer).serves(method, chat);
        all.iter().rev().find(serves).cloned()
    }

    /// Who has a model of that name.
    pub(crate) fn with_model(&self, model: &str) -> Option<Arc<Client>> {
        let all = lock(&self.all);
        let has = |client: &&Arc<Client>| {
            let offer = lock(&client.offer);
            offer.serves("model.generate", None) && offer.models.iter().any(|name| name == model)
        };
        all.iter().rev().find(has).cloned()
    }

    /// Of all who are there, in order, each once.
    pub(crate) fn models(&self) -> Vec<String> {
        let all = lock(&self.all);
        let mut models: Vec<String> = all
            .iter()
            .flat_map(|client| lock(&client.offer).models.clone())
            .collect();
        models.sort_unstable();
        models.dedup();
        models
    }
}

/// One end of a socket.
pub(crate) struct Client {
    mouth: Mouth,
    offer: Mutex<Offer>,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    is_gone: bool,
    last: u64,
    open: HashMap<u64, oneshot::Sender<Result<Json, CallFault>>>,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum CallFault {
    #[error("the client went away before it answered")]
    Gone,
    #[error("the client did not answer within {} seconds", .0.as_secs())]
    TimedOut(Duration),
    #[error("the client has {MAX_CALLS_TO_CLIENT} calls to answer already")]
    Busy,
    #[error("{0}")]
    Refused(String),
}

impl Client {
    pub(crate) async fn call(
        self: &Arc<Self>,
        method: &str,
        params: Json,
        limit: Duration,
    ) -> Result<Json, CallFault> {
        let (answer, answered) = oneshot::channel();
        let id = {
            let mut calls = lock(&self.calls);
            if calls.is_gone {
                return Err(CallFault::Gone);
            }
            if calls.open.len() >= MAX_CALLS_TO_CLIENT {
                return Err(CallFault::Busy);
            }
            calls.last += 1;
            let id = calls.last;
            calls.open.insert(id, answer);
            id
        };
        // Also where nobody waits for it any more.
        let _open = OpenCall { client: self, id };
        let asked = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let call = async {
            if self.mouth.say(asked.to_string()).await.is_err() {
                return Err(CallFault::Gone);
            }
            answered.await.unwrap_or(Err(CallFault::Gone))
        };
        match tokio::time::timeout(limit, call).await {
            Ok(answer) => answer,
            Err(_) => Err(CallFault::TimedOut(limit)),
        }
    }

    pub(crate) fn mouth(&self) -> &Mouth {
        &self.mouth
    }

    /// When its connection is gone.
    pub(crate) fn left(&self) -> impl Future<Output = ()> + Send + 'static {
        self.mouth.closed()
    }
}

struct OpenCall<'a> {
    client: &'a Client,
    id: u64,
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        lock(&self.client.calls).open.remove(&self.id);
    }
}

/// A client as its own connection has it.
pub(crate) struct Guest {
    client: Arc<Client>,
    all: Arc<Mutex<Vec<Arc<Client>>>>,
    changes: watch::Sender<u64>,
}

impl Guest {
    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// In the place of what it offered before.
    pub(crate) fn offer(&self, offer: Offer) {
        *lock(&self.client.offer) = offer;
        self.changes.send_modify(|count| *count += 1);
    }

    /// An answer that came. One that nobody waits for is dropped.
    pub(crate) fn answered(&self, id: &Json, answer: Result<Json, String>) {
        let id = id.as_u64();
        let waiting = id.and_then(|id| lock(&self.client.calls).open.remove(&id));
        if let Some(waiting) = waiting {
            let _ = waiting.send(answer.map_err(CallFault::Refused));
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        lock(&self.all).retain(|client| !Arc::ptr_eq(client, &self.client));
        let mut calls = lock(&self.client.calls);
        calls.is_gone = true;
        calls.open.clear();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
