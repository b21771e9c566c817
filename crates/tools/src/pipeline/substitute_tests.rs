use innkeeper_protocol::{Source, parse};
use serde_json::json;

use super::*;

const TIME: &str = "2026-11-15T09:00:00Z";

/// The arguments of the last step after filling in, given what step 1 came to.
fn filled(fields: &str, step_1: Option<StepResult>) -> Result<(Json, Vec<String>), String> {
    let text = format!(
        "<|[REQUEST_TOOL]|>\nrequest_id:»»»r-1«««\ncommon_dir:»»»fam://p/out«««\ncommand_1:»»»A«««\nname_1:»»»@{{common_dir}}/x«««\n\
         command_2:»»»B«««\n{fields}\n<|[END_TOOL]|>"
    );
    let reply = parse(&text);
    let block = &reply.blocks[0];
    let mut values = Values::of(block, TIME.to_owned());
    if let Some(result) = step_1 {
        values.finish_step(1, result);
    }
    let mut call = block.calls[1].clone();
    match fill(&mut call, &values) {
        Ok(unknown) => {
            let arguments: serde_json::Map<_, _> = call
                .arguments
                .iter()
                .filter(|argument| argument.source == Source::Inline && !argument.shared)
                .map(|argument| (argument.name.to_string(), argument.to_json()))
                .collect();
            Ok((arguments.into(), unknown.into_iter().collect()))
        }
        Err(Unresolved(why)) => Err(why),
    }
}

fn done() -> Option<StepResult> {
    Some(StepResult::Done(
        json!({"path": "a \"b\"\n", "list": [{"n": 1}, 2], "count": 5, "": "empty"}),
    ))
}

#[test]
fn known_names_are_filled_in() {
    for (value, expected) in [
        ("@{common_dir}/cover.png", "fam://p/out/cover.png"),
        ("@{Common-Dir}", "fam://p/out"),
        ("at @{timestamp}!", "at 2026-11-15T09:00:00Z!"),
        ("@{request_id}", "r-1"),
        // Filled in once: what comes in is not looked at again.
        ("@{name_1}", "@{common_dir}/x"),
        ("@{step_1.result.count}", "5"),
        ("@{step_1.result.list}", r#"[{"n":1},2]"#),
        ("@{step_1.result.list[0].n}", "1"),
        ("@{step_1.result.list.1}", "2"),
        ("@{ Step_1.Result.path }", "a \"b\""),
        ("@{step_1.result.count}@{step_1.result.count}", "55"),
        ("plain @ {x} @{ } $@{", "plain @ {x} @{ } $@{"),
        ("@{a@{timestamp}}", "@{a2026-11-15T09:00:00Z}"),
    ] {
        let (arguments, unknown) = filled(&format!("x_2:»»»{value}«««"), done()).unwrap();
        assert_eq!(arguments["x"], expected, "{value}");
        assert!(unknown.is_empty(), "{value}: {unknown:?}");
    }
}

#[test]
fn unknown_names_stay_and_are_told() {
    let (arguments, unknown) =
        filled("x_2:»»»@{nobody} @{step_7.result} @{timestamp}«««", done()).unwrap();
    assert_eq!(
        arguments["x"],
        "@{nobody} @{step_7.result} 2026-11-15T09:00:00Z"
    );
    assert_eq!(unknown, ["nobody", "step_7.result"]);
}

#[test]
fn json_stays_json() {
    let fields = "type_hint_x_2:»»»json«««\nx_2:»»»{\"a\": \"<@{step_1.result.path}>\", \"b\": @{step_1.result.list}, \
                  \"c\": @{step_1.result.path}, \"d\\\"\": \"@{common_dir}\", \"e\": \"@{step_1.result.list}\"}«««";
    let (arguments, _) = filled(fields, done()).unwrap();
    let text = arguments["x"].as_str().unwrap();
    let value: Json = serde_json::from_str(text).unwrap();
    assert_eq!(
        value,
        json!({"a": "<a \"b\"\n>", "b": [{"n": 1}, 2], "c": "a \"b\"\n", "d\"": "fam://p/out", "e": "[{\"n\":1},2]"})
    );
}

#[test]
fn a_result_that_is_not_there_stops_the_step() {
    for (value, step_1, part) in [
        ("@{step_1.result.nothing}", done(), "has no 'nothing'"),
        ("@{step_1.result.list[9]}", done(), "has no 'list[9]'"),
        ("@{step_1.result.count.x}", done(), "has no 'count.x'"),
        ("@{step_1.result}", None, "has not run before"),
        ("@{step_2.result}", done(), "has not run before"),
        (
            "@{step_1.result}",
            Some(StepResult::Nothing("failed".into())),
            "step 1 failed",
        ),
    ] {
        let error = filled(&format!("x_2:»»»{value}«««"), step_1).unwrap_err();
        assert!(error.contains(part), "{value}: {error}");
    }
}

#[test]
fn what_is_filled_in_is_bounded() {
    let big = Some(StepResult::Done(
        json!({"x": "y".repeat(MAX_FILLED_BYTES / 4)}),
    ));
    assert!(filled("x_2:»»»@{step_1.result.x}«««", big.clone()).is_ok());
    let many = "@{step_1.result.x}".repeat(10);
    assert!(filled(&format!("x_2:»»»{many}«««"), big.clone()).is_err());
    let fields: String = (0..10)
        .map(|n| format!("x{n}y_2:»»»@{{step_1.result.x}}«««\n"))
        .collect();
    assert!(filled(&fields, big).is_err());
}

#[test]
fn steps_are_found_deep_inside() {
    let text = "<ACTION><T><a><b>@{step_3.result}</b><c>x</c></a><d>@{step_1.result.x} @{step_x.result} @{step_2}</d></T></ACTION>";
    let reply = parse(text);
    let steps: Vec<_> = steps_named(&reply.blocks[0].calls[0]).into_iter().collect();
    assert_eq!(steps, [1, 3]);
}
