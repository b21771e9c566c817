use futures_util::StreamExt;
use innkeeper_engine::Value;
use innkeeper_engine::port::Messages;
use innkeeper_models::provider::Providers;
use innkeeper_models::{
    Channel, ChannelConfig, HttpClient, KeyLookup, KeySource, Rehearsal, Router,
};
use innkeeper_protocol::ToolDefinition;

use super::*;

fn user(text: &str) -> Messages {
    vec![json!({"role": "user", "content": text})].into()
}

fn of_models(models: Models) -> EngineModels {
    let key = innkeeper_tools::Secret::new("sk-planted-0123456789");
    let redactor = Redactor::new(std::iter::once(("models.lab".to_owned(), &key)));
    EngineModels::new(models, redactor)
}

fn rehearsal() -> EngineModels {
    of_models(Models::new().with("rehearsal", Arc::new(Rehearsal::demo().unwrap())))
}

async fn ask(port: &EngineModels, call: ModelCall) -> Result<Vec<Json>, NodeError> {
    let mut chunks = port.stream(call, CancellationToken::new()).await?;
    let mut all = Vec::new();
    while let Some(chunk) = chunks.next().await {
        all.push(serde_json::to_value(chunk?).unwrap());
    }
    Ok(all)
}

fn of<'c>(chunks: &'c [Json], kind: &str) -> Vec<&'c Json> {
    let wanted = chunks.iter().filter(|chunk| chunk["type"] == kind);
    wanted.map(|chunk| &chunk["content"]).collect()
}

#[tokio::test]
async fn the_rehearsal_model_answers_where_none_is_named() {
    for model in ["", "rehearsal"] {
        let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
        let told = heard.clone();
        let models = rehearsal().on_default(Arc::new(move |name| {
            told.lock().unwrap().push(name.to_owned());
        }));
        let call = ModelCall {
            model: model.to_owned(),
            messages: user("hello"),
            ..ModelCall::default()
        };
        let chunks = ask(&models, call).await.unwrap();
        let text: String = of(&chunks, "text_chunk")
            .iter()
            .filter_map(|text| text.as_str())
            .collect();
        assert!(!text.is_empty(), "{chunks:?}");
        assert_eq!(of(&chunks, "finish_reason_chunk"), ["stop"]);
        let named = chunks.iter().rfind(|chunk| chunk["role"] == MODEL_ROLE);
        assert_eq!(named.unwrap()["content"], "rehearsal");
        let expected: &[&str] = match model.is_empty() {
            true => &["rehearsal"],
            false => &[],
        };
        assert_eq!(*heard.lock().unwrap(), expected);
    }
    let models = rehearsal();
    let call = ModelCall {
        model: "gpt-9".to_owned(),
        messages: user("hello"),
        ..ModelCall::default()
    };
    let error = ask(&models, call).await.unwrap_err();
    assert_eq!(
        (error.code.as_str(), error.permanent),
        ("model.unknown", true)
    );
    assert!(error.message.contains("rehearsal"), "{error}");
}

#[tokio::test]
async fn what_makes_no_sense_is_said() {
    let models = rehearsal();
    let strange = ModelCall {
        messages: vec![json!({"role": "ghost", "content": "boo"})].into(),
        ..ModelCall::default()
    };
    let warm = ModelCall {
        messages: user("hello"),
        parameters: Map::from_iter([("temperature".to_owned(), json!("warm"))]),
        ..ModelCall::default()
    };
    for (call, code) in [(strange, "model.messages"), (warm, "model.parameters")] {
        let error = ask(&models, call).await.unwrap_err();
        assert_eq!(error.code, code);
    }
}

/// What one turn has read is not read by the next, and nobody can tell from what is sent.
#[test]
fn a_conversation_that_goes_on_is_read_where_it_is_new() {
    let tool = |id: &str| Arc::new(ToolDefinition::new(id, "Reads.", json!({"type": "object"})));
    let declared = Arc::new(Declared::of(&[tool("File.Read")]));
    let others = Arc::new(Declared::of(&[tool("File_Read"), tool("File.Read")]));
    let called = |id: &str| {
        json!({"role": "assistant", "content": "", "tool_calls": [
            {"id": id, "type": "function", "function": {"name": "File.Read", "arguments": "{}"}}]})
    };
    let told = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": id});
    let of = |value: &Value, declared| {
        let call = ModelCall {
            messages: Messages::of(value.clone()).unwrap(),
            ..ModelCall::default()
        };
        request(call, declared).map(|request| request.messages)
    };
    let fresh = |value: &Value, declared| of(&Value::from(value.as_json().clone()), declared);

    let mut value = Value::null().extended([json!({"role": "user", "content": "hello"})]);
    let mut before = of(&value, &declared).unwrap();
    for id in ["a", "b", "c"] {
        value = value.extended([called(id), told(id)]);
        let now = of(&value, &declared).unwrap();
        assert_eq!(now, fresh(&value, &declared).unwrap());
        let mut pairs = before.iter().zip(&now);
        assert!(pairs.all(|(one, other)| Arc::ptr_eq(one, other)));
        before = now;
    }

    // Other tools have other names.
    let renamed = of(&value, &others).unwrap();
    assert_eq!(renamed, fresh(&value, &others).unwrap());
    assert_ne!(renamed, before);

    // A list that is not the one that was read, and one with a message that cannot be.
    let shorter = Value::from(json!([{"role": "user", "content": "other"}]));
    assert_eq!(of(&shorter, &declared).unwrap()[0].text(), "other");
    let wrong = value.extended([json!({"role": "ghost", "content": "boo"})]);
    let error = of(&wrong, &declared).unwrap_err();
    assert!(error.message.contains("messages[7]"), "{}", error.message);
}

#[test]
fn a_request_is_split_into_what_all_know_and_the_rest() {
    let tool = ToolDefinition::new(
        "File.Read",
        "Reads.",
        json!({"type": "object", "properties": {"file_path": {"type": "string"}}}),
    );
    let declared = Arc::new(Declared::of(&[Arc::new(tool)]));
    let call = ModelCall {
        messages: user("hello"),
        parameters: json!({"temperature": 0.5, "stop": "END", "seed": null, "min_p": 0.1, "tool_choice": "required",
            "api_settings": {"base_url": "http://elsewhere.example", "secret": "OPENAI_API_KEY"}})
            .as_object()
            .cloned()
            .unwrap(),
        ..ModelCall::default()
    };
    let request = request(call, &declared).unwrap();
    assert_eq!(request.sampling.temperature, Some(0.5));
    assert_eq!(request.sampling.stop, ["END"]);
    assert_eq!(request.tool_choice, ToolChoice::Required);
    assert_eq!(Json::Object(request.extras), json!({"min_p": 0.1}));
    assert_eq!(request.tools.len(), 1);
    // A name that a provider can carry, and back.
    let name = &request.tools[0].name;
    assert!(!name.contains('.'), "{name}");
    let piece = ModelEvent::ToolCall {
        index: 0,
        id: Some("c1".into()),
        name: Some(name.clone()),
        arguments_delta: "{}".into(),
    };
    let chunk = chunk(piece, &declared.aliases).unwrap();
    let expected = json!({"index": 0, "id": "c1", "name": "File.Read", "arguments": "{}"});
    assert_eq!(chunk.content.as_json(), &expected);
}

#[test]
fn reasoning_and_who_answers_are_marked() {
    let aliases = render_manifest([], Protocol::Native(Provider::OpenAi), Locale::En).aliases;
    let reasoning = chunk(ModelEvent::Reasoning("hm".into()), &aliases).unwrap();
    let told = serde_json::to_value(&reasoning).unwrap();
    assert_eq!(
        told,
        json!({"type": "custom", "content": "hm", "role": "reasoning"})
    );
    let started = |model: &str| ModelEvent::Started {
        model: model.into(),
        response_id: None,
    };
    let told = serde_json::to_value(chunk(started("m"), &aliases).unwrap()).unwrap();
    assert_eq!(
        told,
        json!({"type": "custom", "content": "m", "role": "model"})
    );
    assert!(chunk(started(""), &aliases).is_none());
}

#[test]
fn errors_of_a_model_keep_their_names() {
    for (kind, code, permanent) in [
        (ModelErrorKind::RateLimited, "model.rate_limited", false),
        (ModelErrorKind::Unauthorized, "model.unauthorized", true),
        (ModelErrorKind::Cancelled, "run.cancelled", true),
    ] {
        let error = told(&ModelError::new(kind, "no"), &Offered::default());
        assert_eq!((error.code.as_str(), error.permanent), (code, permanent));
    }
}

#[test]
fn where_the_tools_are_what_is_too_long_it_is_said() {
    let tool = |number: usize| {
        let about = "Does one of the many things that a tool can do. ".repeat(4);
        let name = format!("dice.roll{number}");
        Arc::new(ToolDefinition::new(name, about, json!({"type": "object"})))
    };
    let many: Vec<_> = (0..30).map(tool).collect();
    let said = |kind, natively: &[Arc<ToolDefinition>], in_words: &[Arc<ToolDefinition>]| {
        let offered = Offered {
            natively: natively.to_vec(),
            in_words: in_words.to_vec(),
        };
        told(&ModelError::new(kind, "it is too long"), &offered).message
    };
    let long = ModelErrorKind::ContextTooLong;
    for (native, words) in [(&many[..], &[][..]), (&[], &many)] {
        let message = said(long, native, words);
        let rest = message.strip_prefix("it is too long; about ").unwrap();
        let (tokens, rest) = rest.split_once(' ').unwrap();
        let tokens: u64 = tokens.parse().unwrap();
        assert!((1_000..4_000).contains(&tokens), "{message}");
        assert_eq!(
            rest,
            "tokens of it tell of 30 tools: offer fewer, as agent-loop does with --input allow='[\"dice.*\"]'"
        );
    }
    assert_eq!(said(long, &[], &[]), "it is too long");
    assert_eq!(said(ModelErrorKind::Refused, &many, &[]), "it is too long");
}

/// Says one thing with a seal on it, and remembers what it was asked.
#[derive(Default)]
struct Sealed {
    asked: std::sync::Mutex<Vec<ModelRequest>>,
}

impl innkeeper_models::Model for Sealed {
    fn id(&self) -> &str {
        "sealed"
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let name = request.tools[0].name.clone();
        self.asked.lock().unwrap().push(request);
        let seal = |seal: &str| ModelEvent::Opaque {
            provider: "anthropic".into(),
            value: json!({ "signature": seal }),
        };
        let events = vec![
            ModelEvent::Started {
                model: "real sk-planted-0123456789".into(),
                response_id: None,
            },
            ModelEvent::Reasoning("hm".into()),
            seal("thought"),
            ModelEvent::Text("Let me look.".into()),
            ModelEvent::ToolCall {
                index: 0,
                id: None,
                name: Some(name),
                arguments_delta: "{}".into(),
            },
            seal("call"),
        ];
        let events = stream::iter(events.into_iter().map(Ok));
        ModelStream::new("sealed", cancel, events)
    }
}

#[tokio::test]
async fn what_only_the_provider_understands_goes_back_to_it_as_it_came() {
    let model = Arc::new(Sealed::default());
    let port = of_models(Models::new().with("sealed", model.clone()));
    let tool = Arc::new(ToolDefinition::new(
        "File.Read",
        "Reads.",
        json!({"type": "object"}),
    ));
    let call = |messages: Messages| ModelCall {
        messages,
        tools: vec![tool.clone()],
        ..ModelCall::default()
    };
    let chunks = ask(&port, call(user("hello"))).await.unwrap();
    let last = chunks.last().unwrap();
    assert_eq!(last["role"], PARTS_ROLE);
    let named = chunks.iter().filter(|chunk| chunk["role"] == MODEL_ROLE);
    let named: Vec<_> = named.map(|chunk| &chunk["content"]).collect();
    assert_eq!(named, ["sealed", "real [secret models.lab]"]);
    // As nodes put it together.
    let messages = json!([
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "Let me look.", "innkeeper_parts": last["content"], "tool_calls": [
            {"id": "call_0", "type": "function", "function": {"name": "File.Read", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "call_0", "name": "File.Read", "content": "nothing"},
    ]);
    ask(&port, call(messages.as_array().unwrap().clone().into()))
        .await
        .unwrap();
    let asked = model.asked.lock().unwrap();
    let [first, second] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    let name = &first.tools[0].name;
    let parts = json!(second.messages[1].parts);
    assert_eq!(
        parts,
        json!([
            {"type": "reasoning", "text": "hm"},
            {"type": "opaque", "provider": "anthropic", "value": {"signature": "thought"}},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_call", "id": "call_0", "name": name, "arguments": "{}"},
            {"type": "opaque", "provider": "anthropic", "value": {"signature": "call"}},
        ])
    );
    let Part::ToolResult(result) = &second.messages[2].parts[0] else {
        panic!("{:?}", second.messages[2]);
    };
    assert_eq!(result.name.as_ref(), Some(name));
}

#[test]
fn calls_are_held_to_their_form_where_a_workflow_asks_for_it() {
    let schema =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let tool = Arc::new(ToolDefinition::new("File.Read", "Reads", schema));
    let held = |tools: &[Arc<ToolDefinition>], dialect, required| {
        let call = ModelCall {
            messages: user("hello"),
            grammar: Some(CallGrammar {
                tools: tools.to_vec(),
                dialect,
                required,
            }),
            ..ModelCall::default()
        };
        request(call, &Arc::new(Declared::of(&[]))).map(|request| request.constraint)
    };
    let tools = [tool];
    for (dialect, mark) in [(Protocol::Tam, "REQUEST_TOOL"), (Protocol::Action, "cdata")] {
        for required in [true, false] {
            let form = match held(&tools, dialect, required).unwrap() {
                Some(Constraint::Grammar(form)) if required => form,
                Some(Constraint::GrammarIfTaken(form)) if !required => form,
                other => panic!("{other:?}"),
            };
            assert!(
                form.starts_with("root ::= ") && form.contains(mark),
                "{form}"
            );
        }
    }
    let native = Protocol::Native(Provider::OpenAi);
    for (tools, dialect, told) in [
        (&tools[..], native, "native calls need no grammar"),
        (&[], Protocol::Tam, "needs a tool"),
    ] {
        let error = held(tools, dialect, true).unwrap_err();
        assert_eq!(error.code, "model.grammar");
        assert!(error.message.contains(told), "{error}");
        assert_eq!(held(tools, dialect, false).unwrap(), None);
    }
}

/// Says who it is as it likes.
struct Named(&'static str, Option<&'static str>);

impl innkeeper_models::Model for Named {
    fn id(&self) -> &str {
        "named"
    }

    fn stream(&self, _: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let started = ModelEvent::Started {
            model: self.0.to_owned(),
            response_id: self.1.map(str::to_owned),
        };
        ModelStream::new("named", cancel, stream::iter([Ok(started)]))
    }
}

#[tokio::test]
async fn the_id_that_a_provider_gives_its_answer_is_told() {
    let long: &'static str = "x".repeat(MAX_RESPONSE_ID_CHARS + 1).leak();
    for (model, id, told_model, told_id) in [
        ("m1", Some("r0"), "m1", json!("r0")),
        ("", Some("r0"), "named", json!("r0")),
        ("m1", None, "m1", json!(null)),
        ("m1", Some("  "), "m1", json!(null)),
        (
            "m1",
            Some("sk-planted-0123456789"),
            "m1",
            json!("[secret models.lab]"),
        ),
        (
            "m1",
            Some(long),
            "m1",
            json!("x".repeat(MAX_RESPONSE_ID_CHARS)),
        ),
    ] {
        let port = of_models(Models::new().with("named", Arc::new(Named(model, id))));
        let call = ModelCall {
            messages: user("hello"),
            ..ModelCall::default()
        };
        let chunks = ask(&port, call).await.unwrap();
        let last = chunks
            .iter()
            .rfind(|chunk| chunk["role"] == MODEL_ROLE)
            .unwrap();
        assert_eq!(last["content"], told_model);
        assert_eq!(last[RESPONSE_ID], told_id, "{id:?}");
    }
}

struct NoKeys;

impl KeySource for NoKeys {
    fn secret(&self, _: &str) -> Result<Option<innkeeper_tools::Secret>, String> {
        Ok(None)
    }
}

/// Two channels with the same models, one with a name of its own for one of them.
fn house() -> EngineModels {
    let keys = KeyLookup {
        secrets: &NoKeys,
        env: &|_| None,
    };
    let channel = |name: &str, rename: &[(&str, &str)]| {
        let config = json!({"name": name, "provider": "ollama", "models": ["m1"],
            "rename": serde_json::Map::from_iter(rename.iter().map(|(here, there)| ((*here).to_owned(), json!(there))))});
        let config: ChannelConfig = serde_json::from_value(config).unwrap();
        let provider = Providers::shipped().get("ollama").unwrap().clone();
        let client = HttpClient::new().unwrap();
        Arc::new(Channel::new(provider, config, &keys, client))
    };
    let channels = vec![
        channel("first", &[]),
        channel("second", &[("m1", "m1-large")]),
    ];
    let router = Router::new(channels, Vec::new(), Default::default()).unwrap();
    let models = Models::new()
        .with("rehearsal", Arc::new(Rehearsal::demo().unwrap()))
        .with_router(router)
        .with_default("second/m1");
    of_models(models)
}

#[test]
fn who_will_be_asked_is_known_before() {
    let port = house();
    for (name, channel, provider, format, model) in [
        ("m1", "first", "ollama", Some("openai"), "m1"),
        ("second/m1", "second", "ollama", Some("openai"), "m1-large"),
        ("", "second", "ollama", Some("openai"), "m1-large"),
        ("rehearsal", "rehearsal", "rehearsal", None, "rehearsal"),
    ] {
        let found = port.find(name).unwrap().unwrap();
        let told = (found.channel.as_str(), found.provider.as_str());
        assert_eq!(told, (channel, provider), "{name}");
        assert_eq!(found.format.as_deref(), format, "{name}");
        assert_eq!(found.model, model, "{name}");
    }
    assert_eq!(port.find("nowhere/m1").unwrap_err().code, "model.unknown");
}
