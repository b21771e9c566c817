//! Every request is counted, under the template of its route and what it was answered.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;

use crate::app::App;

pub(crate) async fn count(State(app): State<App>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = request.method().clone();
    let began = Instant::now();
    let response = next.run(request).await;
    let route = route.as_ref().map_or("", MatchedPath::as_str);
    let status = response.status().as_u16();
    app.figures
        .answered(&method, route, status, began.elapsed());
    response
}
