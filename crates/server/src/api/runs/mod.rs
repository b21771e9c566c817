//! Runs of agents: start them, read them, steer them, answer them, take things back.

mod approvals;
mod events;
mod files;
mod list;
mod start;
mod steer;
mod stream;
mod undo;

use utoipa_axum::router::OpenApiRouter;

use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(list::routes())
        .merge(start::routes())
        .merge(events::routes())
        .merge(stream::routes())
        .merge(steer::routes())
        .merge(approvals::routes())
        .merge(undo::routes())
        .merge(files::routes())
}
