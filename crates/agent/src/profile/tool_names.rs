//! What a check needs to know of the tools that there are.

use innkeeper_protocol::ToolDefinition;
use innkeeper_tools::Snapshot;
use innkeeper_tools::registry::Lookup;

/// Tools by any name that means them.
pub trait ToolNames {
    fn find(&self, name: &str) -> Option<&ToolDefinition>;

    /// The id of the tool that was probably meant.
    fn nearest(&self, name: &str) -> Option<String>;
}

impl ToolNames for Snapshot {
    fn find(&self, name: &str) -> Option<&ToolDefinition> {
        match Snapshot::find(self, name) {
            Lookup::Found(tool) => Some(tool.definition().as_ref()),
            Lookup::Unknown { .. } => None,
        }
    }

    fn nearest(&self, name: &str) -> Option<String> {
        let near = Snapshot::nearest(self, name, &innkeeper_tools::Reach::everything());
        near.into_iter().next()
    }
}

impl ToolNames for &[ToolDefinition] {
    fn find(&self, name: &str) -> Option<&ToolDefinition> {
        self.iter()
            .find(|tool| tool.id.as_str() == name)
            .or_else(|| {
                let has = |tool: &&ToolDefinition| {
                    tool.aliases.iter().any(|alias| alias.as_str() == name)
                };
                self.iter().find(has)
            })
    }

    fn nearest(&self, name: &str) -> Option<String> {
        let ids = self.iter().map(|tool| tool.id.as_str());
        super::problem::nearest(name, ids).map(str::to_owned)
    }
}

/// The tools of the tavern's own families, whether or not this house has them at the moment.
pub(super) const HOUSE_TOOLS: [&str; 21] = [
    "agent.await",
    "agent.delegate",
    "agent.handoff",
    "agent.list",
    "chat.read_messages",
    "chat.search",
    "dice.roll",
    "skill.list",
    "skill.read",
    "skill.search",
    "task.return",
    "workspace.apply_patch",
    "workspace.commit",
    "workspace.delete_file",
    "workspace.finish",
    "workspace.list_files",
    "workspace.read_file",
    "workspace.search_files",
    "workspace.shell",
    "workspace.write_file",
    "worldinfo.read_activated",
];

/// Of a family that only the house has: a name nobody knows can only be a slip of the pen there.
pub(super) fn is_of_the_house(name: &str) -> bool {
    const FAMILIES: [&str; 5] = ["agent.", "chat.", "skill.", "workspace.", "worldinfo."];
    FAMILIES.iter().any(|family| name.starts_with(family))
}
