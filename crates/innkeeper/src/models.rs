//! The models of this house: the rehearsal model, and what the owner's channels lead to.
//!
//! Owns how settings, providers and keys become models. Nothing is opened or asked before somebody uses one. Workflows ask
//! through `port`.

mod keys;
mod port;

use std::path::Path;
use std::sync::Arc;

use innkeeper_models::provider::{ProviderProblem, Providers};
use innkeeper_models::{
    Channel, HttpClient, ModelTable, Models, Rehearsal, ReportSink, Retrying, Router, RouterError,
    Script,
};
use innkeeper_tools::Redactor;

use self::keys::Keys;
pub(crate) use self::port::EngineModels;
use crate::failure::{Failure, ModelFault, SettingsFault, message, shown};
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
}

impl HouseModels {
    /// Those that the settings name. Blocks.
    pub(crate) fn open(
        home: &Home,
        settings: &ModelSettings,
        reports: Option<Arc<dyn ReportSink>>,
    ) -> Result<Self, Failure> {
        let client = HttpClient::new().map_err(|error| ModelFault::failed(&error))?;
        let (providers, problems) = providers(home);
        let keys = Keys::open(home);
        let mut channels = Vec::new();
        for (number, config) in settings.channels.iter().enumerate() {
            let provider = providers.get(&config.provider).cloned().ok_or_else(|| {
                let why = no_provider(&config.provider, &providers, &problems);
                settings.fault(&format!("channels[{number}]"), &why)
            })?;
            let channel =
                keys.look_up(|keys| Channel::new(provider, config.clone(), keys, client.clone()));
            channels.push(Arc::new(channel));
        }
        let table = ModelTable::shipped().with(settings.info.clone());
        let router = Router::new(channels, settings.routes.clone(), settings.aliases.clone());
        let router = router.map_err(|RouterError { place, why }| settings.fault(&place, &why))?;
        let mut router = router.with_table(table.clone());
        if let Some(reports) = reports {
            router = router.with_reports(reports);
        }
        let default = default_name(settings, &router);
        let rehearsal = rehearsal(home, settings.rehearsal.as_deref())?;
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

fn no_provider(id: &str, providers: &Providers, problems: &[ProviderProblem]) -> String {
    let near = providers.nearest(id);
    let remedy = match (near, problems.first()) {
        (Some(near), _) => format!("did you mean \"{near}\"?"),
        (None, Some(problem)) => format!("a file of providers cannot be taken: {problem}"),
        (None, None) => {
            "`innkeeper models add --list-providers` shows them, \"custom\" takes any address"
                .to_owned()
        }
    };
    format!("there is no provider \"{}\"; {remedy}", shown(id))
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

fn rehearsal(home: &Home, script: Option<&Path>) -> Result<Rehearsal, SettingsFault> {
    let script = script.map(|path| home.path().join(path));
    let opened = match &script {
        Some(path) => Script::read_file(path).map(Rehearsal::new),
        None => Rehearsal::demo(),
    };
    opened.map_err(|error| SettingsFault::Unreadable {
        path: shown(&script.unwrap_or_default().to_string_lossy()),
        why: message(&error.to_string()),
    })
}

#[cfg(test)]
#[path = "models_tests.rs"]
mod tests;
