//! The models of this house: the rehearsal model, and what the owner's channels lead to.
//!
//! Owns how settings, providers and keys become models. Nothing is opened or asked before somebody uses one. What leads
//! nowhere is told by `doubts`, workflows ask through the agent crate's `EngineModels`.

mod doubts;
mod keys;
mod tally;

use std::collections::BTreeMap;
use std::sync::Arc;

use innkeeper_models::provider::{ProviderProblem, Providers};
use innkeeper_models::{
    Channel, HttpClient, ModelTable, Models, Rehearsal, ReportSink, Retrying, Route, Router,
    RouterError, Script,
};
use innkeeper_tools::Redactor;

use self::keys::Keys;
pub(crate) use self::tally::{Tally, Used};
use crate::failure::{Failure, ModelFault, Said, SettingsFault, is_unprintable, shown};
use crate::home::Home;
use crate::settings::ModelSettings;

/// What the rehearsal model is called.
pub(crate) const REHEARSAL: &str = "rehearsal";
/// The folder with further providers.
const PROVIDERS: &str = "providers";

pub(crate) struct HouseModels {
    pub(crate) models: Models,
    pub(crate) providers: Providers,
    /// What could not be taken of the files with providers.
    pub(crate) problems: Vec<ProviderProblem>,
    pub(crate) table: ModelTable,
    pub(crate) client: HttpClient,
    /// Hides every key of this house, those of the environment too.
    pub(crate) redactor: Redactor,
    written: Names,
}

/// Names that the settings lead somewhere.
struct Names {
    default: Option<String>,
    routes: Vec<Route>,
    aliases: BTreeMap<String, String>,
}

impl HouseModels {
    /// Those that the settings name. Blocks.
    pub(crate) fn open(
        home: &Home,
        settings: &ModelSettings,
        reports: Option<Arc<dyn ReportSink>>,
    ) -> Result<Self, Failure> {
        let client = HttpClient::new().map_err(|error| ModelFault::failed(&error))?;
        Self::open_with(home, settings, reports, client)
    }

    /// Over connections that are there already. Blocks.
    pub(crate) fn open_with(
        home: &Home,
        settings: &ModelSettings,
        reports: Option<Arc<dyn ReportSink>>,
        client: HttpClient,
    ) -> Result<Self, Failure> {
        let (providers, problems) = providers(home);
        let keys = Keys::open(home);
        let mut channels = Vec::new();
        for (number, config) in settings.channels.iter().enumerate() {
            let provider = providers.get(&config.provider).cloned().ok_or_else(|| {
                let why = no_provider(&config.provider, &providers, &problems);
                settings.fault(&format!("channels[{number}].provider"), why)
            })?;
            let channel =
                keys.look_up(|keys| Channel::new(provider, config.clone(), keys, client.clone()));
            channels.push(Arc::new(channel));
        }
        let table = ModelTable::shipped().with(settings.info.clone());
        let router = Router::new(channels, settings.routes.clone(), settings.aliases.clone());
        let router =
            router.map_err(|RouterError { place, why }| settings.fault(&place, Said::of(&why)))?;
        let mut router = router.with_table(table.clone());
        if let Some(reports) = reports {
            router = router.with_reports(reports);
        }
        let default = default_name(settings, &router);
        let rehearsal = rehearsal(home, settings)?;
        let models = Models::new()
            // It has no channel that would try again.
            .with(REHEARSAL, Arc::new(Retrying::new(rehearsal)))
            .with_router(router)
            .with_default(default);
        Ok(Self {
            models,
            providers,
            problems,
            table,
            client,
            redactor: keys.redactor(),
            written: Names {
                default: settings.default.clone(),
                routes: settings.routes.clone(),
                aliases: settings.aliases.clone(),
            },
        })
    }

    pub(crate) fn router(&self) -> Option<&Router> {
        self.models.router()
    }

    pub(crate) fn channels(&self) -> &[Arc<Channel>] {
        self.router().map_or(&[], Router::channels)
    }
}

/// Those that ship, and those of `<home>/providers/`. Blocks.
pub(crate) fn providers(home: &Home) -> (Providers, Vec<ProviderProblem>) {
    Providers::shipped().with_folder(&home.file(PROVIDERS))
}

/// Nothing that is empty, has blanks around it or could rewrite a screen.
pub(crate) fn is_model_name(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.chars().any(is_unprintable)
}

fn no_provider(id: &str, providers: &Providers, problems: &[ProviderProblem]) -> Said {
    let id = shown(id);
    match (providers.nearest(&id), problems.first()) {
        (Some(near), _) => Said::new(
            format!("there is no provider \"{id}\"; did you mean \"{near}\"?"),
            format!("没有服务商 \"{id}\"；是否想写 \"{near}\"？"),
        ),
        (None, Some(problem)) => Said::new(
            format!(
                "there is no provider \"{id}\"; a file of providers cannot be taken: {problem}"
            ),
            format!("没有服务商 \"{id}\"；有一个服务商文件无法采用：{problem}"),
        ),
        (None, None) => Said::new(
            format!(
                "there is no provider \"{id}\"; `innkeeper models add --list-providers` shows them, \"custom\" takes any \
                 address"
            ),
            format!(
                "没有服务商 \"{id}\"；`innkeeper models add --list-providers` 会列出全部，\"custom\" 可用于任何地址"
            ),
        ),
    }
}

/// What the owner chose; else the first model that a channel that is ready names; else the rehearsal.
fn default_name(settings: &ModelSettings, router: &Router) -> String {
    let chosen = settings.default.clone();
    let named = || {
        let open = router
            .channels()
            .iter()
            .filter(|channel| !channel.config().disabled && channel.ready().is_ok());
        let mut named = open.filter_map(|channel| {
            let exact = channel
                .config()
                .models
                .iter()
                .find(|model| model.is_exact());
            Some(format!("{}/{}", channel.name(), exact?.as_str()))
        });
        named.next()
    };
    chosen
        .or_else(named)
        .unwrap_or_else(|| REHEARSAL.to_owned())
}

fn rehearsal(home: &Home, settings: &ModelSettings) -> Result<Rehearsal, SettingsFault> {
    let path = settings
        .rehearsal
        .as_deref()
        .map(|path| home.path().join(path));
    let opened = match &path {
        Some(path) => Script::read_file(path).map(Rehearsal::new),
        None => Rehearsal::demo(),
    };
    opened.map_err(|error| {
        // Without a line it is about the file as a whole, which the settings name.
        if let [problem] = error.problems.as_slice()
            && problem.line().is_none()
        {
            return settings.fault("rehearsal", Said::of(&problem.message));
        }
        let mut why: Vec<String> = error.problems.iter().map(ToString::to_string).collect();
        if error.omitted > 0 {
            why.push(format!("+{}", error.omitted));
        }
        SettingsFault::Script {
            path: shown(&path.unwrap_or_default().to_string_lossy()),
            why: why.join("; "),
        }
    })
}

#[cfg(test)]
#[path = "models_tests.rs"]
mod tests;
