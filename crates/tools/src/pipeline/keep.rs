//! A result that was kept in the place of an executor's work, for nodes that lend what is kept.
//!
//! Behind every decision: whoever may not make the call gets nothing, and the audit log shows the call and where its
//! answer came from. An executor that does not say on what its result depends has nothing kept.

use innkeeper_engine::Kept;
use serde_json::{Map, Value as Json};

use crate::Revision;
use crate::registry::Tool;
use crate::run::ToolRun;

/// What a call is kept under, and where.
pub(super) struct Place {
    kept: Kept,
    of: Revision,
}

impl Place {
    /// None where nothing is to be kept.
    pub(super) async fn of(
        run: &ToolRun,
        tool: &Tool,
        arguments: &Map<String, Json>,
    ) -> Option<Self> {
        let kept = run.kept.clone()?;
        let caller = &run.caller;
        let revision = tool.executor().revision(arguments, caller).await?;
        let definition = tool.definition();
        let arguments = serde_json::to_vec(arguments).ok()?;
        let of = Revision::of([
            definition.id.as_str().as_bytes(),
            definition.source.as_bytes(),
            // Whoever lends may lend to more than one.
            caller.user.as_str().as_bytes(),
            caller.project.as_str().as_bytes(),
            revision.as_bytes(),
            &arguments,
        ]);
        Some(Self { kept, of })
    }

    pub(super) fn take(&self) -> Option<Json> {
        self.kept.take(self.of.as_bytes())
    }

    /// Kept when the node has found it good. Not where something that the revision shows has changed since it was looked
    /// for (a setting, a file of the command, a dependency): nobody knows which of the two it was made of. Nor where a secret
    /// stands in it: it is hidden anew each time that it is taken, and may be no secret any more by then.
    pub(super) async fn made(
        &self,
        run: &ToolRun,
        tool: &Tool,
        arguments: &Map<String, Json>,
        result: &Json,
    ) {
        if !tool.executor().is_all_it_did(result) || holds_secret(run, result) {
            return;
        }
        let now = Self::of(run, tool, arguments).await;
        if now.is_some_and(|now| now.of == self.of) {
            self.kept.made(self.of.as_bytes(), result);
        }
    }
}

fn holds_secret(run: &ToolRun, result: &Json) -> bool {
    let mut hidden = result.clone();
    run.shared.redactor.load().redact_json(&mut hidden);
    hidden != *result
}
