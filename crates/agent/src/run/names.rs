//! Where the parts of a run are found: the paths that events name.

use innkeeper_protocol::event::{CallId, CheckpointId, InvocationId};
use sha2::{Digest, Sha256};

/// The first 64 bits of the id's sha256: what the files of a call are named after, and so what must be unique in a run.
pub(super) fn call_key(call: &str) -> u64 {
    let digest = Sha256::digest(call.as_bytes());
    let mut first = [0; 8];
    for (to, from) in first.iter_mut().zip(digest.iter()) {
        *to = *from;
    }
    u64::from_be_bytes(first)
}

fn call_file(folder: &str, call: &CallId) -> String {
    format!("{folder}/call_{:016x}.json", call_key(call.as_str()))
}

pub fn arguments_path(call: &CallId) -> String {
    call_file("tool-args", call)
}

pub fn result_path(call: &CallId) -> String {
    call_file("tool-results", call)
}

pub fn response_path(round: u32) -> String {
    format!("model-responses/round-{round:03}.json")
}

/// The same of another agent than the first.
pub fn response_path_of(invocation: &InvocationId, round: u32) -> String {
    match *invocation == InvocationId::root() {
        true => response_path(round),
        false => format!("model-responses/{invocation}/round-{round:03}.json"),
    }
}

/// What an agent has returned to the one that it worked for.
pub fn result_file(invocation: &InvocationId) -> String {
    format!("agent-results/{invocation}.json")
}

pub fn checkpoint_id(number: u64) -> CheckpointId {
    CheckpointId::new(format!("cp_{number:06}"))
}

/// Where a plain answer is kept: beside the file that becomes the message. From 1 on, for where a name is taken.
pub(super) fn capture_path(message_body: Option<&str>, number: usize) -> String {
    let root = message_body
        .and_then(|path| path.split_once('/'))
        .map_or("output", |(root, _)| root);
    match number {
        1 => format!("{root}/direct_output.md"),
        number => format!("{root}/direct_output_{number}.md"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_names_that_they_always_had() {
        for (call, stem) in [
            ("call_1", "call_74196fe72e4cdc13"),
            ("toolu_01ABC", "call_7661011023ab0fab"),
            ("call/../evil", "call_1acf8b1736b57c63"),
        ] {
            let call = CallId::from(call);
            assert_eq!(arguments_path(&call), format!("tool-args/{stem}.json"));
            assert_eq!(result_path(&call), format!("tool-results/{stem}.json"));
        }
        for (round, path) in [
            (1, "model-responses/round-001.json"),
            (80, "model-responses/round-080.json"),
            (1_234, "model-responses/round-1234.json"),
        ] {
            assert_eq!(response_path(round), path);
        }
        assert_eq!(checkpoint_id(1).as_str(), "cp_000001");
    }

    #[test]
    fn an_answer_is_kept_in_the_root_of_the_message() {
        for (body, path) in [
            (Some("output/main.md"), "output/direct_output.md"),
            (Some("summaries/a/b.md"), "summaries/direct_output.md"),
            (None, "output/direct_output.md"),
        ] {
            assert_eq!(capture_path(body, 1), path);
        }
        assert_eq!(capture_path(None, 2), "output/direct_output_2.md");
    }
}
