use std::sync::Arc;

use proptest::prelude::*;

use super::super::messages::{encode, trees};
use super::*;
use crate::Image;

fn part() -> impl Strategy<Value = Part> {
    let text = "[a \"\\\\\n]{0,3}";
    prop_oneof![
        4 => text.prop_map(Part::text),
        1 => text.prop_map(Part::reasoning),
        4 => (text, "[a-c]", "\\{\\}| |").prop_map(|(id, name, arguments)| Part::ToolCall(ToolCall { id, name, arguments })),
        4 => (text, proptest::option::of("[a-c]"), text).prop_map(|(call_id, name, content)| {
            Part::ToolResult(ToolResult { call_id, name, content, is_error: false })
        }),
        1 => Just(Part::Image(Image { url: "data:,".into(), detail: None })),
        1 => Just(Part::Opaque { provider: crate::chat::MESSAGE.into(), value: serde_json::json!({"role": "x"}) }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let role = prop::sample::select(vec![
        Role::System,
        Role::Developer,
        Role::User,
        Role::Assistant,
        Role::Tool,
    ]);
    let parts = prop::collection::vec(part(), 0..4);
    (role, proptest::option::of("[a-c]"), parts).prop_map(|(role, name, parts)| Message {
        role,
        name,
        parts,
    })
}

fn quirks() -> impl Strategy<Value = Quirks> {
    let not_sent = prop::sample::select(vec![
        vec![],
        vec!["name".to_owned()],
        vec!["seed".to_owned()],
    ]);
    (any::<bool>(), any::<bool>(), not_sent, any::<bool>()).prop_map(
        |(developer_role, reasoning_back, not_sent, nine)| Quirks {
            developer_role,
            reasoning_back,
            not_sent,
            call_ids: if nine { CallIds::Nine } else { CallIds::Any },
            ..Quirks::default()
        },
    )
}

proptest! {
    #[test]
    fn it_comes_to_the_same_as_the_way_over_trees(
        messages in prop::collection::vec(message().prop_map(Arc::new), 0..6),
        quirks in quirks(),
    ) {
        let mut shown = Vec::new();
        let mut slow = Vec::new();
        for message in &messages {
            slow.extend(trees(message, &quirks, &mut shown));
        }
        // What is still to be shown comes last, whichever way was taken.
        let quick = serde_json::to_value(encode(&messages, &quirks)).unwrap();
        let quick = quick.as_array().unwrap();
        prop_assert_eq!(&quick[..slow.len()], &slow[..]);
        prop_assert_eq!(quick.len() - slow.len(), usize::from(!shown.is_empty()));
    }

    #[test]
    fn it_is_written_byte_by_byte_the_same(message in message()) {
        let quirks = Quirks::default();
        if let Some(plain) = Plain::of(&message, &quirks) {
            let trees = trees(&message, &quirks, &mut Vec::new());
            prop_assert_eq!(trees.len(), 1);
            prop_assert_eq!(serde_json::to_string(&plain).unwrap(), trees[0].to_string());
        }
    }
}
