//! What happens in an execution, while it happens: server-sent events, for whoever has no WebSocket.

use std::convert::Infallible;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::about::find;
use crate::api::asked::number;
use crate::app::App;
use crate::auth::{MayRead, TokenWatch};
use crate::executions::{Followed, Follower};
use crate::figures::Held;
use crate::guard::{PathOf, QueryOf};
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(follow))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Query {
    /// Only later ones; `Last-Event-ID` wins.
    #[param(maximum = 9007199254740991u64)]
    after_seq: Option<u64>,
}

/// Each event under the name `event`, with its number as id; `lagged` tells that some before the next one are kept no
/// more, `end` that there will be no more.
#[utoipa::path(get, path = "/api/v1/executions/{executionId}/events/stream", tag = "workflows",
    operation_id = "followExecution", params(("executionId" = String, Path), Query),
    responses((status = 200, description = "Events until the execution is over", content_type = "text/event-stream"), Problem))]
async fn follow(
    State(app): State<App>,
    may: MayRead,
    PathOf(id): PathOf<String>,
    QueryOf(query): QueryOf<Query>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let asked = number("afterSeq", query.after_seq)?;
    let execution = find(&may.house, &id)?;
    let last = headers.get("last-event-id");
    let last = last.and_then(|last| last.to_str().ok()?.parse().ok());
    let after = last.or(asked).unwrap_or_default();
    let told = Told {
        _held: app.figures.subscriptions.hold(),
        follower: execution.follow(after),
        waiting: Vec::new(),
        is_over: false,
        token: TokenWatch::new(&app, &may.identity),
        app,
    };
    let stream = futures_util::stream::unfold(told, |mut told| async move {
        let event = told.next().await?;
        Some((Ok::<_, Infallible>(event), told))
    });
    let kept = [(header::CACHE_CONTROL, "no-store")];
    let stream = Sse::new(stream).keep_alive(KeepAlive::default());
    Ok((kept, stream).into_response())
}

struct Told {
    _held: Held,
    follower: Follower,
    /// Last first.
    waiting: Vec<Event>,
    is_over: bool,
    token: TokenWatch,
    app: App,
}

impl Told {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop() {
                return Some(event);
            }
            if self.is_over {
                return None;
            }
            let followed = tokio::select! {
                followed = self.follower.next() => followed,
                () = self.app.closing.cancelled() => return None,
                () = self.token.lost() => return None,
            };
            match followed {
                Followed::Events(events) => {
                    self.app.figures.delivered(events.len());
                    let events = events.iter().rev().map(|event| {
                        let text = serde_json::to_string(&**event).unwrap_or_default();
                        Event::default()
                            .event("event")
                            .id(event.seq.to_string())
                            .data(text)
                    });
                    self.waiting.extend(events);
                }
                Followed::Lagged { missed } => {
                    self.app.figures.lagged();
                    let text = json!({ "missed": missed }).to_string();
                    return Some(Event::default().event("lagged").data(text));
                }
                Followed::End => {
                    self.is_over = true;
                    return Some(Event::default().event("end").data("{}"));
                }
            }
        }
    }
}
