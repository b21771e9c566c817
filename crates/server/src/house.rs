//! All that belongs to one person, and who finds it.

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_agent::AgentRuntime;
use innkeeper_store::Store;
use innkeeper_tools::plugin::PluginManager;
use innkeeper_tools::workflow::WorkflowService;
use innkeeper_tools::{BudgetLimits, ToolManager};

use crate::clients::Clients;
use crate::extensions::Extensions;
use crate::publisher::Publisher;
use crate::settings::HouseSettings;
use crate::{Executions, ModelDesk, Problem};

/// Put together by the binary; whoever opened it also closes it.
pub struct HouseParts {
    pub tools: ToolManager,
    pub plugins: PluginManager,
    pub workflows: WorkflowService,
    pub agents: AgentRuntime,
    pub budget: BudgetLimits,
    pub settings: Arc<dyn HouseSettings>,
    pub clients: Clients,
    pub models: Arc<dyn ModelDesk>,
}

pub struct House {
    pub(crate) tools: ToolManager,
    pub(crate) plugins: PluginManager,
    pub(crate) workflows: WorkflowService,
    pub(crate) agents: AgentRuntime,
    pub(crate) budget: BudgetLimits,
    pub(crate) settings: Arc<dyn HouseSettings>,
    pub(crate) clients: Clients,
    pub(crate) extensions: Extensions,
    /// Workflows that were begun over the network.
    pub(crate) executions: Executions,
    pub(crate) models: Arc<dyn ModelDesk>,
    publisher: Publisher,
}

impl House {
    /// From now on what its runs ask of their host is seen to.
    pub fn open(parts: HouseParts) -> Arc<Self> {
        let house = Arc::new(Self {
            extensions: Extensions::new(parts.tools.clone()),
            tools: parts.tools,
            plugins: parts.plugins,
            workflows: parts.workflows,
            agents: parts.agents,
            budget: parts.budget,
            settings: parts.settings,
            clients: parts.clients,
            executions: Executions::default(),
            models: parts.models,
            publisher: Publisher::default(),
        });
        let seen = Arc::downgrade(&house);
        let listener = seen.clone();
        house.agents.on_driven(move |run| {
            if let Some(house) = listener.upgrade() {
                house.publisher.see_to(&seen, run);
            }
        });
        house
    }

    /// Before the store is closed.
    pub async fn close(&self) {
        self.publisher.close().await;
    }

    pub fn store(&self) -> &Store {
        self.tools.store()
    }
}

/// Whose house is which.
#[async_trait]
pub trait Houses: Send + Sync {
    /// Opens it if it is closed.
    async fn of(&self, user: &str) -> Result<Arc<House>, Problem>;
}

/// One person, one house.
pub struct OneHouse(pub Arc<House>);

#[async_trait]
impl Houses for OneHouse {
    async fn of(&self, _user: &str) -> Result<Arc<House>, Problem> {
        Ok(self.0.clone())
    }
}
