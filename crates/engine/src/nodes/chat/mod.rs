//! ReadChatHistory and WriteChatHistory: conversations that outlive a run, as files of the project.

mod tree;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use serde_json::Value as Json;

use self::tree::{NewMessage, Tree};
use super::llm::ask::messages;
use super::world::file;
use crate::NodeError;
use crate::limits::MAX_CHAT_NAME_CHARS;
use crate::node::{
    In, NodeBuilder, NodeContext, NodeType, TaskIo, any, array, boolean, integer, object, text,
};

pub(super) fn all() -> Vec<NodeType> {
    vec![read(), write()]
}

/// The slots that say which chat is meant.
#[derive(Clone, Copy)]
struct Place {
    session: In<String>,
    project: In<String>,
}

impl Place {
    fn declare(node: &mut NodeBuilder) -> Self {
        Self {
            session: node.input(
                text("session")
                    .title("Session")
                    .about("Name of the conversation")
                    .required(),
            ),
            project: node.input(
                text("project")
                    .title("Project")
                    .about("The project it belongs to; the run's own if left out"),
            ),
        }
    }

    fn take(self, io: &mut TaskIo) -> Result<(String, String), NodeError> {
        let session = name(io.get(self.session)?, "session")?;
        let path = match io.get(self.project)? {
            project if project.is_empty() => format!("chats/{session}.json"),
            project => {
                let project = name(project, "project")?;
                format!("user://projects/{project}/chats/{session}.json")
            }
        };
        Ok((session, path))
    }
}

/// A name that is one part of a path and nothing else.
fn name(name: String, slot: &str) -> Result<String, NodeError> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    let is_good = !name.trim().is_empty()
        && name.trim() == name
        && !name.starts_with('.')
        && name.chars().all(is_plain)
        && name.chars().nth(MAX_CHAT_NAME_CHARS).is_none();
    match is_good {
        true => Ok(name),
        false => Err(NodeError::invalid(
            "chat.name",
            format!(
                "'{slot}' is no name for a chat: use letters, digits, '-', '_', '.' and blanks within it, at most {MAX_CHAT_NAME_CHARS}"
            ),
        )),
    }
}

/// `None` where there is no such file.
async fn load(context: &NodeContext, path: &str) -> Result<Option<Tree>, NodeError> {
    match file::read(context, path, 1, None).await {
        Ok(text) => Tree::read(&text.content, path).map(Some),
        Err(error) if error.code == file::NOT_FOUND => Ok(None),
        Err(error) => Err(error),
    }
}

fn read() -> NodeType {
    let mut node = NodeBuilder::core(
        "ReadChatHistory",
        "Chat",
        "Read chat history",
        "What was said in a conversation: the active branch, from the first message on. A conversation that does not exist is empty",
    );
    node.alias("core:ReadChatHistoryNode");
    let place = Place::declare(&mut node);
    let most = node.input(
        integer("max_messages")
            .title("Most messages")
            .about("The newest; 0 for all")
            .default(0)
            .range(0, i64::MAX),
    );
    let list = node.output(array("messages").title("Messages").category("ChatHistory"));
    let version = node.output(
        integer("version")
            .title("Version")
            .about("For WriteChatHistory's expected_version"),
    );
    let exists = node.output(boolean("exists").title("Exists"));
    let tree = node.output(
        object("tree")
            .title("Tree")
            .about("The whole history, with all branches"),
    );
    node.effects();
    node.task(move |mut io| async move {
        let (session, path) = place.take(&mut io)?;
        let most = usize::try_from(io.get(most)?).unwrap_or_default();
        let found = load(io.context(), &path).await?;
        io.set(exists, found.is_some());
        let found = found.unwrap_or_else(|| Tree::new(&session));
        let mut said = found.active()?;
        if most > 0 && said.len() > most {
            said.drain(..said.len() - most);
        }
        io.set(list, said);
        io.set(version, found.version());
        io.set(tree, found.to_json());
        io.done()
    })
}

fn write() -> NodeType {
    let mut node = NodeBuilder::core(
        "WriteChatHistory",
        "Chat",
        "Write chat history",
        "Adds messages to a conversation, below the active one; a conversation that does not exist is begun",
    );
    node.alias("core:WriteChatHistoryNode");
    let place = Place::declare(&mut node);
    let new = node.input(
        any("messages")
            .title("Messages")
            .about("A list of {role, content}, one message, or what the user says")
            .category("ChatHistory")
            .required(),
    );
    let expected = node.input(
        integer("expected_version")
            .title("Expected version")
            .about("If the conversation has another version by now, nothing is written")
            .optional(),
    );
    let version = node.output(integer("version").title("Version"));
    let list = node.output(
        array("messages")
            .title("Messages")
            .about("The active branch as it is now")
            .category("ChatHistory"),
    );
    let where_ = node.output(text("path").title("Path"));
    node.effects();
    node.task(move |mut io| async move {
        let (session, path) = place.take(&mut io)?;
        let said = messages(&io.get(new)?, "messages")?;
        let expected = io.get(expected)?;
        // Two runs that read, change and write the same file at once would lose one's messages.
        let turn = turn(&path);
        let _turn = turn.lock().await;
        let mut tree = load(io.context(), &path).await?.unwrap_or_else(|| Tree::new(&session));
        if let Some(expected) = expected
            && u64::try_from(expected).ok() != Some(tree.version())
        {
            let message = format!(
                "the conversation '{session}' has the version {} and not {expected}: somebody wrote to it; read it again",
                tree.version()
            );
            return Err(NodeError::invalid("chat.version_conflict", message));
        }
        let is_changed = !said.is_empty();
        if is_changed {
            tree.append(said.into_iter().map(new_message).collect())?;
        }
        // A history that is broken is left as it is.
        let active = tree.active()?;
        if is_changed {
            file::write(io.context(), &path, &tree.to_text(), "File.Write").await?;
        }
        io.set(version, tree.version());
        io.set(list, active);
        io.set(where_, path);
        io.done()
    })
}

fn new_message(message: Json) -> NewMessage {
    NewMessage {
        id: uuid::Uuid::now_v7().to_string(),
        message,
        created_at: format!("{:.3}", jiff::Timestamp::now()),
    }
}

type Turns = Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>;

/// One writer at a time for each file.
fn turn(path: &str) -> Arc<tokio::sync::Mutex<()>> {
    static TURNS: LazyLock<Turns> = LazyLock::new(Turns::default);
    let mut turns = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    turns.retain(|_, turn| turn.strong_count() > 0);
    if let Some(turn) = turns.get(path).and_then(Weak::upgrade) {
        return turn;
    }
    let turn = Arc::new(tokio::sync::Mutex::new(()));
    turns.insert(path.to_owned(), Arc::downgrade(&turn));
    turn
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
