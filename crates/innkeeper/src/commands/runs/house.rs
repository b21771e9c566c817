//! What it takes to drive runs: the platform, the right to drive those of this home, and the letterbox of the runs.

use std::sync::Arc;

use innkeeper_agent::AgentRuntime;
use innkeeper_agent::instance::RetentionSettings;
use innkeeper_models::Models;
use innkeeper_server::{CLIENT_MODELS, Clients, HouseParts};
use innkeeper_store::{HomeLock, Store};
use innkeeper_tools::policy::Approver;
use tokio::task::JoinHandle;

use crate::failure::Failure;
use crate::home::Home;
use crate::output::Screen;
use crate::platform::Platform;

pub(in crate::commands) struct House {
    platform: Platform,
    pub(in crate::commands) runtime: AgentRuntime,
    mailbox: JoinHandle<()>,
    /// Let go of last.
    _lock: HomeLock,
}

impl House {
    /// Fails if another process drives the runs of this home.
    pub(in crate::commands) async fn open(
        home: &Home,
        approver: Arc<dyn Approver>,
        screen: &Screen,
    ) -> Result<Self, Failure> {
        let platform = Platform::open(home, approver).await?;
        Self::of(platform, screen).await
    }

    /// With the models that clients of a server bring.
    pub(in crate::commands) async fn open_for(
        clients: &Clients,
        home: &Home,
        approver: Arc<dyn Approver>,
        screen: &Screen,
    ) -> Result<Self, Failure> {
        let model = clients.model();
        let more = |models: Models| {
            let default = models.default_name().map(str::to_owned);
            let models = models.with(CLIENT_MODELS, model);
            match default {
                Some(default) => models.with_default(default),
                None => models,
            }
        };
        let platform = Platform::open_with(home, approver, more).await?;
        Self::of(platform, screen).await
    }

    async fn of(platform: Platform, screen: &Screen) -> Result<Self, Failure> {
        match Self::over(&platform, screen).await {
            Ok((runtime, mailbox, lock)) => Ok(Self {
                platform,
                runtime,
                mailbox,
                _lock: lock,
            }),
            Err(failure) => {
                platform.close().await?;
                Err(failure)
            }
        }
    }

    async fn over(
        platform: &Platform,
        screen: &Screen,
    ) -> Result<(AgentRuntime, JoinHandle<()>, HomeLock), Failure> {
        let lock = platform.tools.store().claim_home().await?;
        let runtime = platform.agents(screen.lang)?;
        let mailbox = runtime.open_mailbox().await?;
        let mailbox = tokio::spawn(async move {
            // Where it cannot be read, the runs cannot be written either, and they say so.
            let _ = mailbox.attend().await;
        });
        Ok((runtime, mailbox, lock))
    }

    /// What its owner has laid down.
    pub(in crate::commands) fn retention(&self) -> RetentionSettings {
        self.platform.retention
    }

    /// What the doors to the network lead to.
    pub(in crate::commands) fn served(&self, clients: Clients) -> HouseParts {
        self.platform.served(self.runtime.clone(), clients)
    }

    pub(in crate::commands) fn store(&self) -> &Store {
        self.platform.tools.store()
    }

    /// Lets go of what is still at work: it goes on from there when it is resumed.
    pub(in crate::commands) async fn close(self, screen: &Screen) -> Result<(), Failure> {
        let note = self.platform.not_ready.as_ref();
        if let Some([english, chinese]) = note.filter(|_| self.platform.tally.rehearsed()) {
            screen.note(english, chinese);
        }
        self.mailbox.abort();
        self.runtime.close().await;
        self.platform.close().await
    }
}
