use std::time::Duration;

use innkeeper_protocol::parse;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use tokio::time::Instant;

use super::*;
use crate::{FinishReason, Message, ModelError, ModelErrorKind, ModelEvent, ModelReply};

pub(super) fn rehearsal(script: &str) -> Rehearsal {
    Rehearsal::new(Script::read(script).unwrap_or_else(|error| panic!("{error}")))
}

pub(super) async fn ask(model: &Rehearsal, messages: &[Message]) -> Result<ModelReply, ModelError> {
    let request = ModelRequest::new("rehearsal", messages.to_vec());
    model
        .stream(request, CancellationToken::new())
        .collect()
        .await
}

pub(super) async fn said(model: &Rehearsal, messages: &[Message]) -> String {
    ask(model, messages).await.unwrap().text()
}

async fn events(model: &Rehearsal, messages: &[Message]) -> Vec<ModelEvent> {
    let request = ModelRequest::new("", messages.to_vec());
    let mut stream = model.stream(request, CancellationToken::new());
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event.unwrap());
    }
    events
}

const MATCHING: &str = r"
scenes:
  - {when: {turn: 3, contains: anything}, reply: third turn}
  - {when: {turn: {from: 4, to: 5}}, reply: fourth or fifth}
  - {when: {system: pirate, contains: hello}, reply: ahoy}
  - {when: {system: {matches: 'level (\d+)'}, equals: level}, reply: there is a level}
  - {when: {equals: ' Good Day '}, reply: equal}
  - {when: {contains: [TEA, coffee]}, reply: a drink}
  - {when: {matches: 'my name is (?<name>\w+)'}, reply: 'hello {{name}}'}
  - {when: {role: tool, contains: secret}, reply: 'seen: {{message}}'}
  - {when: {role: observation}, reply: an observation}
  - {when: {role: assistant}, reply: going on}
  - {when: {role: any, contains: wherever}, reply: found}
";

#[tokio::test]
async fn scenes_are_chosen_by_what_was_sent() {
    let model = rehearsal(MATCHING);
    let user = Message::user;
    let talk = |turns: usize| {
        let before = (0..turns).flat_map(|_| [user("a"), Message::assistant("b")]);
        before.chain([user("anything")]).collect::<Vec<_>>()
    };
    let table: Vec<(Vec<Message>, &str)> = vec![
        (vec![user("  good day")], "equal"),
        (vec![user("a cup of tea?")], "a drink"),
        (vec![user("COFFEE")], "a drink"),
        (vec![user("my name is Mia")], "hello Mia"),
        (
            vec![Message::system("You are a Pirate"), user("Hello")],
            "ahoy",
        ),
        (vec![user("Hello"), Message::system("a pirate")], "ahoy"),
        (vec![user("hello")], "This is a rehearsal"),
        (
            vec![Message::system("Level 5"), user("level")],
            "This is a rehearsal",
        ),
        (
            vec![Message::system("level 5"), user("level")],
            "there is a level",
        ),
        (talk(1), "This is a rehearsal"),
        (talk(2), "third turn"),
        (talk(3), "fourth or fifth"),
        (talk(4), "fourth or fifth"),
        (talk(5), "This is a rehearsal"),
        (
            vec![user("x"), Message::tool_result("c", "tea")],
            "an observation",
        ),
        (
            vec![
                Message::tool_result("c", "secret 1"),
                Message::tool_result("d", "2"),
            ],
            "seen: secret 1\n2",
        ),
        (
            vec![user(
                "Observation: Tool x executed successfully. Result: tea",
            )],
            "an observation",
        ),
        (vec![user("tea\nObservation: Error - no")], "an observation"),
        (vec![user("my Observation: tea")], "a drink"),
        (vec![user("tea"), Message::assistant("so")], "going on"),
        (vec![user("wherever")], "found"),
    ];
    for (messages, wanted) in table {
        let text = said(&model, &messages).await;
        assert!(text.starts_with(wanted), "{messages:?}: {text}");
    }
}

#[tokio::test]
async fn times_are_counted_in_the_conversation_itself() {
    let model = rehearsal(
        "scenes:\n\
         - {when: {contains: knock, times: 2}, reply: who is there}\n\
         - {when: {contains: knock, times: 1}, reply: again}\n\
         - {when: {contains: knock}, reply: enough}\n\
         - {when: {contains: other}, reply: other}",
    );
    let mut talk = Vec::new();
    let mut answers = Vec::new();
    for line in ["knock", "other", "knock", "knock", "knock"] {
        talk.push(Message::user(line));
        let first = said(&model, &talk).await;
        // Asking twice is not playing twice.
        assert_eq!(said(&model, &talk).await, first);
        talk.push(Message::assistant(&first));
        answers.push(first);
    }
    assert_eq!(
        answers,
        ["who is there", "other", "who is there", "again", "enough"]
    );
    // Forgotten turns do not count.
    let rest = talk.split_off(4);
    assert_eq!(said(&model, &rest[..1]).await, "who is there");
}

#[tokio::test]
async fn a_reply_comes_in_the_pieces_that_the_script_says() {
    let texts = |events: Vec<ModelEvent>| {
        let pieces = events.into_iter().filter_map(|event| match event {
            ModelEvent::Text(text) => Some(text),
            ModelEvent::ToolCall {
                arguments_delta, ..
            } => Some(arguments_delta),
            _ => None,
        });
        pieces.collect::<Vec<_>>()
    };
    let user = [Message::user("x")];
    let table: [(&str, &[&str]); 4] = [
        ("{text: abcde, chunk: 2}", &["ab", "cd", "e"]),
        ("{text: '界界界', chunk: 2}", &["界界", "界"]),
        ("{deltas: [a, 'bc ', '{{message}}']}", &["a", "bc ", "x"]),
        (
            "{tool_calls: [{name: t, arguments: {a: '{{message}}'}}], chunk: 4}",
            &["", "{\"a\"", ":\"x\"", "}"],
        ),
    ];
    for (reply, wanted) in table {
        let model = rehearsal(&format!("scenes: [{{reply: {reply}}}]"));
        assert_eq!(texts(events(&model, &user).await), wanted, "{reply}");
    }
}

#[tokio::test]
async fn the_size_of_the_pieces_does_not_change_the_reply() {
    let with = |chunk: usize| {
        rehearsal(&format!(
            "scenes: [{{reply: {{text: '一二三 four', reasoning: hm hm, chunk: {chunk}, \
             tool_calls: [{{name: a, arguments: {{x: '五六'}}}}, {{name: b}}]}}}}]"
        ))
    };
    let user = [Message::user("x")];
    let whole = ask(&with(1000), &user).await.unwrap();
    for chunk in 1..20 {
        assert_eq!(ask(&with(chunk), &user).await.unwrap(), whole, "{chunk}");
    }
}

#[tokio::test]
async fn everything_of_a_reply_arrives() {
    let model = rehearsal(
        r"
scenes:
  - when: {matches: 'roll (\w+) (\w+)'}
    reply:
      reasoning: I think of {{1}}
      text: Rolling.
      tool_calls:
        - {name: dice_roll, arguments: {formula: '{{1}}', deep: [1, {a: '{{2}}', b: null, c: true}]}}
        - {id: mine, name: clock}
      usage: {prompt_tokens: 5, completion_tokens: 6}
      finish_reason: max_tokens
",
    );
    let messages = [
        Message::user("a"),
        Message::assistant("b"),
        Message::user("roll d6 now"),
    ];
    let reply = ask(&model, &messages).await.unwrap();
    assert_eq!(reply.model, "rehearsal");
    assert_eq!(reply.reasoning(), "I think of d6");
    assert_eq!(reply.text(), "Rolling.");
    assert_eq!(reply.usage.unwrap().total_tokens(), Some(11));
    assert_eq!(reply.finish_reason, FinishReason::Length);
    let calls: Vec<_> = reply.tool_calls().collect();
    assert_eq!(
        (calls[0].id.as_str(), calls[0].name.as_str()),
        ("call_2_1", "dice_roll")
    );
    assert_eq!(
        calls[0].arguments_object().map(Json::Object),
        Some(json!({"formula": "d6", "deep": [1, {"a": "now", "b": null, "c": true}]}))
    );
    assert_eq!(
        (calls[1].id.as_str(), calls[1].arguments.as_str()),
        ("mine", "{}")
    );

    let model = rehearsal("scenes: [{reply: {tool_calls: [{name: t}]}}]");
    let reply = ask(&model, &messages).await.unwrap();
    assert_eq!(reply.finish_reason, FinishReason::ToolCalls);
    assert_eq!(reply.usage, None);
}

#[tokio::test]
async fn faults_strike_where_the_script_says() {
    // kind, the error's, may be tried again at once, after a piece
    let table = [
        (
            "rate_limited",
            ModelErrorKind::RateLimited,
            "model.provider_rate_limited",
            true,
        ),
        (
            "server_error",
            ModelErrorKind::ServerError,
            "model.request_failed",
            true,
        ),
        (
            "timeout",
            ModelErrorKind::Timeout,
            "model.request_failed",
            true,
        ),
        (
            "broken_stream",
            ModelErrorKind::BrokenStream,
            "model.request_failed",
            true,
        ),
        (
            "refused",
            ModelErrorKind::Refused,
            "model.request_failed",
            false,
        ),
    ];
    let user = [Message::user("x")];
    for (word, kind, code, retryable) in table {
        for (after, arrived) in [(0, None), (2, Some("abcd")), (9, Some("abcdef"))] {
            let model = rehearsal(&format!(
                "scenes: [{{reply: {{text: abcdef, chunk: 2, fault: \
                 {{kind: {word}, after_deltas: {after}, retry_after_ms: 1500}}}}}}]"
            ));
            let error = ask(&model, &user).await.unwrap_err();
            assert_eq!((error.kind, error.code().as_str()), (kind, code));
            assert_eq!(error.retry_after, Some(Duration::from_millis(1500)));
            assert_eq!(
                error.retryable(),
                retryable && arrived.is_none(),
                "{word} {after}"
            );
            let came = error.arrived.as_ref().map(|reply| reply.text());
            assert_eq!(came.as_deref(), arrived, "{word} {after}");
            assert!(error.message.starts_with("rehearsed failure: "), "{error}");
        }
        let model = rehearsal(&format!("scenes: [{{reply: {{fault: {word}}}}}]"));
        assert_eq!(ask(&model, &user).await.unwrap_err().kind, kind);
    }
}

#[tokio::test]
async fn a_fault_may_pass_when_tried_again() {
    let model =
        rehearsal("scenes: [{reply: {text: at last, fault: {kind: timeout, attempts: 2}}}]");
    for (attempt, passes) in [(1, false), (2, false), (3, true)] {
        let mut request = ModelRequest::new("", vec![Message::user("x")]);
        request.attempt = attempt;
        let reply = model
            .stream(request, CancellationToken::new())
            .collect()
            .await;
        assert_eq!(
            reply.map(|reply| reply.text()).ok(),
            passes.then(|| "at last".to_owned())
        );
    }
}

#[tokio::test(start_paused = true)]
async fn pauses_are_kept_before_and_between() {
    let model = rehearsal(
        "scenes:\n\
         - {when: {contains: one}, reply: {text: abc, chunk: 1, delay_ms: {first: 100, between: 10}}}\n\
         - {when: {contains: two}, reply: {text: abc, chunk: 1, delay_ms: 50}}\n\
         - {when: {contains: three}, reply: {fault: timeout, delay_ms: {first: 900}}}",
    );
    for (line, wanted) in [("one", 120), ("two", 150), ("three", 900)] {
        let start = Instant::now();
        let _ = ask(&model, &[Message::user(line)]).await;
        assert_eq!(start.elapsed(), Duration::from_millis(wanted), "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_pause_at_once() {
    let model = rehearsal("scenes: [{reply: {deltas: [a, b], delay_ms: {between: 60000}}}]");
    let cancel = CancellationToken::new();
    let mut stream = model.stream(
        ModelRequest::new("", vec![Message::user("x")]),
        cancel.clone(),
    );
    let start = Instant::now();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(5)).await;
        cancel.cancel();
    });
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event);
        assert!(events.len() < 4, "{events:?}");
    }
    let error = events.pop().unwrap().unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Cancelled);
    assert_eq!(error.arrived.unwrap().text(), "a");
    assert_eq!(start.elapsed(), Duration::from_millis(5));
}

#[tokio::test]
async fn the_fallback_says_what_it_is_in_the_language_that_was_spoken() {
    let model = Rehearsal::default();
    let english = said(
        &model,
        &[
            Message::system("s"),
            Message::user("why\n is the sky blue?"),
        ],
    )
    .await;
    for part in [
        "This is a rehearsal",
        "2 messages and 0 tools",
        "“why is the sky blue?”",
        "docs/models.md",
    ] {
        assert!(english.contains(part), "{english}");
    }
    let chinese = said(&model, &[Message::user("天空为什么是蓝色的？")]).await;
    for part in [
        "这是一次排练",
        "1 条消息和 0 个工具",
        "“天空为什么是蓝色的？”",
        "docs/models.md",
    ] {
        assert!(chinese.contains(part), "{chinese}");
    }
    let table = [
        (vec![], "nothing to answer"),
        (vec![Message::user("空はなぜ青い")], "This is a rehearsal"),
        (vec![Message::tool_result("c", "7")], "a tool's result: “7”"),
        (vec![Message::tool_result("c", "晴")], "工具结果：“晴”"),
        (vec![Message::user("x ".repeat(5000))], "…"),
        (
            vec![Message::user(
                "<|[REQUEST_TOOL]|>command:»»»a«««<|[END_TOOL]|>",
            )],
            "not repeated",
        ),
        (
            vec![Message::user("做 <ACTION><a></a></ACTION>")],
            "不再重复",
        ),
    ];
    for (messages, wanted) in table {
        let reply = ask(&model, &messages).await.unwrap();
        assert_eq!(reply.model, "rehearsal");
        let text = reply.text();
        assert!(text.contains(wanted) && text.len() < 2000, "{text}");
    }
}

proptest! {
    /// Whoever types a call gets it explained, not carried out.
    #[test]
    fn the_fallback_never_calls(pieces in prop::collection::vec(prop::sample::select(vec![
        "<|[REQUEST_TOOL]|>", "<|[END_TOOL]|>", "<ACTION>", "</ACTION>", "<tool_call name=\"x\">", "</tool_call>",
        "command:»»»x«««", "<a>1</a>", " ", "\n", "`", "```", "天", "word",
    ]), 0..12)) {
        let request = ModelRequest::new("", vec![Message::user(pieces.concat())]);
        let moment = pick::pick(&Script::default(), &request).moment;
        let text = fallback::fallback(&request, &moment);
        prop_assert_eq!(parse(&text).calls().count(), 0, "{}", text);
    }
}
