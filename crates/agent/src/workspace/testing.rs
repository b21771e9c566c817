//! A live run for tests: contents in memory, a host that answers what it is told to, and tools called as the house
//! calls them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{CallId, RunId};
use innkeeper_store::{Blob, BlobId, Contents, StoreError, Swept, Tree, TreeId};
use innkeeper_tools::builtin::Tool;
use innkeeper_tools::{CallContext, Caller, Invocation, Progress, Reach, ToolError};
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::state::{FileInfo, WorkspaceState};
use super::*;
use crate::chat::ChatView;
use crate::profile::SkillRules;
use crate::skills::{RunSkills, SkillDesk, Skills};
use crate::state::StateDesk;

#[derive(Default)]
pub(crate) struct InMemory(pub(crate) Mutex<HashMap<BlobId, Arc<[u8]>>>);

#[async_trait]
impl Contents for InMemory {
    async fn blob(&self, id: &BlobId) -> Result<Option<Arc<[u8]>>, StoreError> {
        Ok(self.0.lock().unwrap().get(id).cloned())
    }

    async fn tree(&self, _: &TreeId) -> Result<Option<Tree>, StoreError> {
        Ok(None)
    }

    async fn put(&self, blobs: Vec<Blob>, _: Vec<Tree>) -> Result<(), StoreError> {
        let mut held = self.0.lock().unwrap();
        held.extend(blobs.into_iter().map(|blob| (blob.id, blob.content)));
        Ok(())
    }

    async fn sweep(&self) -> Result<Swept, StoreError> {
        Ok(Swept::default())
    }
}

#[derive(Default)]
pub(crate) struct Door {
    pub(crate) commits: Mutex<Vec<CommitRequest>>,
    pub(crate) refuses: Mutex<Option<CommitRefused>>,
    pub(crate) finished: Mutex<Vec<Option<String>>>,
    pub(crate) chat: Mutex<Option<Arc<ChatView>>>,
    pub(crate) world_info: Mutex<Option<Arc<Json>>>,
    pub(crate) skills: Mutex<Option<Arc<SkillDesk>>>,
    pub(crate) states: Mutex<Option<Arc<StateDesk>>>,
    pub(crate) dropped: Mutex<Arc<Vec<Json>>>,
}

#[async_trait]
impl RunDoor for Door {
    async fn commit(&self, request: CommitRequest) -> Result<CommitReceipt, CommitRefused> {
        if let Some(refused) = self.refuses.lock().unwrap().clone() {
            return Err(refused);
        }
        self.commits.lock().unwrap().push(request);
        Ok(CommitReceipt {
            message_id: "7".to_owned(),
            message_index: Some(7),
        })
    }

    async fn finish(&self, _: &CallId, reason: Option<String>) -> Result<(), ToolError> {
        if self.commits.lock().unwrap().is_empty() {
            let code = ErrorCode::AgentForegroundCommitRequired;
            return Err(ToolError::new(code, "Publish something first"));
        }
        self.finished.lock().unwrap().push(reason);
        Ok(())
    }

    async fn chat(&self) -> Result<Option<Arc<ChatView>>, ToolError> {
        Ok(self.chat.lock().unwrap().clone())
    }

    async fn world_info(&self) -> Result<Option<Arc<Json>>, ToolError> {
        Ok(self.world_info.lock().unwrap().clone())
    }

    async fn dropped(&self) -> Result<Arc<Vec<Json>>, ToolError> {
        Ok(self.dropped.lock().unwrap().clone())
    }

    fn skills(&self) -> Arc<SkillDesk> {
        let desk = self.skills.lock().unwrap().clone();
        desk.unwrap_or_else(|| {
            let nowhere = Skills::new(std::path::Path::new("nowhere"));
            Arc::new(SkillDesk::new(
                nowhere,
                RunSkills::default(),
                SkillRules::default(),
                0,
            ))
        })
    }

    fn states(&self) -> Arc<StateDesk> {
        let desk = self.states.lock().unwrap().clone();
        desk.expect("a test that has to do with states brings a desk")
    }
}

pub(crate) struct House {
    pub(crate) contents: Arc<InMemory>,
    pub(crate) door: Arc<Door>,
    pub(crate) workspaces: Workspaces,
    pub(crate) session: Arc<WorkspaceSession>,
    tools: Vec<Tool>,
    calls: Mutex<u32>,
}

pub(crate) fn plan(visible: &[&str], writable: &[&str]) -> WorkspacePlan {
    let names = |names: &[&str]| -> Vec<String> { names.iter().map(|&n| n.to_owned()).collect() };
    let body = MessageBody {
        path: WorkspacePath::parse("output/main.md").unwrap(),
        required: true,
    };
    WorkspacePlan::new(&names(visible), &names(writable), Some(body))
}

impl House {
    /// All roots but `summaries` are seen, and all of those but `plan` are written to.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let plan = plan(
            &["output", "scratch", "plan", "persist"],
            &["output", "scratch", "persist"],
        );
        Self::with(plan, files)
    }

    pub(crate) fn with(plan: WorkspacePlan, files: &[(&str, &str)]) -> Self {
        let contents = Arc::new(InMemory::default());
        let mut state = WorkspaceState::default();
        for (path, text) in files {
            let blob = Blob::new(text.as_bytes());
            let info = FileInfo::of(blob.id.clone(), text);
            state.files.insert((*path).to_owned(), info);
            contents.0.lock().unwrap().insert(blob.id, blob.content);
        }
        let door = Arc::new(Door::default());
        let weak: std::sync::Weak<Door> = Arc::downgrade(&door);
        let workspaces = Workspaces::default();
        let run = RunId::new("run_1");
        let session = WorkspaceSession::new(run.clone(), plan, state, contents.clone(), weak);
        let session = Arc::new(session);
        workspaces.open(&run, session.clone());
        let mut tools = tools(&workspaces);
        tools.extend(crate::chat::tools(&workspaces));
        tools.extend(crate::skills::tools(&workspaces));
        tools.extend(crate::state::tools(&workspaces));
        tools.extend(crate::recall::tools(&workspaces));
        Self {
            contents,
            door,
            workspaces,
            session,
            tools,
            calls: Mutex::new(0),
        }
    }

    pub(crate) fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// A call that is not journaled yet.
    pub(crate) async fn open_call(
        &self,
        call: &str,
        tool: &str,
        arguments: Json,
    ) -> Result<Json, ToolError> {
        self.called(Some(call), tool, arguments).await
    }

    pub(crate) async fn called(
        &self,
        call: Option<&str>,
        tool: &str,
        arguments: Json,
    ) -> Result<Json, ToolError> {
        let (definition, executor) = self
            .tools
            .iter()
            .find(|(definition, _)| definition.id.as_str() == tool)
            .unwrap_or_else(|| panic!("there is no tool {tool}"));
        let fits = |schema: &Json, value: &Json| {
            let validator = jsonschema::validator_for(schema).expect("a schema");
            if let Err(error) = validator.validate(value) {
                panic!("{tool}: {value}: {error}");
            }
        };
        fits(&definition.parameters, &arguments);
        let answer = executor
            .execute(Invocation {
                tool: Arc::new(definition.clone()),
                arguments: arguments.as_object().unwrap().clone(),
                context: CallContext {
                    caller: Arc::new(Caller::agent("t", RunId::new("run_1"), Reach::everything())),
                    call_id: "inner".to_owned(),
                    asked_as: call.map(Arc::from),
                    attempt: 1,
                    cancel: CancellationToken::new(),
                    progress: Progress::default(),
                    run: None,
                },
            })
            .await;
        match &answer {
            Ok(answer) => fits(definition.output.as_ref().unwrap(), answer),
            Err(error) => {
                assert!(!error.message.ends_with('.'), "{}", error.message);
                assert!(!error.message.contains('\n'), "{}", error.message);
                assert!(error.reason.is_some() || error.code != ErrorCode::WorkspacePathDenied);
            }
        }
        answer
    }

    /// A call from its start to the journal, as a driver makes it.
    pub(crate) async fn call(&self, tool: &str, arguments: Json) -> Result<Json, ToolError> {
        let call = {
            let mut calls = self.calls.lock().unwrap();
            *calls += 1;
            format!("call_{calls}")
        };
        let answer = self.open_call(&call, tool, arguments).await;
        self.journal(&call, answer.is_ok()).await;
        answer
    }

    pub(crate) async fn journal(&self, call: &str, went_well: bool) -> Taken {
        let call = CallId::new(call);
        let taken = match went_well {
            true => self.session.take(&call),
            false => self.session.take_failed(&call),
        };
        self.contents
            .put(taken.blobs.clone(), Vec::new())
            .await
            .unwrap();
        self.session.journaled(&call);
        taken
    }

    /// The finer name of why a call was refused.
    pub(crate) async fn refused(&self, tool: &str, arguments: Json) -> (ErrorCode, String) {
        let said = format!("{tool} {arguments}");
        match self.call(tool, arguments).await {
            Ok(answer) => panic!("{said} gives {answer}"),
            Err(error) => (error.code, error.reason.unwrap_or_default()),
        }
    }

    pub(crate) async fn text_of(&self, path: &str) -> String {
        let path = WorkspacePath::parse(path).unwrap();
        self.session.read_for_host(&path).await.unwrap().text
    }
}
