use super::*;
use crate::plugin::testing::{MINIMAL, Sample, row};

#[test]
fn keys_become_variables() {
    for (key, variable) in [
        ("apiKey", "API_KEY"),
        ("api-key", "API_KEY"),
        ("api_key", "API_KEY"),
        ("api.key", "API_KEY"),
        ("HTTPUrl", "HTTP_URL"),
        ("API_KEY", "API_KEY"),
        ("maxRetries2", "MAX_RETRIES2"),
        ("v2Url", "V2_URL"),
        ("x", "X"),
    ] {
        assert_eq!(variable_of(key), variable, "{key}");
    }
}

#[test]
fn variables_that_steer_programs_are_refused() {
    for key in [
        "path",
        "ldPreload",
        "ld_library_path",
        "pythonPath",
        "pythonpath",
        "nodeOptions",
        "home",
        "httpsProxy",
        "bashEnv",
        "dyldInsertLibraries",
        "innkeeperHome",
        "gitSshCommand",
        "lcAll",
    ] {
        let text = format!("{MINIMAL}configOptions: [{{key: {key}, type: string, label: L}}]\n");
        let problem = Sample::new(&text).problem();
        assert_eq!(problem.code, "plugin.reserved_variable", "{key}: {problem}");
        assert_eq!(problem.field.as_deref(), Some("configOptions[0].key"));
    }
}

#[test]
fn every_type_takes_its_default() {
    for option in [
        "type: string, defaultValue: a",
        "type: textarea, defaultValue: ''",
        "type: avatar, defaultValue: a.png",
        "type: number, defaultValue: 2.5",
        "type: number, min: 0, max: 1, defaultValue: 1",
        "type: boolean, defaultValue: false",
        "type: slider, min: 0, max: 1, defaultValue: 0.5",
        "type: select, options: [1, 2], defaultValue: 2",
        "type: button-group, options: [{label: A, value: a}], defaultValue: a",
        "type: secret",
        "type: action-button, buttonText: Go, onClick: go",
    ] {
        let text = format!("{MINIMAL}configOptions: [{{key: a, label: L, {option}}}]\n");
        let reading = Sample::new(&text).read();
        assert!(reading.outcome.is_ok(), "{option}: {:?}", reading.outcome);
        assert_eq!(reading.warnings, [], "{option}");
    }
}

#[test]
fn every_mistake_is_named_with_its_place() {
    // The text stands in braces in a list on line 4; it begins at column 4.
    for row in [
        row(
            "type: string",
            "4:3 configOptions[0].key",
            "plugin.missing_field",
            "is missing",
        ),
        row(
            "key: a",
            "4:3 configOptions[0].type",
            "plugin.missing_field",
            "type: string",
        ),
        row(
            "key: a, type: text",
            "4:18 configOptions[0].type",
            "plugin.bad_value",
            "'text' is none of string, number",
        ),
        row(
            "key: a, type: sting",
            "4:18 configOptions[0].type",
            "plugin.bad_value",
            "did you mean 'string'?",
        ),
        row(
            "key: 1a, type: string",
            "4:9 configOptions[0].key",
            "plugin.bad_option_key",
            "is no key",
        ),
        row(
            "key: ä, type: string",
            "4:9 configOptions[0].key",
            "plugin.bad_option_key",
            "is no key",
        ),
        row(
            "key: extensions.q.a, type: string",
            "4:9 configOptions[0].key",
            "plugin.bad_option_key",
            "must begin with 'extensions.p.'",
        ),
        row(
            "key: a, type: string, scope: all",
            "4:33 configOptions[0].scope",
            "plugin.bad_value",
            "user, instance",
        ),
        row(
            "key: a, type: string, required: 1",
            "4:36 configOptions[0].required",
            "plugin.wrong_type",
            "true or false",
        ),
        row(
            "key: a, type: string, defaultValue: 5",
            "4:40 configOptions[0].defaultValue",
            "plugin.bad_default",
            "quotes",
        ),
        row(
            "key: a, type: number, defaultValue: x",
            "4:40 configOptions[0].defaultValue",
            "plugin.bad_default",
            "no number",
        ),
        row(
            "key: a, type: number, min: 1, defaultValue: 0",
            "4:48 configOptions[0].defaultValue",
            "plugin.bad_default",
            "0 is below min",
        ),
        row(
            "key: a, type: number, max: 1, defaultValue: 2",
            "4:48 configOptions[0].defaultValue",
            "plugin.bad_default",
            "2 is above max",
        ),
        row(
            "key: a, type: boolean, defaultValue: yes",
            "4:41 configOptions[0].defaultValue",
            "plugin.bad_default",
            "neither",
        ),
        row(
            "key: a, type: secret, defaultValue: x",
            "4:40 configOptions[0].defaultValue",
            "plugin.secret_default",
            "remove it",
        ),
        row(
            "key: a, type: action-button, defaultValue: x",
            "4:47 configOptions[0].defaultValue",
            "plugin.bad_default",
            "no value",
        ),
        row(
            "key: a, type: select",
            "4:3 configOptions[0].options",
            "plugin.missing_field",
            "at least one choice",
        ),
        row(
            "key: a, type: select, options: []",
            "4:3 configOptions[0].options",
            "plugin.missing_field",
            "one choice",
        ),
        row(
            "key: a, type: select, options: [x, x]",
            "4:39 configOptions[0].options[1]",
            "plugin.bad_value",
            "\"x\" is there twice",
        ),
        row(
            "key: a, type: select, options: [[x]]",
            "4:36 configOptions[0].options[0]",
            "plugin.wrong_type",
            "plain value",
        ),
        row(
            "key: a, type: select, options: [x], defaultValue: y",
            "4:54 configOptions[0].defaultValue",
            "plugin.bad_default",
            "none of the options",
        ),
        row(
            "key: a, type: slider, min: 1",
            "4:3 configOptions[0]",
            "plugin.missing_field",
            "min and max",
        ),
        row(
            "key: a, type: number, min: 2, max: 1",
            "4:3 configOptions[0]",
            "plugin.bad_value",
            "larger than max",
        ),
        row(
            "key: a, type: number, step: 0",
            "4:3 configOptions[0]",
            "plugin.bad_value",
            "larger than 0",
        ),
    ] {
        let text = format!("{MINIMAL}configOptions:\n- {{{}}}\n", row.text);
        row.check("plugin.yaml", &Sample::new(&text).problem());
    }
}

#[test]
fn two_options_never_share_a_variable() {
    for second in ["apiKey", "api_key", "extensions.p.apiKey"] {
        let text = format!(
            "{MINIMAL}configOptions:\n- {{key: apiKey, type: string}}\n- {{key: {second}, type: string}}\n"
        );
        let problem = Sample::new(&text).problem();
        assert_eq!(problem.code, "plugin.duplicate_option");
        assert_eq!(
            (problem.line, problem.field.as_deref()),
            (Some(5), Some("configOptions[1].key"))
        );
        assert!(
            problem.message.contains("configOptions[0] of plugin.yaml"),
            "{problem}"
        );
    }
}

#[test]
fn options_of_a_tool_do_not_hide_those_of_the_plugin() {
    let tool = r#"{"id": "t", "description": "d", "implementation": {"type": "script", "command": "python s.py"},
        "configSchema": [{"key": "KEY", "type": "string"}]}"#;
    let manifest = |key: &str| {
        format!("{MINIMAL}tools: {{entry: tools}}\nconfigOptions: [{{key: {key}, type: string}}]\n")
    };
    let sample = Sample::new(&manifest("other")).file("tools/t.tool.json", tool);
    assert_eq!(sample.package().tools[0].config[0].variable, "KEY");
    let problem = sample.file("plugin.yaml", manifest("key")).problem();
    assert_eq!(problem.file, "tools/t.tool.json");
    assert_eq!(problem.field.as_deref(), Some("configSchema[0].key"));
    assert_eq!(problem.code, "plugin.duplicate_option");
}
