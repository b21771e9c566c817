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
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::execution::follow_execution;
use super::rpc::{Fault, Incoming, answer, fault, refusal};
use super::subscription::{follow, follow_live};
use crate::app::App;
use crate::auth::MayRead;
use crate::figures::Figures;
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
        .on_upgrade(move |socket| Connection::new(app, may.house).attend(socket))
        .into_response())
}

/// What is said to the other end, in order. Whoever has much to say waits until it was taken.
#[derive(Clone)]
pub(super) struct Mouth(mpsc::Sender<Said>, Arc<Figures>);

enum Said {
    Text(String),
    /// The last thing that is said.
    Goodbye(CloseFrame),
}

/// The other end is gone.
pub(super) struct Gone;

impl Mouth {
    pub(super) async fn say(&self, text: String) -> Result<(), Gone> {
        self.0.send(Said::Text(text)).await.map_err(|_| Gone)
    }

    /// One event of what somebody follows.
    pub(super) async fn tell(&self, event: String) -> Result<(), Gone> {
        self.1.delivered(1);
        self.say(event).await
    }

    /// Some were missed.
    pub(super) async fn tell_lag(&self, lag: String) -> Result<(), Gone> {
        self.1.lagged();
        self.say(lag).await
    }
}

struct Connection {
    app: App,
    house: Arc<House>,
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
struct SubscribeExecution {
    execution_id: String,
    #[serde(default)]
    after_seq: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Unsubscribe {
    subscription: u64,
}

impl Connection {
    fn new(app: App, house: Arc<House>) -> Self {
        Self {
            app,
            house,
            following: JoinSet::new(),
            subscriptions: HashMap::new(),
            last: 0,
        }
    }

    async fn attend(mut self, socket: WebSocket) {
        let (sink, mut heard) = socket.split();
        let (mouth, unsaid) = mpsc::channel(MAX_UNSAID);
        let mouth = Mouth(mouth, self.app.figures.clone());
        let _open = self.app.figures.sockets.hold();
        let closing = self.app.closing.clone();
        let mut speaking = tokio::spawn(speak(sink, unsaid));
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
                        if let Some(said) = self.hear(&text, &mouth).await
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

    async fn hear(&mut self, text: &str, mouth: &Mouth) -> Option<String> {
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
        // An answer to something that was never asked.
        let method = incoming.method.as_deref()?;
        let done = match method {
            "run.subscribe" => match read(&incoming.params) {
                Ok(asked) => self.subscribe(asked, mouth).await,
                Err(problem) => Err(problem),
            },
            "workflow.subscribe" => {
                read(&incoming.params).and_then(|asked| self.subscribe_execution(asked, mouth))
            }
            "workflow.unsubscribe" => read(&incoming.params).map(|asked| self.unsubscribe(&asked)),
            "run.unsubscribe" => read(&incoming.params).map(|asked| self.unsubscribe(&asked)),
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
        self.check_room()?;
        let run = RunId::new(asked.run_id);
        let record = self.house.agents.record(&run).await?;
        self.last += 1;
        let number = self.last;
        let (house, mouth) = (self.house.clone(), mouth.clone());
        let held = self.app.figures.subscriptions.hold();
        let task = self.following.spawn(async move {
            let _held = held;
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

    fn subscribe_execution(
        &mut self,
        asked: SubscribeExecution,
        mouth: &Mouth,
    ) -> Result<Json, Problem> {
        self.check_room()?;
        let execution = self.house.executions.get(&asked.execution_id);
        let execution = execution.ok_or_else(|| {
            let id = asked.execution_id.escape_debug();
            Problem::new(
                ErrorCode::HttpNotFound,
                format!("there is no execution '{id}'"),
            )
        })?;
        self.last += 1;
        let number = self.last;
        let following = follow_execution(execution.follow(asked.after_seq), number, mouth.clone());
        let held = self.app.figures.subscriptions.hold();
        let task = self.following.spawn(async move {
            let _held = held;
            following.await;
            number
        });
        self.subscriptions.insert(number, task);
        Ok(json!({
            "subscription": number,
            "lastSeq": execution.last_seq(),
            "status": execution.status(),
        }))
    }

    fn check_room(&self) -> Result<(), Problem> {
        match self.subscriptions.len() < MAX_SUBSCRIPTIONS {
            true => Ok(()),
            false => Err(Problem::new(
                ErrorCode::HttpRateLimited,
                format!(
                    "one connection follows at most {MAX_SUBSCRIPTIONS} runs; unsubscribe from some first"
                ),
            )),
        }
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
