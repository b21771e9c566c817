//! Workflows at work: begin them, look at them, follow them, stop them.

mod about;
mod read;
mod start;
mod stream;

use utoipa_axum::router::OpenApiRouter;

use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(start::routes())
        .merge(read::routes())
        .merge(stream::routes())
}
