//! What a profile makes of a workspace: which roots its agent sees and writes, and which file becomes the message.

use serde_json::{Value as Json, json};

use super::path::{WorkspacePath, is_below};
use crate::AgentProfile;
use crate::state::STATE_FOLDER;

/// Folders that every workspace has. What lies in the last one is kept for later runs of the chat.
pub const ROOTS: [&str; 5] = ["output", "scratch", "plan", "summaries", PERSIST];
pub const PERSIST: &str = "persist";

/// Names in a run's folder that are no roots.
pub const RESERVED: [&str; 10] = [
    "runs",
    "input",
    "model-responses",
    "tool-args",
    "tool-results",
    "agent-results",
    "checkpoints",
    "events.jsonl",
    "manifest.json",
    "run.json",
];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspacePlan {
    visible: Vec<&'static str>,
    writable: Vec<&'static str>,
    body: Option<MessageBody>,
}

/// The file that `workspace.commit` publishes when it names none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageBody {
    pub path: WorkspacePath,
    pub required: bool,
}

impl WorkspacePlan {
    /// Roots that do not exist are left out; only what is visible can be writable.
    pub fn new(visible: &[String], writable: &[String], body: Option<MessageBody>) -> Self {
        let named = |names: &[String]| -> Vec<&'static str> {
            let is_named = |root: &&'static str| names.iter().any(|name| name == root);
            ROOTS.into_iter().filter(is_named).collect()
        };
        let visible = named(visible);
        let mut writable = named(writable);
        writable.retain(|root| visible.contains(root));
        Self {
            visible,
            writable,
            body,
        }
    }

    pub fn of(profile: &AgentProfile) -> Self {
        let body = profile
            .output
            .artifacts
            .iter()
            .find(|artifact| artifact.target == "messageBody")
            .and_then(|artifact| {
                let path = WorkspacePath::parse(&artifact.path).ok()?;
                Some(MessageBody {
                    path,
                    required: artifact.required,
                })
            });
        let roots = &profile.workspace;
        Self::new(&roots.visible_roots, &roots.writable_roots, body)
    }

    pub fn visible(&self) -> &[&'static str] {
        &self.visible
    }

    pub fn writable(&self) -> &[&'static str] {
        &self.writable
    }

    pub fn body(&self) -> Option<&MessageBody> {
        self.body.as_ref()
    }

    pub fn sees(&self, path: &str) -> bool {
        self.visible.contains(&root_of(path)) && !is_state(path)
    }

    pub fn writes(&self, path: &str) -> bool {
        self.writable.contains(&root_of(path)) && !is_state(path)
    }

    /// Each root as events and `manifest.json` describe it.
    pub fn roots(&self) -> Json {
        ROOTS
            .iter()
            .map(|root| {
                let (lifecycle, scope, mount, commit) = match *root {
                    PERSIST => (
                        "persistent",
                        "chat",
                        "projected_overlay",
                        "on_run_completed",
                    ),
                    _ => ("run", "run", "materialized", "never"),
                };
                json!({
                    "path": root,
                    "lifecycle": lifecycle,
                    "scope": scope,
                    "mount": mount,
                    "visible": self.visible.contains(root),
                    "writable": self.writable.contains(root),
                    "commit": commit,
                })
            })
            .collect()
    }

    /// `manifest.json` of a run.
    pub fn manifest(&self, profile: &AgentProfile) -> Json {
        json!({
            "workspaceVersion": 1,
            "roots": self.roots(),
            "artifacts": profile.output.artifacts,
            "commitPolicy": {
                "defaultTarget": "message_body",
                "combineTemplate": null,
                "storeArtifactsInExtra": true,
            },
        })
    }
}

/// The private states of agents have tools of their own, which hold them to a schema.
fn is_state(path: &str) -> bool {
    path == STATE_FOLDER || is_below(path, STATE_FOLDER)
}

fn root_of(path: &str) -> &str {
    path.split_once('/').map_or(path, |(root, _)| root)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn only_real_roots_and_only_visible_ones_are_writable() {
        let plan = WorkspacePlan::new(
            &names(&["plan", "output", "input", "runs"]),
            &names(&["output", "scratch"]),
            None,
        );
        assert_eq!(plan.visible(), ["output", "plan"]);
        assert_eq!(plan.writable(), ["output"]);
        assert!(plan.sees("plan/a.md") && !plan.writes("plan/a.md"));
        assert!(plan.writes("output/a.md"));
        assert!(!plan.sees("scratch/a.md") && !plan.sees("input/a.json"));
        assert!(!plan.sees("outputs/a.md"));
        let all = WorkspacePlan::new(&names(&ROOTS), &names(&ROOTS), None);
        for path in ["persist/.state", "persist/.state/writer.json"] {
            assert!(!all.sees(path) && !all.writes(path), "{path}");
        }
        assert!(all.writes("persist/.states") && all.sees("persist/state/a.json"));
        let roots = plan.roots();
        assert_eq!(roots.as_array().unwrap().len(), ROOTS.len());
        assert_eq!(roots[0]["visible"], true);
        assert_eq!(roots[4]["mount"], "projected_overlay");
        assert!(ROOTS.iter().all(|root| !RESERVED.contains(root)));
    }
}
