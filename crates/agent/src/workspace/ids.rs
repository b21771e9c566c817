//! Names that are made from other names, as existing data has them.

use innkeeper_protocol::event::WorkspaceId;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::limits::MAX_STABLE_CHAT_ID_BYTES;

/// The workspace of a chat. `kind`: `character` or `group`. Nothing for a stable id that is empty or too long.
pub fn workspace_id(kind: &str, stable_chat_id: &str) -> Option<WorkspaceId> {
    if stable_chat_id.is_empty() || stable_chat_id.len() > MAX_STABLE_CHAT_ID_BYTES {
        return None;
    }
    let named = json!({"kind": kind, "stableChatId": stable_chat_id});
    let id = format!("chat_{}", sixteen_digits(&named.to_string()));
    Some(WorkspaceId::new(id))
}

/// What the files of a call are named after; whatever its id is made of, it is fit for a path.
pub fn call_stem(call_id: &str) -> String {
    format!("call_{}", sixteen_digits(call_id))
}

fn sixteen_digits(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let first = digest.iter().take(8);
    first.map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspaces_have_the_names_that_they_always_had() {
        for (kind, chat, id) in [
            ("character", "abc", "chat_b30dd8f137c0e127"),
            ("group", "abc", "chat_84134139c4785d9f"),
            (
                "character",
                "7f1d2c3e-0000-4000-8000-000000000001",
                "chat_1d51618db83ca478",
            ),
            ("character", "稳定", "chat_c906a76434418e18"),
        ] {
            assert_eq!(workspace_id(kind, chat).unwrap().as_str(), id);
        }
        let most = "x".repeat(MAX_STABLE_CHAT_ID_BYTES);
        assert!(workspace_id("group", &most).is_some());
        assert!(workspace_id("group", &format!("{most}x")).is_none());
        assert!(workspace_id("group", "").is_none());
    }

    #[test]
    fn files_of_a_call_have_the_names_that_they_always_had() {
        for (call, stem) in [
            ("call_1", "call_74196fe72e4cdc13"),
            ("toolu_01ABC", "call_7661011023ab0fab"),
            ("call/../evil", "call_1acf8b1736b57c63"),
        ] {
            assert_eq!(call_stem(call), stem);
        }
    }
}
