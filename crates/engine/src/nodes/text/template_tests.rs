use serde_json::{Value as Json, json};

use crate::testing::run_node;

#[tokio::test]
async fn a_template_is_filled() {
    let inputs = |template: &str| json!({"template": template, "name": "Owl", "n": 2, "list": ["a", "b"], "variables": {"name": "hidden", "more": {"deep": 1}}});
    for (template, expected) in [
        ("Hello {{ name }}", "Hello Owl"),
        (
            "{% for x in list %}{{ loop.index }}{{ x }} {% endfor %}",
            "1a 2b ",
        ),
        ("{{ more.deep + n }}", "3"),
        ("{% if n > 1 %}many{% else %}one{% endif %}", "many"),
        ("{{ list|join('-') }}", "a-b"),
        ("{{ missing }}.", "."),
        ("<{{ '<b>' }}>", "<<b>>"),
        ("", ""),
    ] {
        let out = run_node("core:Template", json!({}), inputs(template)).await;
        assert_eq!(out.unwrap()["text"], expected, "{template}");
        let out = run_node("core:FormatPrompt", json!({}), inputs(template))
            .await
            .unwrap();
        assert_eq!(out["prompt"], expected, "{template}");
        assert_eq!(out["messages"], json!([]), "{template}");
    }
    for wrong in [
        "{{",
        "{% if %}",
        "{{ x|nofilter }}",
        "{% for x in 5 %}{% endfor %}",
    ] {
        let out = run_node("core:Template", json!({}), inputs(wrong)).await;
        let error = out.unwrap_err();
        assert_eq!(error.code, "expression.failed", "{wrong}");
        assert!(error.message.contains("line 1"), "{}", error.message);
    }
}

#[tokio::test]
async fn a_prompt_is_a_message() {
    for (role, expected) in [
        ("", Some(json!([]))),
        (
            "system",
            Some(json!([{"role": "system", "content": "You are Owl"}])),
        ),
        ("nobody", None),
    ] {
        let inputs = json!({"template": "You are {{ who }}", "who": "Owl", "role": role});
        let out = run_node("core:FormatPrompt", json!({}), inputs).await;
        let messages: Option<Json> = out.ok().map(|out| out["messages"].clone());
        assert_eq!(messages, expected, "{role}");
    }
}
