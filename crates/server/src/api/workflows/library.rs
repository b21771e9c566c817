//! The workflow that somebody means, and where the groups in it are looked for. All of it blocks.

use std::sync::Arc;

use innkeeper_engine::{ExecutionEngine, Plan, Problems, Reading, Workflow, WorkflowSource};
use innkeeper_protocol::ErrorCode;
use innkeeper_tools::registry::Scope;
use innkeeper_tools::workflow::{NotNamed, Place, Seen, WorkflowService, named};

use crate::api::asked::{nothing, wrong};
use crate::problem::Problem;

/// A workflow as it was read, whatever is wrong with it.
pub(in crate::api) struct Meant {
    pub(in crate::api) workflow: Option<Arc<Workflow>>,
    /// Of the text alone.
    problems: Problems,
    groups: Arc<dyn WorkflowSource>,
}

/// Held against the node types that there are.
pub(in crate::api) struct Checked {
    pub(in crate::api) plan: Option<Plan>,
    pub(in crate::api) problems: Problems,
}

impl Meant {
    /// In the library, by its id, its file or its name.
    pub(in crate::api) fn named(
        service: &WorkflowService,
        scope: &Scope,
        name: &str,
    ) -> Result<Self, Problem> {
        let all = service.look(Some(scope));
        let seen = find(&all, name)?;
        // What all have is not made of what a project has.
        let scope = matches!(seen.place, Place::Project(_)).then_some(scope);
        Ok(Self {
            workflow: seen.workflow.clone(),
            problems: seen.problems.clone(),
            groups: service.source(scope),
        })
    }

    /// As somebody sent it.
    pub(in crate::api) fn written(service: &WorkflowService, scope: &Scope, text: &str) -> Self {
        let Reading { workflow, problems } = Workflow::read(text);
        Self {
            workflow: workflow.map(Arc::new),
            problems,
            groups: service.source(Some(scope)),
        }
    }

    pub(in crate::api) fn checked(&self, engine: &ExecutionEngine) -> Checked {
        let mut problems = self.problems.clone();
        let plan = self.workflow.as_ref().and_then(|workflow| {
            let prepared = engine.prepare(workflow, self.groups.as_ref());
            problems.extend(prepared.problems);
            prepared.plan
        });
        Checked {
            plan: plan.filter(|_| !problems.has_errors()),
            problems,
        }
    }
}

pub(in crate::api) fn find<'s>(all: &'s [Seen], name: &str) -> Result<&'s Seen, Problem> {
    named(all, name).map_err(|why| match why {
        NotNamed::Unknown => nothing(format!("there is no workflow '{}'", name.escape_debug())),
        NotNamed::Ambiguous(many) => {
            let stems: Vec<&str> = many.iter().map(|seen| seen.stem.as_str()).collect();
            let problem = Problem::new(
                ErrorCode::HttpConflict,
                "several workflows answer to this name; say which, by the name of its file",
            );
            problem.because("workflow.ambiguous").with("files", stems)
        }
    })
}

/// What cannot even be read as a workflow is neither kept nor run.
pub(in crate::api) fn readable(problems: &Problems) -> Problem {
    let first = problems.errors().next().map(ToString::to_string);
    let first = first.unwrap_or_else(|| "it is no workflow".to_owned());
    let list = serde_json::to_value(&problems.list).unwrap_or_default();
    wrong(format!("the workflow cannot be used: {first}"))
        .because("workflow.broken")
        .with("problems", list)
}
