//! All that belongs to one person, and who finds it.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_agent::AgentRuntime;
use innkeeper_agent::instance::RetentionSettings;
use innkeeper_store::Store;
use innkeeper_tools::plugin::PluginManager;
use innkeeper_tools::workflow::WorkflowService;
use innkeeper_tools::{BudgetLimits, ToolManager};

use crate::{Executions, ModelDesk, Problem};

/// Put together by the binary; whoever opened it also closes it.
pub struct House {
    pub home: PathBuf,
    pub tools: ToolManager,
    pub plugins: PluginManager,
    pub workflows: WorkflowService,
    pub agents: AgentRuntime,
    pub budget: BudgetLimits,
    pub retention: RetentionSettings,
    /// Workflows that were begun over the network.
    pub executions: Executions,
    pub models: Arc<dyn ModelDesk>,
}

impl House {
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
