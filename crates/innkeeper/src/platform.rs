//! Puts the platform together for one command: store, files, tools, plugins, agents. Decides nothing.

use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use innkeeper_agent::instance::{AgentParts, RetentionSettings};
use innkeeper_agent::workspace::{StatesInStore, Workspaces};
use innkeeper_agent::{
    AgentRuntime, EngineModels, chat, delegation, recall, skills, state, workspace,
};
use innkeeper_engine::{EngineOptions, ExecutionEngine, NodeManager};
use innkeeper_models::{HttpClient, Models};
use innkeeper_protocol::Locale;
use innkeeper_protocol::event::RunId;
use innkeeper_sandbox::{Sandbox, SandboxOptions};
use innkeeper_store::{LocalBus, Store};
use innkeeper_tools::builtin::code::{CodeLimits, CodeParts};
use innkeeper_tools::builtin::http::HttpPolicy;
use innkeeper_tools::plugin::{Consents, PluginLoader, PluginManager, PluginParts, PluginSettings};
use innkeeper_tools::policy::Approver;
use innkeeper_tools::registry::RegisterError;
use innkeeper_tools::script::{Interpreters, SandboxRunner};
use innkeeper_tools::workflow::{BusPublisher, WorkflowParts, WorkflowService};
use innkeeper_tools::{BudgetLimits, FileLayer, Parts, Secrets, SystemClock, ToolManager, builtin};
use jiff::tz::TimeZone;

use crate::commands::models::HouseDesk;
use crate::failure::{Failure, HomeFault};
use crate::home::Home;
use crate::lang::Lang;
use crate::models::{HouseModels, REHEARSAL, Tally};
use crate::settings::{self, Scripts, Settings, SettingsFile};

pub(crate) struct Platform {
    pub(crate) tools: ToolManager,
    pub(crate) plugins: PluginManager,
    pub(crate) workflows: WorkflowService,
    pub(crate) budget: BudgetLimits,
    pub(crate) retention: RetentionSettings,
    home: Home,
    workspaces: Workspaces,
    client: HttpClient,
    /// What its models have used.
    pub(crate) tally: Arc<Tally>,
    /// Why the rehearsal answers where no model is named, if that may surprise.
    pub(crate) not_ready: Option<[String; 2]>,
}

impl Platform {
    /// Everything that is in the house, as it is now.
    pub(crate) async fn open(home: &Home, approver: Arc<dyn Approver>) -> Result<Self, Failure> {
        Self::open_with(home, approver, |models| models).await
    }

    /// The same, with models that the settings do not know of.
    pub(crate) async fn open_with(
        home: &Home,
        approver: Arc<dyn Approver>,
        more: impl FnOnce(Models) -> Models + Send,
    ) -> Result<Self, Failure> {
        home.create()?;
        let settings = Settings::read(&home.file(settings::FILE))?;
        let unusable = |why: &dyn std::fmt::Display| {
            Failure::from(HomeFault::because(home.path(), &why.to_string()))
        };
        let files = FileLayer::open(home.path()).map_err(|error| unusable(&error))?;
        let secrets = Secrets::new(home.file("secrets.toml"));
        // A file that others can read, or that cannot be read at all, stops everything.
        secrets.names().map_err(|error| unusable(&error))?;
        let tally = Arc::new(Tally::default());
        let models = HouseModels::open(home, &settings.models, Some(tally.clone()))?;
        let not_ready = models.not_ready_note();
        let client = models.client.clone();
        let store = open_store(home).await?;
        let tools = ToolManager::new(Parts {
            files: files.clone(),
            store,
            bus: Arc::new(LocalBus::new()),
            approver,
            policy: settings.policy.clone(),
            clock: Arc::new(SystemClock),
        });
        tools.set_redactor(models.redactor.clone());

        let sandbox = open_sandbox(&settings.scripts, home).map_err(|error| unusable(&error))?;
        let interpreters = Interpreters::default().closing(home.path());
        let code = CodeParts {
            sandbox: sandbox.clone(),
            interpreters: interpreters.clone(),
            files: files.clone(),
            run_ends: tools.run_ends().clone(),
            limits: CodeLimits::from(&settings.scripts.limits()),
        };
        let workspaces = Workspaces::default();
        register_builtins(&tools, settings.http.clone(), code, &workspaces)
            .map_err(|error| unusable(&error))?;
        let engine_models =
            EngineModels::new(more(models.models), models.redactor).on_default(Arc::new({
                let tally = tally.clone();
                move |model| {
                    if model == REHEARSAL {
                        tally.rehearses();
                    }
                }
            }));
        let workflows = open_workflows(home, engine_models, &tools);
        let plugins = PluginManager::new(PluginParts {
            manager: tools.clone(),
            loader: PluginLoader::new(plugin_folders(home, &settings)).closing(home.path()),
            consents: Consents::new(home.path()),
            settings: Arc::new(PluginSettings::new(home.path(), secrets)),
            runner: Arc::new(SandboxRunner::new(sandbox, interpreters)),
            files: Arc::new(files),
            data: home.file("plugin-data"),
            limits: settings.scripts.limits(),
            workflows: workflows.clone(),
        });
        let reading = plugins.clone();
        tokio::task::spawn_blocking(move || reading.reload())
            .await
            .map_err(|error| unusable(&error))?;
        Ok(Self {
            tools,
            plugins,
            workflows,
            budget: settings.limits.budget(),
            retention: settings.retention,
            home: home.clone(),
            workspaces,
            client,
            tally,
            not_ready,
        })
    }

    /// Drives runs of agents. Whoever uses it to do so holds the home.
    pub(crate) fn agents(&self, lang: Lang) -> Result<AgentRuntime, Failure> {
        Ok(AgentRuntime::new(AgentParts {
            tools: self.tools.clone(),
            workflows: self.workflows.clone(),
            home: self.home.path().to_owned(),
            workspaces: self.workspaces.clone(),
            persist: Arc::new(StatesInStore::new(self.tools.store().states())),
            clock: Arc::new(SystemClock),
            locale: lang.pick(Locale::En, Locale::Zh),
        })?)
    }

    pub(crate) fn served(
        &self,
        agents: AgentRuntime,
        clients: innkeeper_server::Clients,
    ) -> innkeeper_server::HouseParts {
        innkeeper_server::HouseParts {
            tools: self.tools.clone(),
            plugins: self.plugins.clone(),
            workflows: self.workflows.clone(),
            agents,
            budget: self.budget.clone(),
            settings: Arc::new(SettingsFile(self.home.file(settings::FILE))),
            clients,
            models: Arc::new(HouseDesk {
                home: self.home.clone(),
                tally: self.tally.clone(),
                tools: self.tools.clone(),
                client: self.client.clone(),
            }),
        }
    }

    /// Writes what is waiting to be written.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        let store = self.tools.store().clone();
        Ok(store.close().await?)
    }
}

/// The engine with all that its nodes may ask for. Plugins bring further nodes.
fn open_workflows(home: &Home, models: EngineModels, tools: &ToolManager) -> WorkflowService {
    WorkflowService::new(WorkflowParts {
        engine: ExecutionEngine::new(NodeManager::new(), EngineOptions::default()),
        home: home.path().to_owned(),
        models: Some(Arc::new(models)),
        bus: tools.bus().clone(),
    })
}

/// This very binary is what starts programs in it.
pub(crate) fn open_sandbox(scripts: &Scripts, home: &Home) -> std::io::Result<Sandbox> {
    let mut options = SandboxOptions::own_binary()?;
    // Our allocator prepares for a long life; what starts a program lives for milliseconds.
    options.launcher_environment = vec![
        ("MIMALLOC_ARENA_EAGER_COMMIT", "0"),
        ("MIMALLOC_ARENA_RESERVE", "0"),
    ];
    // Wherever they lie: no folder that was granted, and not the system's, shows them.
    options.closed = vec![home.path().to_owned()];
    options.closed.extend(std::env::home_dir());
    options.parallel = scripts.parallel().unwrap_or(options.parallel);
    Ok(Sandbox::new(options))
}

/// The database alone, for commands that only look into it.
pub(crate) async fn open_store(home: &Home) -> Result<Store, Failure> {
    home.create()?;
    Ok(Store::open(&home.file("innkeeper.db")).await?)
}

/// The same for commands that read runs: it may lie where nothing can be written.
pub(crate) async fn open_store_to_read(home: &Home) -> Result<Store, Failure> {
    home.create()?;
    Ok(Store::open_to_read(&home.file("innkeeper.db")).await?)
}

pub(crate) fn new_run() -> RunId {
    RunId::new(format!("run_{}", uuid::Uuid::now_v7().simple()))
}

/// `<home>/plugins` first: what is there wins over a plugin of the same name elsewhere.
pub(crate) fn plugin_folders(home: &Home, settings: &Settings) -> Vec<PathBuf> {
    let further = settings.plugins.paths.iter();
    std::iter::once(home.file("plugins"))
        .chain(further.map(|path| home.path().join(path)))
        .collect()
}

fn register_builtins(
    tools: &ToolManager,
    http: HttpPolicy,
    code: CodeParts,
    workspaces: &Workspaces,
) -> Result<(), RegisterError> {
    let mut all = all_builtins(tools, http, code);
    // Those of a run: elsewhere they say that there is none.
    all.extend(workspace::tools(workspaces));
    all.extend(chat::tools(workspaces));
    all.extend(skills::tools(workspaces));
    all.extend(delegation::tools(workspaces));
    all.extend(state::tools(workspaces));
    all.extend(recall::tools(workspaces));
    let source = builtin::source(all)?;
    tools.registry().replace(builtin::SOURCE, source)
}

/// All that work without an agent's state.
fn all_builtins(tools: &ToolManager, http: HttpPolicy, code: CodeParts) -> Vec<builtin::Tool> {
    [
        builtin::clock::tools(Arc::new(SystemClock), TimeZone::system()),
        builtin::code::tools(code),
        builtin::dice::tools(Arc::new(builtin::dice::SystemChance)),
        builtin::event::tools(Arc::new(BusPublisher(tools.bus().clone()))),
        builtin::file::tools(tools.files()),
        builtin::http::tools(Arc::new(ArcSwap::from_pointee(http))),
        builtin::json_query::tools(),
        builtin::search::tools(),
        builtin::task::tools(tools.tasks()),
        builtin::text::tools(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
