//! The chunk that most of a stream consists of: one choice whose delta has words or thoughts.

use serde::Deserialize;

use super::super::quick::{Object, Text, read};

/// What the long way looks at is read here or must be nothing; the rest is what it never looks at.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "some fields are listed so that they may be there")]
struct Chunk<'a> {
    #[serde(borrow, default)]
    id: Option<&'a str>,
    #[serde(default)]
    object: &'a str,
    #[serde(default)]
    created: u64,
    #[serde(borrow, default)]
    model: Option<&'a str>,
    #[serde(borrow, default)]
    provider: Option<&'a str>,
    #[serde(borrow, default)]
    system_fingerprint: Option<&'a str>,
    #[serde(borrow, default)]
    service_tier: Option<&'a str>,
    #[serde(borrow, default)]
    obfuscation: Option<&'a str>,
    choices: [Object<Choice<'a>>; 1],
    #[serde(default)]
    usage: (),
    #[serde(default)]
    error: (),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "some fields are listed so that they may be there")]
struct Choice<'a> {
    #[serde(default)]
    index: u64,
    #[serde(borrow)]
    delta: Object<Delta<'a>>,
    #[serde(default)]
    logprobs: (),
    #[serde(default)]
    finish_reason: (),
    #[serde(default)]
    native_finish_reason: (),
    #[serde(default)]
    stop_reason: (),
    #[serde(default)]
    token_ids: (),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "some fields are listed so that they may be there")]
struct Delta<'a> {
    #[serde(borrow, default)]
    role: Option<&'a str>,
    #[serde(borrow, default)]
    content: Text<'a>,
    #[serde(borrow, default)]
    reasoning_content: Text<'a>,
    #[serde(borrow, default)]
    reasoning: Text<'a>,
    #[serde(default)]
    refusal: (),
    #[serde(default)]
    tool_calls: (),
    #[serde(default)]
    function_call: (),
    #[serde(default)]
    reasoning_details: (),
}

/// What a delta says; each may be empty.
pub(super) struct Words<'a> {
    pub(super) thought: Text<'a>,
    pub(super) content: Text<'a>,
}

pub(super) fn words(data: &str) -> Option<Words<'_>> {
    let chunk: Chunk<'_> = read(data)?;
    let [Object(choice)] = chunk.choices;
    if chunk.object == "error" || choice.index != 0 {
        return None;
    }
    let Object(delta) = choice.delta;
    let thought = match delta.reasoning_content.0.is_empty() {
        true => delta.reasoning,
        false => delta.reasoning_content,
    };
    Some(Words {
        thought,
        content: delta.content,
    })
}
