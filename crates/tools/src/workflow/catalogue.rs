//! Workflows and nodes among the tools: `workflow:<id>` for everyone to see, a node's full type for who knows it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use innkeeper_engine::{FindError, NodeTypes, Plan, Problem, Problems, Workflow, WorkflowSource};
use innkeeper_protocol::{Execution, ToolDefinition};
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::node_tool;
use super::outcome::one_line;
use super::places::{Place, Seen, View};
use super::{NodeExecutor, PluginWorkflows, WorkflowExecutor, WorkflowService};
use crate::registry::{Hidden, Offer, Prepared, RegisterError, Registry, Scope, Source};
use crate::{Executor, UserId};

/// The source of the tools that are workflows; projects with workflows of their own have their own in its place.
pub const SOURCE: &str = "workflows";
/// The source of the tools that are nodes.
const NODES: &str = "nodes";
const PREFIX: &str = "workflow:";

/// A workflow file, and whether it is a tool.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowStatus {
    pub place: Place,
    /// Whose it is, where it lies in a project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
    /// None for one that is shipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    pub id: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Under which it can be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Why it cannot be, and what else is odd about it.
    pub problems: Problems,
}

pub(super) fn execution() -> Execution {
    Execution {
        timeout_ms: node_tool::time(),
        ..Execution::default()
    }
}

impl WorkflowService {
    /// Follows what plugins bring. [`Self::reload`] makes tools of it.
    pub fn set_plugins(&self, plugins: Vec<PluginWorkflows>) {
        self.0.places.set_plugins(plugins);
    }

    /// Looks at all folders anew, and makes the registry follow. Runs that are under way keep what they have. Blocks.
    pub fn reload(&self, registry: &Registry) {
        let mut all = Vec::new();
        let view = self.0.places.view(None);
        let judged = self.judge(registry, &view, view.list(), None);
        all.extend(judged.statuses);
        let shared = judged.source;
        let mut own = BTreeMap::new();
        for scope in self.0.places.projects() {
            let view = self.0.places.view(Some(&scope));
            let mut judged = self.judge(registry, &view, view.own(), Some(&scope));
            // One that the project has itself stands before what all have, even if it cannot run.
            let ids = judged.statuses.iter().map(|status| tool_id(&status.id));
            let ids: HashSet<String> = ids.collect();
            let others = shared.tools.iter();
            let others =
                others.filter(|offer| !ids.contains(offer.prepared.definition.id.as_str()));
            judged.source.tools.extend(others.cloned());
            all.extend(judged.statuses);
            own.insert(scope, judged.source);
        }
        let nodes = self.node_source();
        // What does not fit was left out before.
        registry.replace_all([(SOURCE.to_owned(), shared), (NODES.to_owned(), nodes)]);
        registry.scope(SOURCE, own);
        self.0.catalogue.store(Arc::new(all));
    }

    /// All that can be found by name, nearest first, with what is wrong with it: for people who look. Blocks.
    pub fn look(&self, project: Option<&Scope>) -> Vec<Seen> {
        self.0.places.view(project).list()
    }

    /// All workflow files as they were read last, and whether they are tools.
    pub fn list(&self) -> Arc<Vec<WorkflowStatus>> {
        self.0.catalogue.load_full()
    }

    /// What a tool is told of its parameters that names none itself: those of the workflow or node behind it.
    pub(crate) fn workflow_parameters(&self, reference: &str) -> Option<Json> {
        let workflow = self.0.places.view(None).find(reference).ok()?;
        Some(workflow.parameters_schema())
    }

    pub(crate) fn node_parameters(&self, full_type: &str) -> Option<Json> {
        let types = self.engine().nodes().types();
        types
            .get(full_type)
            .map(|kind| node_tool::parameters(&kind.definition))
    }

    /// Which of these can be tools. Of those with the same id, the first counts.
    fn judge(
        &self,
        registry: &Registry,
        view: &View,
        seen: Vec<Seen>,
        scope: Option<&Scope>,
    ) -> Judged {
        let types = self.engine().nodes().types();
        let source = Remembering {
            view,
            found: Mutex::default(),
        };
        let mut taken = HashSet::new();
        let mut judged = Judged::default();
        // Within a place an id comes before the name of a file.
        let ids: HashSet<(String, String)> = seen.iter().filter_map(Seen::by_id).collect();
        for seen in seen {
            let mut status = about(&seen);
            status.user = scope.map(|scope| scope.user.clone());
            let by_stem = (seen.place.source(), status.id.clone());
            let is_second = seen.by_id().is_none() && ids.contains(&by_stem);
            if is_second || !taken.insert(status.id.clone()) {
                status.problems.add(hidden_by_another(&status.id));
                judged.statuses.push(status);
                continue;
            }
            match self.offer(&seen, &status, &source, &types) {
                Ok(offer) => {
                    status.tool = Some(offer.prepared.definition.id.to_string());
                    judged.source.tools.push(offer);
                }
                Err(problems) => status.problems.extend(problems),
            }
            judged.statuses.push(status);
        }
        judged.leave_out_taken(registry);
        judged
    }

    fn offer(
        &self,
        seen: &Seen,
        status: &WorkflowStatus,
        source: &Remembering<'_>,
        types: &NodeTypes,
    ) -> Result<Offer, Problems> {
        let alone = |problem: Problem| {
            let mut problems = Problems::default();
            problems.add(problem);
            problems
        };
        let workflow = match &seen.workflow {
            Some(workflow) if !seen.problems.has_errors() => workflow,
            // The reading has said why.
            _ => return Err(Problems::default()),
        };
        let prepared = Plan::prepare(workflow, types, source);
        if prepared.plan.is_none() {
            return Err(prepared.problems);
        }
        let definition = definition(workflow, status, &seen.place);
        let prepared = Prepared::new(definition).map_err(|error| alone(refused(&error)))?;
        let executor = WorkflowExecutor {
            workflows: self.clone(),
            workflow: status.id.clone(),
            place: Some(seen.place.clone()),
        };
        Ok(Offer::new(prepared, Arc::new(executor)))
    }

    fn node_source(&self) -> Source {
        let types = self.engine().nodes().types();
        let callable = types.iter().filter(|kind| node_tool::is_callable(kind));
        let hidden = callable.map(|kind| {
            let (workflows, kind) = (self.clone(), kind.clone());
            let full_type = kind.full_type().to_owned();
            Hidden::new(full_type, move || {
                let prepared = Prepared::new(node_tool::definition(&kind.definition))?;
                let executor = NodeExecutor {
                    workflows: workflows.clone(),
                    full_type: kind.full_type().to_owned(),
                };
                Ok((prepared, Arc::new(executor) as Arc<dyn Executor>))
            })
        });
        Source {
            hidden: hidden.collect(),
            ..Source::default()
        }
    }
}

/// What came of looking at some workflows.
#[derive(Default)]
struct Judged {
    source: Source,
    statuses: Vec<WorkflowStatus>,
}

impl Judged {
    /// Few are: an id that a plugin's tool has already.
    fn leave_out_taken(&mut self, registry: &Registry) {
        while let Err(error) = registry.check(SOURCE, &self.source) {
            let Some(tool) = error.tool().map(ToString::to_string) else {
                break;
            };
            let tools = &mut self.source.tools;
            let before = tools.len();
            tools.retain(|offer| *offer.prepared.definition.id.as_str() != *tool);
            if tools.len() == before {
                break;
            }
            for status in &mut self.statuses {
                if status.tool.as_deref() == Some(&tool) {
                    status.tool = None;
                    status.problems.add(refused(&error));
                }
            }
        }
    }
}

/// Looks for each name once.
struct Remembering<'v> {
    view: &'v View,
    found: Mutex<HashMap<String, Result<Arc<Workflow>, FindError>>>,
}

impl WorkflowSource for Remembering<'_> {
    fn find(&self, reference: &str) -> Result<Arc<Workflow>, FindError> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let known = found.entry(reference.to_owned());
        known.or_insert_with(|| self.view.find(reference)).clone()
    }
}

fn tool_id(id: &str) -> String {
    format!("{PREFIX}{id}")
}

fn hidden_by_another(id: &str) -> Problem {
    let message = format!(
        "another workflow that comes first has the id '{id}' too; give one of them another"
    );
    Problem::warning("workflow.hidden_by_another", message)
}

fn refused(error: &RegisterError) -> Problem {
    Problem::error(error.code(), error.to_string())
}

fn about(seen: &Seen) -> WorkflowStatus {
    let workflow = seen.workflow.as_ref();
    let id = seen.by_id().map(|(_, id)| id);
    WorkflowStatus {
        place: seen.place.clone(),
        user: None,
        path: seen.path.clone(),
        id: id.unwrap_or_else(|| seen.stem.clone()),
        name: workflow.map_or_else(|| seen.stem.clone(), |workflow| workflow.name.clone()),
        description: workflow.and_then(|workflow| workflow.description.clone()),
        tool: None,
        problems: seen.problems.clone(),
    }
}

fn definition(workflow: &Workflow, status: &WorkflowStatus, place: &Place) -> ToolDefinition {
    let about = workflow.description.as_deref().unwrap_or_default().trim();
    let about = match about.is_empty() {
        true => workflow.name.as_str(),
        false => about,
    };
    ToolDefinition {
        display_name: workflow.name.clone(),
        output: Some(or_nothing(workflow.result_schema())),
        tags: vec!["workflow".to_owned()],
        source: place.source(),
        execution: execution(),
        ..ToolDefinition::new(tool_id(&status.id), about, workflow.parameters_schema())
    }
}

/// An output on a branch that was not taken gives nothing.
fn or_nothing(schema: Json) -> Json {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

impl WorkflowStatus {
    /// Why it is no tool; nothing if it is one.
    pub fn why_not(&self) -> Option<String> {
        match self.tool {
            Some(_) => None,
            None if self.problems.has_errors() => Some(one_line(&self.problems)),
            None => self.problems.list.first().map(ToString::to_string),
        }
    }
}
