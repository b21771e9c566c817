//! AvailableTools: which tools an agent has, and what its model is told of them.

use std::sync::Arc;

use innkeeper_protocol::{Locale, Pattern, Protocol, Provider, ToolDefinition};
use serde_json::Value as Json;

use super::toolbox;
use crate::NodeError;
use crate::node::{Io, NodeBuilder, NodeType, Slot, array, text};

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "AvailableTools",
        "Agent",
        "Available tools",
        "The tools that an agent may use: those of the run, chosen by name. A star stands for any part of a name",
    );
    node.alias("core:AvailableToolsNode");
    fn allow() -> Slot<Vec<crate::Value>> {
        array("allow")
            .title("Allow")
            .about("Names like File.*; all if there are none")
    }
    fn deny() -> Slot<Vec<crate::Value>> {
        array("deny")
            .title("Deny")
            .about("Names that are left out, whatever is allowed")
    }
    fn dialect() -> Slot<String> {
        let about = "tam and action: the prompt teaches how to call. native: the provider does";
        text("dialect")
            .title("Dialect")
            .about(about)
            .category("ComboOption")
    }
    fn locale() -> Slot<String> {
        text("locale")
            .title("Language of the prompt")
            .about("en or zh")
            .category("ComboOption")
    }
    let inputs = (
        node.input(allow().optional()),
        node.input(deny().optional()),
        node.input(dialect().optional()),
        node.input(locale().optional()),
    );
    node.setting(allow());
    node.setting(deny());
    node.setting(
        dialect()
            .choice(&["tam", "action", "native"])
            .default("tam"),
    );
    node.setting(locale().choice(&["en", "zh"]).default("en"));
    let tools = node.output(
        array("tools")
            .title("Tools")
            .about("Each as {name, description, parameters}"),
    );
    let native = node.output(
        array("native_tools")
            .title("Native tools")
            .about("The same for the request itself, if the dialect is native; else none"),
    );
    let manifest =
        node.output(text("manifest").title("Manifest").about(
            "For the prompt: the tools, and how to call them; empty if the dialect is native",
        ));
    let missing = node.output(
        array("missing")
            .title("Missing")
            .about("Names that are allowed and that no tool has"),
    );
    node.effects();
    node.task(move |mut io| async move {
        let allow = patterns(&mut io, "allow", inputs.0)?;
        let deny = patterns(&mut io, "deny", inputs.1)?;
        let dialect = io.get(inputs.2)?.filter(|dialect| !dialect.is_empty());
        let dialect = dialect.unwrap_or_else(|| io.config_text("dialect").to_owned());
        let locale = io.get(inputs.3)?.filter(|locale| !locale.is_empty());
        let locale = locale.unwrap_or_else(|| io.config_text("locale").to_owned());
        let protocol = protocol(&dialect)?;
        let locale = match locale.as_str() {
            "en" => Locale::En,
            "zh" => Locale::Zh,
            other => {
                let message = format!("the language '{other}' is neither en nor zh");
                return Err(NodeError::invalid("tools.locale", message));
            }
        };
        let port = io.context().tools()?.clone();
        let all = port.list();
        let chosen: Vec<Arc<ToolDefinition>> = all
            .iter()
            .filter(|tool| is_chosen(tool, &allow, &deny))
            .cloned()
            .collect();
        let absent = allow
            .iter()
            .filter(|pattern| pattern.is_exact() && !all.iter().any(|tool| names(tool, pattern)));
        let absent: Vec<Json> = absent.map(|pattern| pattern.as_str().into()).collect();
        io.set(missing, absent);
        let list: Vec<Json> = chosen.iter().map(|tool| toolbox::to_json(tool)).collect();
        match protocol {
            Protocol::Native(_) => {
                io.set(native, list.clone());
                io.set(manifest, "");
            }
            _ => {
                io.set(native, Vec::<Json>::new());
                io.set(manifest, port.manifest(&chosen, protocol, locale));
            }
        }
        io.set(tools, list);
        io.done()
    })
}

type List = crate::node::In<Option<Vec<crate::Value>>>;

/// What the input says, else what the setting says: a list, or a text with commas.
fn patterns(io: &mut Io, key: &str, slot: List) -> Result<Vec<Pattern>, NodeError> {
    let given = io
        .get(slot)?
        .map(|list| crate::Value::from(list).into_json());
    let set = given.unwrap_or_else(|| io.config(key).clone());
    let list = match &set {
        Json::Null => Some(Vec::new()),
        Json::String(text) => Some(text.split(',').map(str::trim).map(str::to_owned).collect()),
        Json::Array(list) => {
            let names = list
                .iter()
                .map(|one| one.as_str().map(str::trim).map(str::to_owned));
            names.collect::<Option<Vec<_>>>()
        }
        _ => None,
    };
    let list = list.ok_or_else(|| {
        let message = format!("'{key}' has to be a list of names of tools, or a text with commas");
        NodeError::invalid("tools.patterns", message)
    })?;
    let list = list.into_iter().filter(|name| !name.is_empty());
    Ok(list.map(Pattern::new).collect())
}

fn names(tool: &ToolDefinition, pattern: &Pattern) -> bool {
    pattern.matches(tool.id.as_str())
        || tool
            .aliases
            .iter()
            .any(|alias| pattern.matches(alias.as_str()))
}

fn is_chosen(tool: &ToolDefinition, allow: &[Pattern], deny: &[Pattern]) -> bool {
    let is_denied = deny.iter().any(|pattern| {
        // A near miss must not slip through.
        pattern.matches_loosely(tool.id.as_str())
            || tool
                .aliases
                .iter()
                .any(|alias| pattern.matches_loosely(alias.as_str()))
    });
    !is_denied && (allow.is_empty() || allow.iter().any(|pattern| names(tool, pattern)))
}

fn protocol(dialect: &str) -> Result<Protocol, NodeError> {
    match dialect {
        "tam" => Ok(Protocol::Tam),
        "action" => Ok(Protocol::Action),
        "native" => Ok(Protocol::Native(Provider::OpenAi)),
        other => {
            let message = format!("the dialect '{other}' is none of tam, action and native");
            Err(NodeError::invalid("tools.dialect", message))
        }
    }
}
