use serde_json::json;

use super::*;
use crate::parse;

#[test]
fn a_value_is_read_trimmed_or_verbatim() {
    for (raw, indent, trimmed, verbatim) in [
        (" a ", "", "a", " a "),
        ("\n  a\n", "", "a", "  a"),
        ("\n\na\n\n", "", "a", "\na\n"),
        ("\r\na\r\n", "", "a", "a"),
        ("\n  a\n    b\n  ", "  ", "a\n  b", "a\n  b"),
        ("x\n\n  y", "  ", "x\n\ny", "x\n\ny"),
        ("  x\n  y", "  ", "x\ny", "  x\ny"),
        (" \t\n a", "", "a", " a"),
        ("", "", "", ""),
        ("\n", "", "", ""),
    ] {
        let text = Text::new(raw, indent);
        assert_eq!(text.trimmed(), trimmed, "{raw:?}");
        assert_eq!(text.verbatim(), verbatim, "{raw:?}");
        assert_eq!(Text::new(raw, indent).into_trimmed(), trimmed, "{raw:?}");
    }
}

#[test]
fn text_is_filled_in_wherever_it_stands() {
    let mut fill = |text: &str| text.contains("@{d}").then(|| text.replace("@{d}", "/out"));
    for (reply, expected) in [
        (
            "<|[REQUEST_TOOL]|>\ncommand:»»»T«««\nx:»»» @{d}/a «««\n<|[END_TOOL]|>",
            json!({"x": "/out/a"}),
        ),
        (
            "<ACTION><T><x><item>@{d}/a</item><item><y>@{d}</y></item></x></T></ACTION>",
            json!({"x": ["/out/a", {"y": "/out"}]}),
        ),
        (
            r#"<tool_call>{"name":"T","arguments":{"x":["@{d}/a",1,{"y":"@{d}"}]}}</tool_call>"#,
            json!({"x": ["/out/a", 1, {"y": "/out"}]}),
        ),
    ] {
        let mut parsed = parse(reply);
        let call = &mut parsed.blocks[0].calls[0];
        for argument in &mut call.arguments {
            argument.value.map_text(&mut fill);
        }
        assert_eq!(Json::from(call.params()), expected, "{reply}");
    }
}

#[test]
fn a_call_outlives_the_text_it_came_from() {
    let text = String::from("<ACTION><T><x><y>1</y></x></T></ACTION>");
    let reply = parse(&text);
    let borrowed = reply.blocks[0].calls[0].clone();
    let owned = borrowed.clone().into_owned();
    assert_eq!(borrowed, owned);
    drop(reply);
    assert_eq!(Json::from(owned.params()), json!({"x": {"y": "1"}}));
}

#[test]
fn a_block_knows_all_its_keys_and_prints_none_of_them() {
    let text = "<|[REQUEST_TOOL]|>\nWho:»»» Ann «««\nCommon-Dir:»»»/d«««\ncommand_1:»»»A«««\ndir_1:»»»own«««\n\
                command_2:»»»B«««\ndir_2:»»»own«««\nwho:»»»Bob«««\n<|[END_TOOL]|>";
    let reply = parse(text);
    let block = reply.blocks[0].clone();
    let keys: Vec<String> = block
        .keys
        .iter()
        .map(|(key, text)| format!("{key}={}", text.trimmed()))
        .collect();
    assert_eq!(
        keys.join(" "),
        "who=Ann common_dir=/d command_1=A dir_1=own command_2=B dir_2=own who=Bob"
    );
    // The texts are those of the reply, not copies.
    let whole = text.as_bytes().as_ptr_range();
    assert!(
        block
            .keys
            .iter()
            .all(|(_, text)| whole.contains(&text.raw().as_ptr()))
    );
    assert_eq!(block.clone().into_owned(), block);
    assert!(!json!(block).to_string().contains("Ann"));
    assert!(
        parse("<ACTION><T><x>1</x></T></ACTION>").blocks[0]
            .keys
            .is_empty()
    );
}
