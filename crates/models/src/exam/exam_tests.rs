use std::sync::Mutex;

use innkeeper_protocol::{Call, Step, ToolId, render_call};
use serde_json::json;

use super::*;
use crate::exam::{Expected, Wanted};
use crate::limits::MAX_EXAM_EXCERPT_CHARS;
use crate::{FinishReason, ModelError, ModelErrorKind, ModelEvent, ModelStream, Usage};

const NATIVE: Protocol = Protocol::Native(Provider::OpenAi);
const DIALECTS: [Protocol; 3] = [Protocol::Tam, Protocol::Action, NATIVE];

/// Answers each question with what a function makes of it.
struct Pupil<F> {
    dialect: Protocol,
    answer: F,
    heard: Mutex<Vec<ModelRequest>>,
}

/// What the pupil does about one task.
enum Answer {
    Right,
    /// This, and then words without end.
    Babbles(String),
    Says(String),
    Fails(ModelErrorKind),
    Hangs,
}

fn pupil<F: Fn(&str) -> Answer>(dialect: Protocol, answer: F) -> Pupil<F> {
    Pupil {
        dialect,
        answer,
        heard: Mutex::default(),
    }
}

impl<F: Fn(&str) -> Answer + Send + Sync> Model for Pupil<F> {
    fn id(&self) -> &str {
        "pupil"
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let question = request.messages.last().unwrap().text();
        let task = tasks()
            .into_iter()
            .find(|task| task.question == question)
            .unwrap();
        self.heard.lock().unwrap().push(request);
        let mut events = match (self.answer)(task.name) {
            Answer::Right => right(&task, self.dialect),
            Answer::Says(text) => vec![Ok(ModelEvent::Text(text))],
            Answer::Fails(kind) => vec![Err(ModelError::new(kind, "the provider is ill"))],
            Answer::Babbles(first) => {
                let words = std::iter::once(first)
                    .chain(std::iter::repeat_with(|| "word ".to_owned()))
                    .map(|word| Ok(ModelEvent::Text(word)));
                return ModelStream::new("pupil", cancel, futures_util::stream::iter(words));
            }
            Answer::Hangs => {
                return ModelStream::new("pupil", cancel, futures_util::stream::pending());
            }
        };
        events.push(Ok(ModelEvent::Usage(Usage {
            prompt_tokens: Some(10),
            completion_tokens: Some(2),
            ..Usage::default()
        })));
        events.push(Ok(ModelEvent::Finish(FinishReason::Stop)));
        ModelStream::new("pupil", cancel, futures_util::stream::iter(events))
    }
}

/// Arguments that are as wanted.
fn arguments(wanted: &[(&str, Wanted)]) -> Map<String, Json> {
    let mut out = json!({});
    for (pointer, wanted) in wanted {
        let value = match wanted {
            Wanted::Equal(value) => value.clone(),
            Wanted::Text(text) => json!(text.to_uppercase()),
            Wanted::Holds(pieces) => json!(pieces.join(" ")),
            Wanted::Among(items) => items.iter().rev().map(|item| json!(item)).collect(),
            Wanted::AbsentOr(_) => continue,
        };
        let mut at = &mut out;
        for name in pointer.split('/').skip(1) {
            at = &mut at[name];
        }
        *at = value;
    }
    out.as_object().unwrap().clone()
}

fn right(task: &Task, dialect: Protocol) -> Vec<Result<ModelEvent, ModelError>> {
    let Expected::Calls(calls) = &task.expected else {
        return vec![Ok(ModelEvent::Text("Hello!".into()))];
    };
    let aliases = Aliases::new(&task.tools, dialect);
    let given: Vec<(ToolId, Map<String, Json>)> = calls
        .iter()
        .map(|call| (ToolId::new(call.tool), arguments(&call.arguments)))
        .collect();
    if dialect == NATIVE {
        let native = given.iter().enumerate().map(|(at, (id, arguments))| {
            let arguments: Map<String, Json> = arguments
                .iter()
                .map(|(name, value)| (aliases.parameter_alias(id, name).to_owned(), value.clone()))
                .collect();
            Ok(ModelEvent::ToolCall {
                index: u32::try_from(at).unwrap(),
                id: Some(format!("c{at}")),
                name: Some(aliases.alias_of(id).to_owned()),
                arguments_delta: Json::Object(arguments).to_string(),
            })
        });
        return native.collect();
    }
    let steps = given.iter().map(|(id, arguments)| {
        let tool = task.tools.iter().find(|tool| tool.id == *id).unwrap();
        Step {
            schema: Some(&tool.parameters),
            ..Step::new(id, arguments)
        }
    });
    let call = Call {
        steps: steps.collect(),
        request_id: None,
    };
    let text = render_call(&call, dialect, &aliases).unwrap();
    vec![Ok(ModelEvent::Text(format!(
        "Well.\n{}",
        text.text().unwrap()
    )))]
}

fn valid(tool: &ToolDefinition, arguments: &Map<String, Json>) -> Result<(), String> {
    let validator = jsonschema::validator_for(&tool.parameters).unwrap();
    let arguments = Json::Object(arguments.clone());
    validator
        .validate(&arguments)
        .map_err(|error| error.to_string())
}

async fn sit(model: &dyn Model, dialect: Protocol, options: ExamOptions) -> ExamResult {
    let cancel = CancellationToken::new();
    let mut seen = 0;
    let result = take(
        model,
        ModelRequest::default(),
        dialect,
        options,
        &valid,
        &cancel,
        &mut |_| seen += 1,
    )
    .await;
    assert_eq!(seen, result.results.len());
    result
}

#[tokio::test]
async fn who_answers_as_asked_passes_in_every_dialect() {
    for dialect in DIALECTS {
        let model = pupil(dialect, |_| Answer::Right);
        let result = sit(&model, dialect, ExamOptions::default()).await;
        for attempt in &result.results {
            assert_eq!(attempt.problem, None, "{} {attempt:?}", dialect.as_str());
            assert!(attempt.marks.passed() && attempt.reply.is_none());
        }
        let count = tasks().len();
        assert!((10..=16).contains(&count));
        assert_eq!(result.score.right_arguments, count);
        assert_eq!(result.score.prompt_tokens, 10 * count as u64);
        let heard = model.heard.lock().unwrap();
        for request in heard.iter() {
            let native = dialect == NATIVE;
            assert_eq!(request.tools.is_empty(), !native);
            assert_eq!(request.messages.len(), if native { 1 } else { 2 });
        }
        let json = serde_json::to_value(&result).unwrap();
        assert_eq!(json["dialect"], dialect.as_str());
        assert_eq!(json["results"].as_array().unwrap().len(), count);
    }
}

#[tokio::test]
async fn whatever_the_grammar_allows_at_least_fits() {
    for dialect in [Protocol::Tam, Protocol::Action] {
        let model = pupil(dialect, |_| Answer::Right);
        let options = ExamOptions {
            grammar: true,
            ..ExamOptions::default()
        };
        assert!(sit(&model, dialect, options).await.grammar);
        let heard = model.heard.lock().unwrap();
        for (request, task) in heard.iter().zip(tasks()) {
            // Who has to call cannot talk instead; who need not may.
            let (free_text, max_calls) = match task.name {
                "no-call" => (true, 1),
                "two-calls" => (false, 2),
                _ => (false, 1),
            };
            let form = GrammarOptions {
                free_text,
                max_calls,
            };
            let tools: Vec<_> = task.tools.iter().collect();
            let form = grammar(&tools, dialect, form).unwrap();
            assert_eq!(
                request.constraint,
                Some(Constraint::Grammar(form)),
                "{}",
                task.name
            );
            assert_eq!(request.sampling.max_tokens, Some(task.max_tokens));
        }
    }
}

#[tokio::test]
async fn who_does_not_stop_is_stopped() {
    let most = tasks().iter().map(|task| task.max_tokens).max().unwrap();
    assert!(most <= 512);
    for (grammar, asked) in [(true, 0), (false, EXAM_THINKING_TOKENS)] {
        let model = pupil(Protocol::Tam, |_| Answer::Babbles(String::new()));
        let options = ExamOptions {
            grammar,
            ..ExamOptions::default()
        };
        let result = sit(&model, Protocol::Tam, options).await;
        let heard = model.heard.lock().unwrap();
        for (attempt, (task, request)) in result.results.iter().zip(tasks().iter().zip(&*heard)) {
            assert_eq!(
                request.sampling.max_tokens,
                Some(task.max_tokens + asked),
                "{}",
                task.name
            );
            assert_eq!(attempt.error, None);
            if task.expected.calls() > 0 {
                let problem = attempt.problem.as_deref().unwrap();
                assert_eq!(problem, "nothing was called; the reply was cut off");
            }
        }
    }
    // What it thinks aloud before is not the answer.
    let thinking = format!("<think>{}</think>", "so ".repeat(3_000));
    let model = pupil(Protocol::Tam, |_| Answer::Babbles(thinking.clone()));
    let result = sit(&model, Protocol::Tam, ExamOptions::default()).await;
    let reply = result.results[0].reply.as_ref().unwrap();
    assert!(reply.left_out > 7_500, "{reply:?}");
}

/// Each wrong answer loses exactly the marks from its fault on.
#[tokio::test]
async fn how_far_a_reply_comes_is_what_it_gets() {
    let tam = |body: &str| format!("<|[REQUEST_TOOL]|>\n{body}\n<|[END_TOOL]|>");
    for (task, reply, marks, problem) in [
        ("one-text", String::new(), 0, "empty"),
        (
            "one-text",
            "It is sunny.".to_owned(),
            1,
            "nothing was called",
        ),
        ("one-text", tam("city:»»»Lisbon«««"), 1, "names no tool"),
        (
            "one-text",
            "<ACTION><Weather.Look><city>Lisbon</city></Weather.Look></ACTION>".to_owned(),
            1,
            "another dialect",
        ),
        (
            "one-text",
            tam("command:»»»Weather.Ask«««\ncity:»»»Lisbon«««"),
            2,
            "no tool 'Weather.Ask'",
        ),
        (
            "one-text",
            tam("command:»»»Weather.Look«««\ntown:»»»Lisbon«««"),
            2,
            "town",
        ),
        (
            "one-text",
            tam("command:»»»Weather.Look«««\ncity:»»»«««"),
            3,
            "Weather.Look: ",
        ),
        (
            "two-tools",
            tam("command:»»»Math.Add«««\na:»»»1«««\nb:»»»2«««"),
            4,
            "called Math.Add, not Weather.Look",
        ),
        (
            "one-text",
            tam("command:»»»Weather.Look«««\ncity:»»»Porto«««"),
            5,
            "city is not as asked",
        ),
        (
            "two-calls",
            tam("command:»»»Weather.Look«««\ncity:»»»Rome«««"),
            4,
            "called Weather.Look, not Weather.Look, Weather.Look",
        ),
        (
            "optional-left-out",
            tam("command:»»»Note.Add«««\ntext:»»»buy milk«««\npriority:»»»1«««"),
            5,
            "priority",
        ),
        (
            "no-call",
            tam("command:»»»Weather.Look«««\ncity:»»»Rome«««"),
            2,
            "nothing had to be",
        ),
        (
            "one-text",
            tam("command:»»»Weather.Look«««\ncity:»»» lisbon «««"),
            6,
            "",
        ),
        ("no-call", "Hi!".to_owned(), 6, ""),
    ] {
        let model = pupil(Protocol::Tam, |_| Answer::Says(reply.clone()));
        let options = ExamOptions {
            tasks: tasks()
                .into_iter()
                .filter(|known| known.name == task)
                .collect(),
            ..ExamOptions::default()
        };
        let result = sit(&model, Protocol::Tam, options).await;
        let [attempt] = result.results.as_slice() else {
            panic!("{task}")
        };
        let m = attempt.marks;
        let have = [
            m.replied,
            m.parsed,
            m.bound,
            m.validated,
            m.right_tool,
            m.right_arguments,
        ];
        let wanted: Vec<bool> = (0..6).map(|at| at < marks).collect();
        assert_eq!(have.as_slice(), wanted, "{task}: {reply} {attempt:?}");
        let said = attempt.problem.clone().unwrap_or_default();
        assert!(said.contains(problem), "{said}");
        assert_eq!(attempt.reply.is_some(), (1..6).contains(&marks));
    }
}

#[tokio::test(start_paused = true)]
async fn what_fails_at_the_provider_is_counted_apart() {
    let model = pupil(Protocol::Tam, |task| match task {
        "one-text" => Answer::Fails(ModelErrorKind::ServerError),
        "two-numbers" => Answer::Hangs,
        "one-of-a-list" | "chinese" => Answer::Says("x".repeat(MAX_EXAM_EXCERPT_CHARS + 5)),
        _ => Answer::Right,
    });
    let options = ExamOptions {
        repeats: 2,
        ..ExamOptions::default()
    };
    let result = sit(&model, Protocol::Tam, options).await;
    let count = tasks().len();
    assert_eq!(result.results.len(), 2 * count);
    assert_eq!(result.score.provider_errors, 4);
    assert_eq!(result.score.attempts, 2 * (count - 2));
    assert_eq!(result.score.right_arguments, 2 * (count - 4));
    assert_eq!(
        result.results[0].error.as_deref(),
        Some("the provider is ill")
    );
    assert!(
        result.results[1]
            .error
            .as_deref()
            .unwrap()
            .contains("no whole answer")
    );
    let excerpt = result.results[2].reply.as_ref().unwrap();
    assert_eq!(excerpt.text.chars().count(), MAX_EXAM_EXCERPT_CHARS);
    assert_eq!(excerpt.left_out, 5);
}

#[tokio::test]
async fn a_cancelled_exam_ends_at_once_and_keeps_what_it_has() {
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let model = pupil(Protocol::Tam, move |task| {
        if task != "two-numbers" {
            return Answer::Right;
        }
        stop.cancel();
        Answer::Hangs
    });
    let result = take(
        &model,
        ModelRequest::default(),
        Protocol::Tam,
        ExamOptions::default(),
        &valid,
        &cancel,
        &mut |_| {},
    )
    .await;
    assert!(result.cancelled);
    assert_eq!(result.results.len(), 1);
    assert_eq!(result.score.provider_errors, 0);
}

#[tokio::test]
async fn an_exam_is_no_longer_than_allowed() {
    let model = pupil(Protocol::Tam, |_| Answer::Says("no".into()));
    let one = tasks().remove(0);
    let options = ExamOptions {
        tasks: vec![one; MAX_EXAM_TASKS + 1],
        repeats: MAX_EXAM_REPEATS + 1,
        ..ExamOptions::default()
    };
    let result = sit(&model, Protocol::Tam, options).await;
    assert_eq!(result.results.len(), MAX_EXAM_TASKS * MAX_EXAM_REPEATS);
}
