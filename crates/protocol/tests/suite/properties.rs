//! Laws over random texts and random calls.

use innkeeper_protocol::{Dialect, Value, key, parse};
use innkeeper_testkit::soup::{FRAGMENTS, GOOD_BLOCKS};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;

use super::laws;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        12 => select(FRAGMENTS).prop_map(str::to_owned),
        1 => select(GOOD_BLOCKS).prop_map(str::to_owned),
        1 => "\\PC{0,6}",
    ];
    vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

fn dialect() -> impl Strategy<Value = Dialect> {
    prop_oneof![
        5 => Just(Dialect::Auto),
        1 => Just(Dialect::Tam),
        1 => Just(Dialect::Action),
        1 => Just(Dialect::ToolCall),
    ]
}

const FAMILIES: [(&str, &str); 3] = [("»»»", "«««"), (">>>", "<<<"), ("「始」", "「末」")];

/// A name that no prefix rule and no rule about numbers touches.
fn name() -> impl Strategy<Value = String> {
    "[a-z]{1,6}(_[a-z]{1,4})?".prop_filter("has a meaning of its own", |name| {
        !["command", "comment", "request_id", "on_error", "retry"].contains(&name.as_str())
            && !["uri_", "type_hint_", "common_"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
    })
}

/// Any text that holds no mark, not even a piece of one.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[^»«<>「」]{0,30}",
        "(([a-z]{1,5}: ?)?[a-z #,`\"]{0,12}\r?\n){0,4}",
        "[ \t\n]{0,3}\\PC{0,20}[ \t\n]{0,3}",
    ]
    .prop_map(|text| text.replace(['»', '«', '<', '>', '「', '」'], "-"))
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn every_soup_keeps_the_laws(text in soup(), dialect in dialect()) {
        if let Err(verdict) = laws::check(&text, dialect) {
            return Err(TestCaseError::fail(format!("{text:?}: {verdict}")));
        }
    }

    #[test]
    fn no_cutting_changes_the_reply(text in soup(), cuts in vec(0usize..24, 0..12), dialect in dialect()) {
        if let Err(verdict) = laws::check_cutting(&text, dialect, &cuts) {
            return Err(TestCaseError::fail(format!("{text:?}: {verdict}")));
        }
    }

    #[test]
    fn text_without_marks_stays_text(text in "[^<»「>]{0,200}") {
        let reply = parse(&text);
        prop_assert!(reply.blocks.is_empty());
        prop_assert!(reply.all_diagnostics().is_empty());
        prop_assert_eq!(reply.outside_text, text.trim());
    }

    #[test]
    fn what_is_shown_of_a_clean_reply_holds_no_call(text in soup()) {
        let reply = parse(&text);
        // Fences are cut out, which can bring halves of a mark together; so can a call between them.
        if reply.blocks.is_empty() && reply.all_diagnostics().is_empty() {
            let again = parse(&reply.outside_text);
            prop_assert!(again.blocks.is_empty());
            prop_assert_eq!(&again.outside_text, &reply.outside_text);
        }
    }

    #[test]
    fn a_tam_block_gives_back_its_values(
        fields in btree_map(name(), (value(), 0..3usize), 0..6),
        before in "[a-zA-Z .,\n]{0,40}",
        after in "[a-zA-Z .,\n]{0,40}",
    ) {
        let mut text = format!("{before}\n<|[REQUEST_TOOL]|>\ncommand:»»»Some.Tool«««\n");
        for (name, (value, family)) in &fields {
            let (open, close) = FAMILIES[*family];
            text.push_str(&format!("{name}:{open}{value}{close}\n"));
        }
        text.push_str(&format!("<|[END_TOOL]|>\n{after}"));
        let reply = parse(&text);
        prop_assert_eq!(reply.blocks.len(), 1, "{}", text);
        let block = &reply.blocks[0];
        prop_assert!(block.is_runnable());
        prop_assert_eq!(block.calls.len(), 1);
        prop_assert_eq!(&block.calls[0].tool, "Some.Tool");
        let params = block.calls[0].params();
        prop_assert_eq!(params.len(), fields.len(), "{}", text);
        for (name, (value, _)) in &fields {
            prop_assert_eq!(params[name].as_str(), Some(value.trim()), "{}: {}", name, text);
        }
        // What stands between the marks is there untouched, and borrowed.
        for argument in &block.calls[0].arguments {
            let Value::Text(read) = &argument.value else {
                return Err(TestCaseError::fail("a TAM value is text"));
            };
            prop_assert_eq!(read.raw(), &fields[argument.name.as_ref()].0);
        }
        let mixed = fields.values().any(|(_, family)| *family != 0);
        let codes: Vec<_> = block.diagnostics.iter().map(|d| d.code.as_str()).collect();
        prop_assert_eq!(codes, if mixed { vec!["mixed_delimiters_used"] } else { vec![] });
        prop_assert_eq!(reply.response_text, before.trim());
        prop_assert_eq!(reply.trailing_text, after.trim());
    }

    #[test]
    fn steps_get_their_own_values(steps in btree_map(1u32..40, btree_map(name(), "[a-z]{0,8}", 0..4), 1..6)) {
        let mut text = String::from("<|[REQUEST_TOOL]|>\n");
        for (step, fields) in steps.iter().rev() {
            text.push_str(&format!("command_{step}:»»»T{step}«««\n"));
            for (name, value) in fields {
                text.push_str(&format!("{name}_{step}:»»»{value}«««\n"));
            }
        }
        text.push_str("<|[END_TOOL]|>");
        let reply = parse(&text);
        prop_assert!(reply.all_diagnostics().is_empty(), "{}", text);
        let calls = &reply.blocks[0].calls;
        prop_assert_eq!(calls.len(), steps.len());
        for (call, (step, fields)) in calls.iter().zip(&steps) {
            prop_assert_eq!(call.index, *step);
            prop_assert_eq!(call.tool.as_ref(), format!("T{step}"));
            let params = call.params();
            prop_assert_eq!(params.len(), fields.len());
            for (name, value) in fields {
                prop_assert_eq!(params[name].as_str(), Some(value.as_str()));
            }
        }
    }

    #[test]
    fn an_action_gives_back_its_values(fields in btree_map(name(), ("[^\r\u{0}]{0,30}", any::<bool>()), 0..6)) {
        let mut text = String::from("<ACTION>\n<Some.Tool>\n");
        for (name, (value, cdata)) in &fields {
            let inner = if *cdata {
                format!("<![CDATA[{}]]>", value.replace("]]>", "]]]]><![CDATA[>"))
            } else {
                value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
            };
            text.push_str(&format!("<{name}>{inner}</{name}>\n"));
        }
        text.push_str("</Some.Tool>\n</ACTION>");
        let reply = parse(&text);
        prop_assert!(reply.all_diagnostics().is_empty(), "{}", text);
        let call = &reply.blocks[0].calls[0];
        prop_assert_eq!(call.tool.as_ref(), "Some.Tool");
        let params = call.params();
        prop_assert_eq!(params.len(), fields.len());
        for (name, (value, cdata)) in &fields {
            let wanted = if *cdata { without_layout(value) } else { value.trim() };
            prop_assert_eq!(params[name].as_str(), Some(wanted), "{}: {}", name, text);
        }
    }

    #[test]
    fn a_key_normalised_twice_is_the_same(written in "\\PC{0,24}") {
        let once = key::normalise(&written).into_owned();
        prop_assert_eq!(key::normalise(&once), once.as_str());
    }

    #[test]
    fn spellings_of_one_name_are_one_key(words in vec("[a-z]{2,6}", 1..4)) {
        let snake = words.join("_");
        let pascal: String = words.iter().map(|word| word[..1].to_uppercase() + &word[1..]).collect();
        for written in [
            words.join("-"),
            words.join(" "),
            words.join("_").to_uppercase(),
            words.join("."),
            format!("**{pascal}**"),
            pascal,
            format!(" _{snake}_ "),
        ] {
            prop_assert_eq!(key::normalise(&written), snake.as_str(), "{}", written);
        }
    }
}

/// What CDATA loses: one line break at each end, with the blanks that lay it out.
fn without_layout(text: &str) -> &str {
    let head = text.trim_start_matches([' ', '\t']);
    let text = head.strip_prefix('\n').unwrap_or(text);
    let tail = text.trim_end_matches([' ', '\t']);
    tail.strip_suffix('\n').unwrap_or(text)
}

#[test]
fn every_character_makes_a_stable_key() {
    // An accent may have a composed form in one letter case only: J̌ has none, ǰ has.
    for accent in [
        "", "\u{301}", "\u{30c}", "\u{308}", "\u{331}", "\u{30a}", "\u{307}", "\u{345}",
    ] {
        let last = if accent.is_empty() {
            char::MAX
        } else {
            '\u{2000}'
        };
        for c in ('\u{0}'..=last).filter(|c| c.is_alphanumeric()) {
            for written in [format!("a{c}{accent}b"), format!("A{c}{accent}")] {
                let once = key::normalise(&written).into_owned();
                assert_eq!(key::normalise(&once), once, "{written:?}");
            }
        }
    }
}
