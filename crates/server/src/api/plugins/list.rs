//! Which plugins there are, and switching them on and off. What one asks for is granted by a person, word by word.

use axum::Json;
use innkeeper_tools::plugin::{Permission, Permissions, PluginStatus, Standing};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{find, off_the_road};
use crate::app::App;
use crate::auth::{MayAdmin, MayRead};
use crate::guard::{Body, PathOf};
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(read))
        .routes(routes!(enable))
        .routes(routes!(disable))
        .routes(routes!(reload))
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = PluginState)]
enum State {
    Enabled,
    Disabled,
    /// Waits for a person to accept what it asks for.
    Pending,
    Broken,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Plugin)]
struct Plugin {
    name: String,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// All that it asks for.
    permissions: Vec<String>,
    /// What of it nobody has granted yet.
    pending: Vec<String>,
    problems: Vec<String>,
    warnings: Vec<String>,
    tools: Vec<String>,
    nodes: Vec<String>,
    /// Where the page finds it: `/api/v1/plugins/{name}/assets/…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    frontend: Option<Value>,
}

impl Plugin {
    fn of(status: &PluginStatus) -> Self {
        let (state, pending, problems) = match &status.state {
            Standing::Enabled => (State::Enabled, Vec::new(), Vec::new()),
            Standing::Disabled => (State::Disabled, Vec::new(), Vec::new()),
            Standing::Pending { new } => (State::Pending, words(new), Vec::new()),
            Standing::Broken { problems } => {
                let problems = problems.iter().map(ToString::to_string);
                (State::Broken, Vec::new(), problems.collect())
            }
        };
        let package = status.package.as_ref();
        let tools = package.map(|package| {
            let tools = package.tools.iter();
            tools.map(|tool| tool.definition.id.to_string()).collect()
        });
        let nodes = package.map(|package| {
            let nodes = package.nodes.iter();
            nodes.map(|node| node.definition.full_type()).collect()
        });
        let frontend = package.and_then(|package| package.frontend.as_ref());
        Self {
            name: status.name.clone(),
            state,
            version: package.map(|package| package.version.clone()),
            description: package.map(|package| package.description.clone()),
            permissions: package.map_or_else(Vec::new, |package| words(&package.permissions)),
            pending,
            problems,
            warnings: status.warnings.iter().map(ToString::to_string).collect(),
            tools: tools.unwrap_or_default(),
            nodes: nodes.unwrap_or_default(),
            frontend: frontend.map(|front| {
                let below = |path: &std::path::Path| {
                    let path = path.strip_prefix(&front.root).unwrap_or(path);
                    path.to_string_lossy().into_owned()
                };
                let styles: Vec<String> = front.styles.iter().map(|path| below(path)).collect();
                json!({ "entry": below(&front.entry), "styles": styles })
            }),
        }
    }
}

fn words(permissions: &Permissions) -> Vec<String> {
    let words = permissions.iter().map(|one| one.as_str().to_owned());
    words.collect()
}

#[derive(Serialize, ToSchema)]
#[schema(as = PluginList)]
struct Listed {
    plugins: Vec<Plugin>,
}

/// As they were read last, by name.
#[utoipa::path(get, path = "/api/v1/plugins", tag = "plugins", operation_id = "listPlugins",
    responses((status = 200, body = Listed), Problem))]
async fn list(may: MayRead) -> Json<Listed> {
    let all = may.house.plugins.plugins();
    let plugins = all.iter().map(Plugin::of).collect();
    Json(Listed { plugins })
}

#[utoipa::path(get, path = "/api/v1/plugins/{plugin}", tag = "plugins", operation_id = "readPlugin",
    params(("plugin" = String, Path)), responses((status = 200, body = Plugin), Problem))]
async fn read(may: MayRead, PathOf(name): PathOf<String>) -> Result<Json<Plugin>, Problem> {
    Ok(Json(Plugin::of(&find(&may.house, &name)?)))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Grant)]
struct Granted {
    /// What a person has looked at and says yes to: all that the plugin asks for, in its words.
    permissions: Vec<String>,
}

/// What it asks for beyond what is granted keeps it off.
#[utoipa::path(post, path = "/api/v1/plugins/{plugin}/enable", tag = "plugins", operation_id = "enablePlugin",
    params(("plugin" = String, Path)), request_body = Granted, responses((status = 200, body = Plugin), Problem))]
async fn enable(
    may: MayAdmin,
    PathOf(name): PathOf<String>,
    Body(asked): Body<Granted>,
) -> Result<Json<Plugin>, Problem> {
    let accepted: Permissions = asked.permissions.into_iter().map(Permission::new).collect();
    let plugin = off_the_road(may.house, move |house| {
        house.plugins.enable(&name, &accepted)?;
        Ok(Plugin::of(&find(house, &name)?))
    });
    Ok(Json(plugin.await?))
}

/// Runs that are under way keep what they have.
#[utoipa::path(post, path = "/api/v1/plugins/{plugin}/disable", tag = "plugins", operation_id = "disablePlugin",
    params(("plugin" = String, Path)), responses((status = 200, body = Plugin), Problem))]
async fn disable(may: MayAdmin, PathOf(name): PathOf<String>) -> Result<Json<Plugin>, Problem> {
    let plugin = off_the_road(may.house, move |house| {
        house.plugins.disable(&name)?;
        Ok(Plugin::of(&find(house, &name)?))
    });
    Ok(Json(plugin.await?))
}

/// Reads all folders anew.
#[utoipa::path(post, path = "/api/v1/plugins/reload", tag = "plugins", operation_id = "reloadPlugins",
    responses((status = 200, body = Listed), Problem))]
async fn reload(may: MayAdmin) -> Result<Json<Listed>, Problem> {
    let plugins = off_the_road(may.house, |house| {
        house.plugins.reload();
        Ok(house.plugins.plugins().iter().map(Plugin::of).collect())
    });
    Ok(Json(Listed {
        plugins: plugins.await?,
    }))
}
