//! One connection: what it asks, what it follows, and what it is told.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::RunId;
use innkeeper_store::Scope;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::execution::follow_execution;
use super::mouth::{Mouth, speak};
use super::rpc::{Asked, Fault, answer, fault, heard_as, refusal, short};
use super::subscription::{follow, follow_live};
use crate::app::App;
use crate::auth::{Identity, MayRead, TokenWatch};
use crate::clients::{Guest, Offer};
use crate::house::House;
use crate::limits::{MAX_FRAME_BYTES, MAX_SUBSCRIPTIONS, SOCKET_BUFFER_BYTES, SOCKET_IDLE_TIMEOUT};
use crate::listen::Connected;
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
    let place = app.sockets.enter(&may.identity.token)?;
    // It is a connection as long as it lasts.
    let connected = parts.extensions.get::<ConnectInfo<Connected>>();
    let connected = connected.map(|ConnectInfo(connected)| connected.clone());
    let upgrade = upgrade
        .protocols([PROTOCOL])
        .read_buffer_size(SOCKET_BUFFER_BYTES)
        .write_buffer_size(SOCKET_BUFFER_BYTES)
        .max_message_size(MAX_FRAME_BYTES)
        .max_frame_size(MAX_FRAME_BYTES);
    Ok(upgrade
        .on_upgrade(move |socket| async move {
            let _held = (place, connected);
            let MayRead { identity, house } = may;
            Connection::new(app, identity, house).attend(socket).await;
        })
        .into_response())
}

struct Connection {
    app: App,
    identity: Identity,
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
    fn new(app: App, identity: Identity, house: Arc<House>) -> Self {
        Self {
            app,
            identity,
            house,
            following: JoinSet::new(),
            subscriptions: HashMap::new(),
            last: 0,
        }
    }

    async fn attend(mut self, socket: WebSocket) {
        let (sink, mut heard) = socket.split();
        let (mouth, unsaid) = Mouth::new(self.app.figures.clone());
        let _open = self.app.figures.sockets.hold();
        let closing = self.app.closing.clone();
        // Once nobody hears any more, nobody waits to be heard either.
        let mut speaking = AbortOnDropHandle::new(tokio::spawn(speak(sink, unsaid)));
        let visit = Visit {
            house: self.house.clone(),
            guest: self.house.clients.enter(mouth.clone()),
        };
        let mut token = TokenWatch::new(&self.app, &self.identity);
        let (code, reason) = loop {
            tokio::select! {
                () = closing.cancelled() => break (close_code::AWAY, "the server closes"),
                _ = &mut speaking => return,
                Some(ended) = self.following.join_next() => {
                    if let Ok(number) = ended {
                        self.subscriptions.remove(&number);
                    }
                }
                () = token.lost() => break (close_code::POLICY, "the token has expired or was revoked"),
                heard = tokio::time::timeout(SOCKET_IDLE_TIMEOUT, heard.next()) => match heard {
                    Err(_) => break (close_code::AWAY, "nobody is there"),
                    Ok(None | Some(Err(_))) => return,
                    Ok(Some(Ok(Message::Text(text)))) => {
                        let Some(said) = self.hear(&text, &mouth, &visit.guest).await else {
                            continue;
                        };
                        let said = tokio::select! {
                            () = closing.cancelled() => break (close_code::AWAY, "the server closes"),
                            said = mouth.say(said) => said,
                        };
                        if said.is_err() {
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
        let reason = Utf8Bytes::from_static(reason);
        let goodbye = mouth.goodbye(CloseFrame { code, reason });
        let leaving = async {
            if goodbye.await.is_ok() {
                let _ = (&mut speaking).await;
            }
        };
        // Whoever does not listen is not waited for.
        let _ = tokio::time::timeout(crate::limits::TURNED_AWAY_TIMEOUT, leaving).await;
    }

    async fn hear(&mut self, text: &str, mouth: &Mouth, guest: &Guest) -> Option<String> {
        let asked = match heard_as(text) {
            Ok(Asked::Answer { id, outcome }) => {
                guest.answered(&id, outcome);
                return None;
            }
            Ok(Asked::Call(call)) => call,
            Err((kind, why)) => return Some(fault(&Json::Null, kind, &why)),
        };
        let params = &asked.params;
        let done = match asked.method.as_str() {
            "run.subscribe" => match read(params) {
                Ok(asked) => self.subscribe(asked, mouth).await,
                Err(problem) => Err(problem),
            },
            "workflow.subscribe" => {
                read(params).and_then(|asked| self.subscribe_execution(asked, mouth))
            }
            "run.unsubscribe" | "workflow.unsubscribe" => {
                read(params).map(|asked| self.unsubscribe(&asked))
            }
            "client.serve" => self.serve(params, guest),
            "channel.open" => self.open_channel(params, guest),
            "ping" => Ok(json!({})),
            method => {
                let message = format!("there is no method '{}'", short(method));
                return asked.id.map(|id| fault(&id, Fault::Method, &message));
            }
        };
        let id = asked.id?;
        Some(match done {
            Ok(result) => answer(&id, result),
            Err(problem) => refusal(&id, &problem),
        })
    }

    async fn subscribe(&mut self, asked: Subscribe, mouth: &Mouth) -> Result<Json, Problem> {
        let room = self.room()?;
        let run = RunId::new(asked.run_id);
        let record = self.house.agents.record(&run).await?;
        self.last += 1;
        let number = self.last;
        let (house, mouth) = (self.house.clone(), mouth.clone());
        let held = self.app.figures.subscriptions.hold();
        let task = self.following.spawn(async move {
            let _held = (held, room);
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
        let room = self.room()?;
        let execution = self.house.executions.get(&asked.execution_id);
        let execution = execution.ok_or_else(|| {
            let id = short(&asked.execution_id);
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
            let _held = (held, room);
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

    /// For one more subscription, of this connection and of all.
    fn room(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let full = |message: String| Problem::new(ErrorCode::HttpRateLimited, message);
        if self.subscriptions.len() >= MAX_SUBSCRIPTIONS {
            return Err(full(format!(
                "one connection follows at most {MAX_SUBSCRIPTIONS} runs; unsubscribe from some first"
            )));
        }
        let room = self.app.subscriptions.clone().try_acquire_owned();
        room.map_err(|_| {
            full("as much is followed at this server as can be; try again later".to_owned())
        })
    }

    /// What it does is done in the name of whoever has the token: nobody who may only read is called for it.
    fn serve(&self, params: &Json, guest: &Guest) -> Result<Json, Problem> {
        self.identity.check(Scope::Run)?;
        let offer: Offer = read(params)?;
        offer
            .check()
            .map_err(|message| Problem::new(ErrorCode::HttpInvalidRequest, message))?;
        guest.offer(offer);
        Ok(json!({}))
    }

    fn open_channel(&self, params: &Json, guest: &Guest) -> Result<Json, Problem> {
        self.identity.check(Scope::Run)?;
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
    let wrong = |why: String| {
        Problem::new(
            ErrorCode::HttpInvalidRequest,
            format!("params cannot be read: {why}"),
        )
    };
    // Fields have names; nobody counts them.
    if !params.is_object() {
        return Err(wrong("an object is wanted".to_owned()));
    }
    T::deserialize(params).map_err(|error| wrong(short(&error.to_string())))
}
