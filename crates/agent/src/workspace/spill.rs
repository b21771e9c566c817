//! Results that are too long for a model, as files that its agent can read on.

use async_trait::async_trait;
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::CallId;
use innkeeper_tools::{SpillPlace, ToolError};

use super::WorkspacePath;
use super::fault::{fault, invalid_path};
use super::ids::call_stem;
use super::session::{NewFile, WorkspaceSession};
use super::state::How;
use super::text::{aside, measured};
use crate::limits::MAX_SPILLED_BYTES;

/// Where a run that sees it has its working papers.
const ROOT: &str = "scratch";

impl WorkspaceSession {
    /// Where a result of the call is kept, for the agent to read on. The same call has the same path, so a call that is
    /// run again leaves one file. `ending`: `txt` or `json`.
    pub fn spill_path(&self, call: &str, ending: &str) -> String {
        let visible = self.plan().visible();
        let root = match visible.contains(&ROOT) {
            true => ROOT,
            false => visible.first().copied().unwrap_or(ROOT),
        };
        format!("{root}/results/{}.{ending}", call_stem(call))
    }

    /// Keeps a result for the call and gives its path. Where the call was to show a file, that file counts as not read:
    /// what was not shown is not known.
    pub async fn spill(
        &self,
        call: &CallId,
        ending: &str,
        text: String,
    ) -> Result<String, ToolError> {
        if text.len() as u64 > MAX_SPILLED_BYTES {
            return Err(fault(
                ErrorCode::WorkspaceWriteTooLarge,
                "workspace.file_too_large",
                format!("a result of more than {MAX_SPILLED_BYTES} bytes is not kept"),
            ));
        }
        let name = self.spill_path(call.as_str(), ending);
        let path = WorkspacePath::parse(&name).map_err(|why| invalid_path(&name, why))?;
        let (blob, info) = aside(text.len(), move || measured(text)).await?;
        self.unread(call);
        let file = NewFile {
            path,
            how: How::Spilled,
            blob,
            info,
            read: None,
        };
        self.put(call, file)?;
        Ok(name)
    }
}

#[async_trait]
impl SpillPlace for WorkspaceSession {
    fn reference(&self, call: &str, ending: &str) -> String {
        self.spill_path(call, ending)
    }

    async fn keep(&self, call: &str, ending: &str, text: String) -> Result<(), ToolError> {
        self.spill(&CallId::new(call), ending, text).await.map(drop)
    }
}
