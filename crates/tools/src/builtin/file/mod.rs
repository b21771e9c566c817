//! The `File.*` tools: what a model can do with files, one file each. They only translate; what is possible is
//! `file/`'s business, what is allowed is `policy/`'s.

mod append;
mod apply_edit;
mod copy;
mod delete;
mod list;
mod move_to;
pub(crate) mod read;
mod search;
mod stat;
mod write;

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, ToolDefinition, ToolExample};
use serde_json::{Value as Json, json};

use crate::file::{FileLayer, FileUri, Stat};
use crate::{Executor, Invocation, ToolError};

/// All of them, ready to be registered.
pub fn tools(files: &FileLayer) -> Vec<(ToolDefinition, Arc<dyn Executor>)> {
    fn tool(
        definition: ToolDefinition,
        executor: impl Executor + 'static,
    ) -> (ToolDefinition, Arc<dyn Executor>) {
        (definition, Arc::new(Cancellable(executor)))
    }
    vec![
        tool(read::definition(), read::Read(files.clone())),
        tool(write::definition(), write::Write(files.clone())),
        tool(append::definition(), append::Append(files.clone())),
        tool(
            apply_edit::definition(),
            apply_edit::ApplyEdit(files.clone()),
        ),
        tool(list::definition(), list::List(files.clone())),
        tool(search::definition(), search::Search(files.clone())),
        tool(delete::definition(), delete::Delete(files.clone())),
        tool(move_to::definition(), move_to::Move(files.clone())),
        tool(copy::definition(), copy::Copy(files.clone())),
        tool(stat::definition(), stat::Info(files.clone())),
    ]
}

/// Drops the work when the call is cancelled, which stops what runs behind it.
struct Cancellable<E>(E);

#[async_trait]
impl<E: Executor> Executor for Cancellable<E> {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let cancel = call.context.cancel.clone();
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ToolError::new(
                ErrorCode::ToolCancelled,
                "the call was cancelled",
            )),
            result = self.0.execute(call) => result,
        }
    }
}

const READS: &str = "file:read";
const WRITES: &str = "file:write";

/// What all of them have in common. The first of `examples` is the plainest.
fn define(
    id: &str,
    aliases: &[&str],
    description: &str,
    parameters: Json,
    examples: &[(&str, Json)],
) -> ToolDefinition {
    let mut tool = ToolDefinition::new(id, description, parameters);
    tool.aliases = aliases.iter().map(|alias| (*alias).into()).collect();
    tool.source = "builtin".to_owned();
    tool.tags = vec!["file".to_owned()];
    tool.examples = examples
        .iter()
        .map(|(situation, arguments)| ToolExample {
            situation: (*situation).to_owned(),
            arguments: arguments.as_object().cloned().unwrap_or_default(),
        })
        .collect();
    tool
}

/// Changes nothing, and may run beside others.
fn reading(mut tool: ToolDefinition) -> ToolDefinition {
    tool.permissions = vec![READS.to_owned()];
    tool.execution.idempotent = true;
    tool.execution.parallel = true;
    tool
}

fn writing(mut tool: ToolDefinition) -> ToolDefinition {
    tool.permissions = vec![WRITES.to_owned()];
    tool
}

fn path_schema(description: &str) -> Json {
    let text = format!(
        "{description} A path in the project like reports/today.md, or user://..., shared://..., fam://<project>/..."
    );
    json!({ "type": "string", "minLength": 1, "x-path": true, "description": text })
}

/// The file or folder that the call names.
fn target(files: &FileLayer, call: &Invocation, name: &str) -> Result<FileUri, ToolError> {
    Ok(files.resolve(&call.context.caller, text(call, name))?)
}

fn text<'a>(call: &'a Invocation, name: &str) -> &'a str {
    call.arguments
        .get(name)
        .and_then(Json::as_str)
        .unwrap_or_default()
}

fn number(call: &Invocation, name: &str) -> Option<u64> {
    let value = call.arguments.get(name)?;
    // A schema's `integer` allows 3.0 too.
    value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        (float.fract() == 0.0 && (0.0..=9e15).contains(&float)).then_some(float as u64)
    })
}

fn flag(call: &Invocation, name: &str) -> bool {
    call.arguments.get(name).and_then(Json::as_bool) == Some(true)
}

fn described(stat: &Stat) -> Json {
    let mut described = json!({ "path": stat.uri, "kind": stat.kind, "size": stat.size });
    if let (Some(modified), Some(fields)) = (stat.modified, described.as_object_mut()) {
        fields.insert("modified".to_owned(), json!(modified));
    }
    described
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
