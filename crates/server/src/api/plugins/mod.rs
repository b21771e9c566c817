//! Plugins: which there are, what they ask for, what a person grants them, what they are set to, and the files of their pages.

mod assets;
mod list;
mod settings;

use std::sync::Arc;

use innkeeper_protocol::ErrorCode;
use innkeeper_tools::plugin::{PluginError, PluginStatus, SettingsError};
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::house::House;
use crate::problem::Problem;

pub(crate) use assets::asset;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(list::routes())
        .merge(settings::routes())
}

fn find(house: &House, name: &str) -> Result<PluginStatus, Problem> {
    Ok(house.plugins.find(name)?)
}

impl From<PluginError> for Problem {
    fn from(error: PluginError) -> Self {
        let (code, reason) = match &error {
            PluginError::Unknown { .. } => (ErrorCode::HttpNotFound, "plugin.unknown"),
            PluginError::Broken { .. } => (ErrorCode::HttpConflict, "plugin.broken"),
            PluginError::NotAccepted { .. } => (ErrorCode::HttpConflict, "plugin.not_accepted"),
            PluginError::Consent(_) => (ErrorCode::HttpInternal, "plugin.consent"),
        };
        let problem = Self::new(code, error.to_string()).because(reason);
        match error {
            PluginError::NotAccepted { missing, .. } => {
                let missing: Vec<&str> = missing.iter().map(|one| one.as_str()).collect();
                problem.with("missing", missing)
            }
            _ => problem,
        }
    }
}

impl From<SettingsError> for Problem {
    fn from(error: SettingsError) -> Self {
        let code = match error {
            SettingsError::Secrets(_) => ErrorCode::HttpInternal,
            _ => ErrorCode::HttpInvalidRequest,
        };
        Self::new(code, error.to_string()).because("plugin.settings")
    }
}

/// Plugins are read from disk when they change.
async fn off_the_road<T: Send + 'static>(
    house: Arc<House>,
    work: impl FnOnce(&House) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(move || work(&house)).await;
    done.map_err(|error| Problem::new(ErrorCode::HttpInternal, error.to_string()))?
}
