use super::*;
use crate::DataFlowType;
use crate::node::SlotInfo;

fn node() -> NodeRef {
    let slot = |key: &str| SlotInfo {
        key: key.into(),
        flow: DataFlowType::Wildcard,
        is_stream: false,
        is_connected: false,
    };
    NodeRef {
        info: Arc::new(NodeInfo {
            id: "a".into(),
            full_type: "test:A".into(),
            display_name: None,
            mode: None,
            config: serde_json::Map::new(),
            inputs: Vec::new(),
            outputs: vec![slot("x"), slot("y")],
        }),
        iteration: None,
    }
}

/// Longer than anything may be, and no byte from the second on begins a letter at an even place.
fn huge() -> String {
    format!("a{}", "é".repeat(MAX_EVENT_VALUE_BYTES))
}

fn chunk() -> Chunk {
    let mut chunk = Chunk::text(huge());
    chunk.extra = Some(Arc::new(
        [("callId".to_owned(), json!(huge()))].into_iter().collect(),
    ));
    chunk
}

fn error() -> NodeError {
    NodeError::failed(huge(), huge())
}

fn trace(trace: Trace) -> EventBody {
    EventBody::Trace {
        node: node(),
        trace,
    }
}

/// Everything that can be told, as long as it can be.
fn bodies() -> Vec<EventBody> {
    let outputs = || -> Box<[Output]> {
        let list = vec![Value::from(huge()); 3];
        Box::new([Output::Value(huge().into()), Output::Value(list.into())])
    };
    let (call_id, tool) = (huge, huge);
    vec![
        EventBody::Status {
            status: ExecutionStatus::Error,
            error: Some(error()),
        },
        EventBody::NodeExecuting(node()),
        EventBody::NodeProgress {
            node: node(),
            value: 1.0,
            max: 2.0,
        },
        EventBody::NodePreview {
            node: node(),
            text: huge(),
        },
        EventBody::NodeComplete {
            node: node(),
            outputs: outputs(),
            cached: false,
        },
        EventBody::NodeBypassed {
            node: node(),
            outputs: outputs(),
        },
        EventBody::NodeError {
            node: node(),
            error: error(),
            retry: true,
        },
        EventBody::NodeSkipped {
            node: node(),
            why: Skip::UpstreamFailed,
        },
        EventBody::NodeYield {
            node: node(),
            output: "x".into(),
            chunk: Some(chunk()),
        },
        EventBody::InterfaceYield {
            key: "x".into(),
            display_name: None,
            chunk: Some(chunk()),
        },
        EventBody::InterfaceOutputs(Arc::new(vec![("x".into(), huge().into())])),
        EventBody::LoopIteration {
            node: node(),
            iteration: 1,
            status: IterationStatus::Error { message: huge() },
        },
        EventBody::Accepted,
        EventBody::Queue {
            running: 1,
            pending: 1,
        },
        trace(Trace::Thinking { model: huge() }),
        trace(Trace::Replied { text: huge() }),
        trace(Trace::ToolSelected {
            tool: tool(),
            arguments: json!({huge(): [huge()]}),
        }),
        trace(Trace::ToolRunning {
            call_id: call_id(),
            tool: tool(),
        }),
        trace(Trace::ToolOutput {
            call_id: call_id(),
            tool: tool(),
            piece: json!(huge()),
        }),
        trace(Trace::ToolFinished {
            call_id: call_id(),
            tool: tool(),
            success: true,
            summary: huge(),
        }),
    ]
}

#[test]
fn whatever_is_told_is_cut_and_weighed() {
    for mut body in bodies() {
        let weight = body.trim();
        let name = format!("{} {weight}", body.name());
        // At most three texts, each with the sign that there was more.
        assert!(
            weight <= EVENT_BYTES + 3 * (MAX_EVENT_VALUE_BYTES + 3),
            "{name}"
        );
        let again = body.clone().trim();
        assert_eq!(weight, again, "{name}: what was cut is not cut again");
        let event = ExecutionEvent {
            prompt_id: "run".into(),
            seq: 1,
            body,
            weight,
        };
        let bytes = serde_json::to_string(&event).unwrap().len();
        // Beside what is weighed there are the names of the fields.
        assert!(bytes <= weight + 256, "{name}: {bytes} bytes are told");
    }
}

/// Only the further fields were too long: what came in the piece itself is whole, and nothing says otherwise.
#[test]
fn a_piece_without_its_further_fields_says_so() {
    let mut short = chunk();
    short.content = "whole".into();
    let mut body = EventBody::NodeYield {
        node: node(),
        output: "x".into(),
        chunk: Some(short),
    };
    let weight = body.trim();
    let event = ExecutionEvent {
        prompt_id: "run".into(),
        seq: 1,
        body,
        weight,
    };
    let told = serde_json::to_value(&event).unwrap();
    let piece = &told["payload"]["yieldedContent"];
    let expected = json!({"type": "text_chunk", "content": "whole", "extraTruncated": true});
    assert_eq!(*piece, expected);
}

#[test]
fn texts_are_cut_between_letters() {
    let most = MAX_EVENT_VALUE_BYTES;
    let cases = [
        // Told whole up to the last byte.
        ("a".repeat(most), "a".repeat(most)),
        ("é".repeat(most / 2), "é".repeat(most / 2)),
        ("a".repeat(most + 1), "a".repeat(most) + "…"),
        // The letter across the border is left out.
        (
            format!("a{}", "é".repeat(most / 2)),
            format!("a{}…", "é".repeat(most / 2 - 1)),
        ),
        (
            format!("{}😀b", "a".repeat(most - 1)),
            "a".repeat(most - 1) + "…",
        ),
        (
            format!("{}😀b", "a".repeat(most - 3)),
            "a".repeat(most - 3) + "…",
        ),
        (
            format!("{}😀b", "a".repeat(most - 4)),
            format!("{}😀…", "a".repeat(most - 4)),
        ),
    ];
    for (text, expected) in cases {
        let mut body = trace(Trace::Replied { text: text.clone() });
        let weight = body.trim();
        let EventBody::Trace {
            trace: Trace::Replied { text: told },
            ..
        } = body
        else {
            panic!("it is another one now");
        };
        assert!(told == expected, "{} bytes of {}", told.len(), text.len());
        assert_eq!(weight, EVENT_BYTES + told.len());
    }
}
