//! TestWidgets: one input of each kind that the canvas can draw, each given back.

use serde_json::json;

use crate::NodeType;
use crate::node::{NodeBuilder, Slot, any, boolean, float, integer, object, text};

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "TestWidgets",
        "Test",
        "Test widgets",
        "Has an input of each kind and gives back what was entered",
    );
    let mut pairs = Vec::new();
    macro_rules! echo {
        ($($input:expr, $title:literal, $output:expr;)*) => {$(
            let input = node.input($input.title($title).about("Given back as it is"));
            let output = node.output($output.title($title).about("What was entered"));
            pairs.push((input.index(), output.index()));
        )*};
    }
    echo! {
        text("string_input").required().default("text").config("placeholder", "one line"), "One line", text("string_output");
        block(text("text_input").required().default("text\nof two lines").multiline()), "Several lines", text("text_output");
        block(text("markdown_input").category("Markdown").default("# A heading\n\nand *text*").multiline().config("languageHint", "markdown")),
            "Markdown", text("markdown_output").category("Markdown");
        integer("int_input").required().default(10).range(0, 100).config("step", 1), "Whole number", integer("int_output");
        float("float_input").required().default(0.5).range(0.0, 1.0).config("step", 0.01), "Number", float("float_output");
        boolean("boolean_toggle").required().default(true), "Switch", boolean("boolean_output");
        text("combo_select").required().choice(&["选项A", "选项B", "选项C"]).default("选项A"), "Choice", text("combo_output");
        block(object("json_input").category("Json").default(json!({"name": "owl"}))), "JSON", object("json_output").category("Json");
        text("javascript_code_input").category("Code").category("JavaScript").category("CanPreview").default("console.log(\"hello\");").config("languageHint", "javascript"),
            "JavaScript", text("javascript_code_output").category("Code").category("JavaScript");
        text("string_with_suggestions").default("默认值").config("suggestions", json!(["预设A", "预设B", "另一个预设"])),
            "Text with suggestions", text("string_with_suggestions_output");
        integer("int_with_suggestions").default(512).range(64, 4096).config("step", 64).config("suggestions", json!([256, 512, 1024, 2048])),
            "Whole number with suggestions", integer("int_with_suggestions_output");
        float("float_with_suggestions").default(7.5).range(0.0, 15.0).config("step", 0.5).config("suggestions", json!([1.0, 5.0, 7.5, 10.0, 12.5])),
            "Number with suggestions", float("float_with_suggestions_output");
    }
    node.input(
        any("button_trigger")
            .title("Button")
            .about("A button of the canvas; a run takes no notice of it")
            .category("Trigger")
            .config("label", "Press"),
    );
    node.inline(move |io| {
        for (input, output) in &pairs {
            let value = io.input(*input).as_value();
            io.put(*output, crate::node::Output::Value(value));
        }
        Ok(())
    })
}

fn block<T>(slot: Slot<T>) -> Slot<T> {
    slot.category("UiBlock").category("CanPreview")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::run_node;

    #[tokio::test]
    async fn it_gives_back_what_was_entered() {
        let out = run_node("core:TestWidgets", json!({}), json!({})).await;
        let out = out.unwrap();
        for (key, expected) in [
            ("string_output", json!("text")),
            ("int_output", json!(10)),
            ("float_output", json!(0.5)),
            ("boolean_output", json!(true)),
            ("combo_output", json!("选项A")),
            ("json_output", json!({"name": "owl"})),
            ("string_with_suggestions_output", json!("默认值")),
            ("int_with_suggestions_output", json!(512)),
            ("float_with_suggestions_output", json!(7.5)),
        ] {
            assert_eq!(out[key], expected, "{key}");
        }
        assert_eq!(out.len(), 12);
        let inputs = json!({"boolean_toggle": false, "int_input": "7", "json_input": "{\"a\":1}"});
        let out = run_node("core:TestWidgets", json!({}), inputs)
            .await
            .unwrap();
        assert_eq!(out["boolean_output"], false);
        assert_eq!(out["int_output"], 7);
        assert_eq!(out["json_output"], json!({"a": 1}));
    }
}
