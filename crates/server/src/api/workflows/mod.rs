//! Workflows: which there are, what stands in them, what is wrong with them. Running them is `executions`.

mod about;
mod check;
mod library;
mod read;
mod write;

use utoipa_axum::router::OpenApiRouter;

use crate::app::App;

pub(super) use library::{Meant, readable};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(read::routes())
        .merge(write::routes())
        .merge(check::routes())
}
