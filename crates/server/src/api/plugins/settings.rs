//! What a plugin is set to. Secrets go in and never come out.

use axum::Json;
use axum::http::StatusCode;
use innkeeper_protocol::ErrorCode;
use innkeeper_tools::plugin::{
    ConfigKind, ConfigOption, ConfigScope, NewValue, PluginPackage, Setting, find_option,
};
use innkeeper_tools::{Secret, UserId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{find, off_the_road};
use crate::app::App;
use crate::auth::{MayAdmin, MayRead};
use crate::guard::{Body, PathOf, QueryOf};
use crate::house::House;
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(read))
        .routes(routes!(set, unset))
}

#[derive(Serialize, ToSchema)]
#[schema(as = PluginSettings)]
struct Shown {
    /// What can be set, as the plugin describes it.
    #[schema(value_type = Vec<Object>)]
    options: Vec<ConfigOption>,
    /// `{key, value, origin}`; of a secret only whether it is set.
    #[schema(value_type = Vec<Object>)]
    settings: Vec<Setting>,
}

fn package(house: &House, name: &str) -> Result<PluginPackage, Problem> {
    let plugin = find(house, name)?;
    plugin.package.ok_or_else(|| {
        Problem::new(
            ErrorCode::HttpConflict,
            format!("the plugin '{}' is broken and has no settings", plugin.name),
        )
        .because("plugin.broken")
    })
}

/// The plugin's own, then those of its tools; the first of a key counts.
fn options(package: &PluginPackage) -> Vec<ConfigOption> {
    let mut all: Vec<ConfigOption> = Vec::new();
    let of_tools = package.tools.iter().flat_map(|tool| &tool.config);
    for option in package.config.iter().chain(of_tools) {
        if !all.iter().any(|known| known.key == option.key) {
            all.push(option.clone());
        }
    }
    all
}

#[utoipa::path(get, path = "/api/v1/plugins/{plugin}/settings", tag = "plugins", operation_id = "readPluginSettings",
    params(("plugin" = String, Path)), responses((status = 200, body = Shown), Problem))]
async fn read(may: MayRead, PathOf(name): PathOf<String>) -> Result<Json<Shown>, Problem> {
    let shown = off_the_road(may.house, move |house| {
        let package = package(house, &name)?;
        let options = options(&package);
        let user = UserId::default();
        let settings = house
            .plugins
            .settings()
            .get(&package.name, &options, &user)?;
        Ok(Shown { options, settings })
    });
    Ok(Json(shown.await?))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewSetting)]
struct New {
    /// A text for a secret.
    value: Value,
    scope: Option<Whose>,
}

#[derive(Deserialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
#[schema(as = SettingScope)]
enum Whose {
    User,
    Instance,
}

impl Whose {
    fn of(asked: Option<Self>, option: &ConfigOption) -> ConfigScope {
        match asked {
            Some(Self::User) => ConfigScope::User,
            Some(Self::Instance) => ConfigScope::Instance,
            None => option.scope,
        }
    }
}

fn option<'o>(
    package: &PluginPackage,
    options: &'o [ConfigOption],
    key: &str,
) -> Result<&'o ConfigOption, Problem> {
    find_option(options, &package.name, key).ok_or_else(|| {
        let key: String = key.chars().take(120).collect();
        Problem::new(
            ErrorCode::HttpNotFound,
            format!("the plugin '{}' has no setting '{key}'", package.name),
        )
        .because("plugin.unknown_setting")
    })
}

#[utoipa::path(put, path = "/api/v1/plugins/{plugin}/settings/{key}", tag = "plugins", operation_id = "setPluginSetting",
    params(("plugin" = String, Path), ("key" = String, Path)), request_body = New,
    responses((status = 204, description = "Set"), Problem))]
async fn set(
    may: MayAdmin,
    PathOf((name, key)): PathOf<(String, String)>,
    Body(asked): Body<New>,
) -> Result<StatusCode, Problem> {
    off_the_road(may.house, move |house| {
        let package = package(house, &name)?;
        let options = options(&package);
        let option = option(&package, &options, &key)?;
        let value = match (option.kind, asked.value) {
            (ConfigKind::Secret, Value::String(text)) => NewValue::Secret(Secret::new(text)),
            (ConfigKind::Secret, _) => {
                return Err(Problem::new(
                    ErrorCode::HttpInvalidRequest,
                    "value: a secret is a text",
                ));
            }
            (_, value) => NewValue::Plain(value),
        };
        let scope = Whose::of(asked.scope, option);
        let user = UserId::default();
        let settings = house.plugins.settings();
        settings.set(&package.name, option, scope, &user, value)?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Unset {
    scope: Option<Whose>,
}

/// Back to what it is without anybody's word.
#[utoipa::path(delete, path = "/api/v1/plugins/{plugin}/settings/{key}", tag = "plugins", operation_id = "unsetPluginSetting",
    params(("plugin" = String, Path), ("key" = String, Path), Unset),
    responses((status = 204, description = "Unset"), Problem))]
async fn unset(
    may: MayAdmin,
    PathOf((name, key)): PathOf<(String, String)>,
    QueryOf(asked): QueryOf<Unset>,
) -> Result<StatusCode, Problem> {
    off_the_road(may.house, move |house| {
        let package = package(house, &name)?;
        let options = options(&package);
        let option = option(&package, &options, &key)?;
        let scope = Whose::of(asked.scope, option);
        let user = UserId::default();
        let settings = house.plugins.settings();
        settings.unset(&package.name, option, scope, &user)?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
