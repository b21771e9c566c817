//! One connection: what it asks, what it follows, and what it is told.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{FromRequestParts, Request, State};
use axum::response::{IntoResponse, Response};
use futures_util::stream::SplitSink;
use futures_util::{SinkExt, StreamExt};
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::RunId;
use innkeeper_store::Scope;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::rpc::{Fault, Incoming, answer, fault, refusal};
use super::subscription::{follow, follow_live};
use crate::app::App;
use crate::auth::MayRead;
use crate::clients::{Guest, Offer};
use crate::house::House;
use crate::limits::{
    MAX_FRAME_BYTES, MAX_SUBSCRIPTIONS, MAX_UNSAID, SOCKET_IDLE_TIMEOUT, SOCKET_PING_EVERY,
};
use crate::problem::Problem;

const PROTOCOL: &str = "innkeeper.v1";

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(open))
}

/// JSON-RPC 2.0 both ways; docs/server.md has the methods. A browser that cannot send a header shows its token as a further protocol,
/// `bearer.<token>`.
#[utoipa::path(get, path = "/api/v1/ws", tag = "live", operation_id = "openSocket",
    responses((status = 101, description = "Switched to a WebSocket"), Problem))]
async fn open(State(app): State<App>, may: MayRead, request: Request) -> Result<Response, Problem> {
    let (mut parts, _) = request.into_parts();
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &app)
        .await
        .map_err(|error: WebSocketUpgradeRejection| {
            Problem::new(
                ErrorCode::HttpInvalidRequest,
                format!("this address wants a WebSocket: {}", error.body_text()),
            )
        })?;
    let upgrade = upgrade
        .protocols([PROTOCOL])
        .max_message_size(MAX_FRAME_BYTES)
        .max_frame_size(MAX_FRAME_BYTES);
    Ok(upgrade
        .on_upgrade(move |socket| {
            let may_run = may.identity.scope >= Scope::Run;
            Connection::new(app, may.house, may_run).attend(socket)
        })
        .into_response())
}

/// What is said to the other end, in order. Whoever has much to say waits until it was taken.
#[derive(Clone)]
pub(crate) struct Mouth(mpsc::Sender<Said>);

enum Said {
    Text(String),
    /// The last thing that is said.
    Goodbye(CloseFrame),
}

/// The other end is gone.
pub(crate) struct Gone;

impl Mouth {
    pub(crate) async fn say(&self, text: String) -> Result<(), Gone> {
        self.0.send(Said::Text(text)).await.map_err(|_| Gone)
    }

    /// Only if it need not wait: for what does not matter to whoever does not listen.
    pub(crate) fn try_say(&self, text: String) {
        let _ = self.0.try_send(Said::Text(text));
    }

    /// When nobody listens any more.
    pub(crate) fn closed(&self) -> impl Future<Output = ()> + Send + 'static {
        let mouth = self.0.clone();
        async move { mouth.closed().await }
    }
}

struct Connection {
    app: App,
    house: Arc<House>,
    may_run: bool,
    following: JoinSet<u64>,
    subscriptions: HashMap<u64, tokio::task::AbortHandle>,
    last: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Subscribe {
    run_id: String,
    #[serde(default)]
    after_seq: u64,
    /// Also what is being written.
    #[serde(default)]
    live: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Unsubscribe {
    subscription: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenChannel {
    channel: String,
}

/// However the connection ends, what it brought goes with it.
struct Visit {
    house: Arc<House>,
    guest: Guest,
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.house.extensions.close(self.guest.client());
    }
}

impl Connection {
    fn new(app: App, house: Arc<House>, may_run: bool) -> Self {
        Self {
            app,
            house,
            may_run,
            following: JoinSet::new(),
            subscriptions: HashMap::new(),
            last: 0,
        }
    }

    async fn attend(mut self, socket: WebSocket) {
        let (sink, mut heard) = socket.split();
        let (mouth, unsaid) = mpsc::channel(MAX_UNSAID);
        let mouth = Mouth(mouth);
        let closing = self.app.closing.clone();
        // Once nobody hears any more, nobody waits to be heard either.
        let mut speaking = AbortOnDropHandle::new(tokio::spawn(speak(sink, unsaid)));
        let guest = Visit {
            house: self.house.clone(),
            guest: self.house.clients.enter(mouth.clone()),
        };
        let why = loop {
            tokio::select! {
                () = closing.cancelled() => break (close_code::AWAY, "the server closes"),
                _ = &mut speaking => return,
                Some(ended) = self.following.join_next() => {
                    if let Ok(number) = ended {
                        self.subscriptions.remove(&number);
                    }
                }
                heard = tokio::time::timeout(SOCKET_IDLE_TIMEOUT, heard.next()) => match heard {
                    Err(_) => break (close_code::AWAY, "nobody is there"),
                    Ok(None | Some(Err(_))) => return,
                    Ok(Some(Ok(Message::Text(text)))) => {
                        if let Some(said) = self.hear(&text, &mouth, &guest.guest).await
                            && mouth.say(said).await.is_err()
                        {
                            return;
                        }
                    }
                    Ok(Some(Ok(Message::Binary(_)))) => {
                        break (close_code::UNSUPPORTED, "text only");
                    }
                    Ok(Some(Ok(Message::Close(_)))) => return,
                    Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {}
                },
            }
        };
        self.following.abort_all();
        let (code, reason) = why;
        let reason = Utf8Bytes::from_static(reason);
        let goodbye = Said::Goodbye(CloseFrame { code, reason });
        if mouth.0.send(goodbye).await.is_ok() {
            let _ = speaking.await;
        }
    }

    async fn hear(&mut self, text: &str, mouth: &Mouth, guest: &Guest) -> Option<String> {
        let incoming: Incoming = match serde_json::from_str(text) {
            Ok(incoming) => incoming,
            Err(error) => {
                let kind = match error.is_data() {
                    true => Fault::Request,
                    false => Fault::Parse,
                };
                return Some(fault(&Json::Null, kind, &error.to_string()));
            }
        };
        let id = incoming.id.clone().unwrap_or(Json::Null);
        if incoming.jsonrpc != "2.0" {
            return Some(fault(&id, Fault::Request, "jsonrpc must be \"2.0\""));
        }
        let Some(method) = incoming.method.as_deref() else {
            guest.answered(&id, incoming.outcome());
            return None;
        };
        let done = match method {
            "run.subscribe" => match read(&incoming.params) {
                Ok(asked) => self.subscribe(asked, mouth).await,
                Err(problem) => Err(problem),
            },
            "run.unsubscribe" => read(&incoming.params).map(|asked| self.unsubscribe(&asked)),
            "client.serve" => self.serve(&incoming.params, guest),
            "channel.open" => self.open_channel(&incoming.params, guest),
            "ping" => Ok(json!({})),
            _ => {
                let message = format!("there is no method '{}'", method.escape_debug());
                return incoming.id.map(|id| fault(&id, Fault::Method, &message));
            }
        };
        let id = incoming.id?;
        Some(match done {
            Ok(result) => answer(&id, result),
            Err(problem) => refusal(&id, &problem),
        })
    }

    async fn subscribe(&mut self, asked: Subscribe, mouth: &Mouth) -> Result<Json, Problem> {
        if self.subscriptions.len() >= MAX_SUBSCRIPTIONS {
            return Err(Problem::new(
                ErrorCode::HttpRateLimited,
                format!(
                    "one connection follows at most {MAX_SUBSCRIPTIONS} runs; unsubscribe from some first"
                ),
            ));
        }
        let run = RunId::new(asked.run_id);
        let record = self.house.agents.record(&run).await?;
        self.last += 1;
        let number = self.last;
        let (house, mouth) = (self.house.clone(), mouth.clone());
        let task = self.following.spawn(async move {
            let events = follow(
                house.clone(),
                run.clone(),
                asked.after_seq,
                number,
                mouth.clone(),
            );
            match asked.live {
                false => events.await,
                true => {
                    let mut live = std::pin::pin!(follow_live(house, run, number, mouth));
                    let mut events = std::pin::pin!(events);
                    tokio::select! {
                        () = &mut events => {}
                        () = &mut live => events.await,
                    }
                }
            }
            number
        });
        self.subscriptions.insert(number, task);
        Ok(json!({ "subscription": number, "lastSeq": record.last_seq, "status": record.status }))
    }

    /// What it does is done in the name of whoever has the token: nobody who may only read is called for it.
    fn may_serve(&self) -> Result<(), Problem> {
        match self.may_run {
            true => Ok(()),
            false => Err(Problem::new(
                ErrorCode::HttpForbidden,
                "this token may read, and this needs 'run'; use a token with that scope",
            )),
        }
    }

    fn serve(&self, params: &Json, guest: &Guest) -> Result<Json, Problem> {
        self.may_serve()?;
        let offer: Offer = read(params)?;
        offer
            .check()
            .map_err(|message| Problem::new(ErrorCode::HttpInvalidRequest, message))?;
        guest.offer(offer);
        Ok(json!({}))
    }

    fn open_channel(&self, params: &Json, guest: &Guest) -> Result<Json, Problem> {
        self.may_serve()?;
        let asked: OpenChannel = read(params)?;
        self.house.extensions.open(&asked.channel, guest.client())?;
        Ok(json!({}))
    }

    fn unsubscribe(&mut self, asked: &Unsubscribe) -> Json {
        let was = self.subscriptions.remove(&asked.subscription);
        if let Some(task) = &was {
            task.abort();
        }
        json!({ "unsubscribed": was.is_some() })
    }
}

fn read<T: DeserializeOwned>(params: &Json) -> Result<T, Problem> {
    T::deserialize(params).map_err(|error| {
        Problem::new(
            ErrorCode::HttpInvalidRequest,
            format!("params cannot be read: {error}"),
        )
    })
}

/// Says what there is to say, and asks now and then whether anybody is there.
async fn speak(mut sink: SplitSink<WebSocket, Message>, mut unsaid: mpsc::Receiver<Said>) {
    let mut pings = tokio::time::interval(SOCKET_PING_EVERY);
    pings.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let mut said = tokio::select! {
            said = unsaid.recv() => said,
            _ = pings.tick() => match sink.send(Message::Ping(Default::default())).await {
                Ok(()) => continue,
                Err(_) => return,
            },
        };
        // What has come together goes out together.
        loop {
            let fed = match said {
                Some(Said::Text(text)) => sink.feed(Message::Text(text.into())).await,
                Some(Said::Goodbye(frame)) => {
                    let _ = sink.send(Message::Close(Some(frame))).await;
                    return;
                }
                None => return,
            };
            if fed.is_err() {
                return;
            }
            match unsaid.try_recv() {
                Ok(next) => said = Some(next),
                Err(_) => break,
            }
        }
        if sink.flush().await.is_err() {
            return;
        }
    }
}
