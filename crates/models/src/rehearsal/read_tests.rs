use std::fmt::Write as _;

use super::super::script::Script;
use crate::limits::{
    MAX_QUOTED_CHARS, MAX_SCENES, MAX_SCRIPT_BYTES, MAX_SCRIPT_DEPTH, MAX_SCRIPT_PROBLEMS,
};

fn problems(script: &str) -> Vec<String> {
    let error = Script::read(script).unwrap_err();
    error.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn every_problem_is_told_with_its_place() {
    let table = [
        ("", "line 1, column 1: nothing stands where a map belongs"),
        (
            "[]",
            "line 1, column 1: a list stands where a map belongs; write `key: value` with name, scenes",
        ),
        ("name: x", "line 1, column 1: `scenes` is missing"),
        (
            "scenes: x",
            "line 1, column 9: scenes: a text stands where a list belongs",
        ),
        (
            "scenes: [x]",
            "line 1, column 10: scenes[0]: a text stands where a map belongs",
        ),
        (
            "scenes:\n  - when: {}",
            "line 2, column 5: scenes[0]: `reply` is missing",
        ),
        (
            "scenes: [{reply: a, wen: {}}]",
            "line 1, column 21: scenes[0]: the key 'wen' means nothing here; there is name, when, reply",
        ),
        (
            "scenes: [{reply: 5}]",
            "line 1, column 18: scenes[0].reply: a number stands where a map",
        ),
        (
            "scenes: [{reply: {chunk: 2}}]",
            "line 1, column 18: scenes[0].reply: says nothing",
        ),
        (
            "scenes: [{reply: {text: 5}}]",
            "line 1, column 25: scenes[0].reply.text: a number stands where a text belongs",
        ),
        (
            "scenes: [{reply: {text: a, deltas: [b]}}]",
            "line 1, column 36: scenes[0].reply.deltas: `text` is given too",
        ),
        (
            "scenes: [{reply: '{{x}}'}]",
            "line 1, column 18: scenes[0].reply: '{{x}}' is nothing that `matches` captures",
        ),
        (
            "scenes: [{reply: {text: a, chunk: 0}}]",
            "line 1, column 35: scenes[0].reply.chunk: write a whole number from 1",
        ),
        (
            "scenes: [{reply: {text: a, delay_ms: 60001}}]",
            "line 1, column 38: scenes[0].reply.delay_ms: write a whole number from 0 to 60000",
        ),
        (
            "scenes: [{reply: {text: a, delay_ms: {first: -1}}}]",
            "line 1, column 46: scenes[0].reply.delay_ms.first: write",
        ),
        (
            "scenes: [{reply: {text: a, usage: {tokens: 1}}}]",
            "line 1, column 36: scenes[0].reply.usage: the key 'tokens'",
        ),
        (
            "scenes: [{reply: {fault: fire}}]",
            "line 1, column 26: scenes[0].reply.fault: 'fire' is not known here; write rate_limited, server_error",
        ),
        (
            "scenes: [{reply: {fault: {after_deltas: 1}}}]",
            "line 1, column 26: scenes[0].reply.fault: `kind` is missing",
        ),
        (
            "scenes: [{reply: {fault: {kind: refused, attempts: 0}}}]",
            "line 1, column 52: scenes[0].reply.fault.attempts: write a whole number from 1",
        ),
        (
            "scenes: [{reply: {tool_calls: [{arguments: {}}]}}]",
            "line 1, column 32: scenes[0].reply.tool_calls[0]: `name` is missing",
        ),
        (
            "scenes: [{reply: {tool_calls: [{name: a, arguments: b}]}}]",
            "line 1, column 53: scenes[0].reply.tool_calls[0].arguments: a text is no map",
        ),
        (
            "scenes: [{reply: {tool_calls: [{name: a, arguments: {b: ['{{x}}']}}]}}]",
            "line 1, column 58: scenes[0].reply.tool_calls[0].arguments.b[0]: '{{x}}'",
        ),
        (
            "scenes: [{reply: a, when: {role: bard}}]",
            "line 1, column 34: scenes[0].when.role: 'bard' is not known here; write user, observation",
        ),
        (
            "scenes: [{reply: a, when: {contains: ''}}]",
            "line 1, column 38: scenes[0].when.contains: every message contains an empty text",
        ),
        (
            "scenes: [{reply: a, when: {asked: {contain: b}}}]",
            "line 1, column 36: scenes[0].when.asked: the key 'contain' means nothing here; there is contains",
        ),
        (
            "scenes: [{reply: a, when: {tools: [b, '']}}]",
            "line 1, column 39: scenes[0].when.tools[1]: a tool has a name; write it",
        ),
        (
            "scenes: [{reply: a, when: {tools: {b: c}}}]",
            "line 1, column 35: scenes[0].when.tools: a map stands where a text belongs",
        ),
        (
            "scenes: [{reply: a, when: {contains: [b, 3]}}]",
            "line 1, column 42: scenes[0].when.contains[1]: a number stands",
        ),
        (
            "scenes: [{reply: a, when: {matches: '('}}]",
            "line 1, column 37: scenes[0].when.matches: this is no regular expression: unclosed group",
        ),
        (
            "scenes: [{reply: a, when: {matches: '(a{1000}){1000}'}}]",
            "line 1, column 37: scenes[0].when.matches: this is no regular expression",
        ),
        (
            "scenes: [{reply: a, when: {turn: 0}}]",
            "line 1, column 34: scenes[0].when.turn: write a whole number, 1 or more",
        ),
        (
            "scenes: [{reply: a, when: {turn: {from: 3, to: 2}}}]",
            "line 1, column 34: scenes[0].when.turn: `from` is later than `to`",
        ),
        (
            "scenes: [{reply: a, when: {times: 1.5}}]",
            "line 1, column 35: scenes[0].when.times: write a whole number",
        ),
        (
            "scenes: [{reply: a, when: {system: {is: a}}}]",
            "line 1, column 37: scenes[0].when.system: the key 'is'",
        ),
        (
            "scenes: []\nscenes: []",
            "line 2, column 1: the key 'scenes' stands here twice",
        ),
        (
            "scenes: [",
            "line 1, column 9: this is no valid YAML: unclosed bracket",
        ),
        (
            "scenes: []\n---\nscenes: []",
            "line 2, column 1: a second document begins here",
        ),
    ];
    for (script, wanted) in table {
        let found = problems(script);
        assert!(
            found.len() == 1 && found[0].starts_with(wanted),
            "{script}\n{found:#?}\nbut: {wanted}"
        );
        assert!(!found[0].ends_with('.'), "{found:?}");
    }
}

#[test]
fn all_problems_are_told_at_once_in_order() {
    let script = "scenes:\n  - reply: '{{x}}'\n    when: {role: bard}\n  - when: {turn: no}\n";
    let error = Script::read(script).unwrap_err();
    let lines: Vec<_> = error
        .problems
        .iter()
        .map(|problem| problem.line())
        .collect();
    assert_eq!(lines, [Some(2), Some(3), Some(4), Some(4)]);
    let told = error.to_string();
    assert!(
        told.starts_with("the rehearsal script cannot be played\n  line 2, column 12: "),
        "{told}"
    );
}

#[test]
fn scripts_are_bounded() {
    let scenes = |count: usize| format!("scenes:\n{}", "- reply: a\n".repeat(count));
    assert!(Script::read(&scenes(MAX_SCENES)).is_ok());
    assert!(problems(&scenes(MAX_SCENES + 1))[0].contains("257 items are more than 256"));

    let sized = |bytes: usize| format!("scenes: []\n#{}", "x".repeat(bytes - 12));
    assert!(Script::read(&sized(MAX_SCRIPT_BYTES)).is_ok());
    assert!(problems(&sized(MAX_SCRIPT_BYTES + 1))[0].contains("262144 bytes"));

    // Counted from the root: the list of scenes is the second level.
    let deep = |levels: usize| format!("scenes: {}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(problems(&deep(MAX_SCRIPT_DEPTH))[0].contains("larger or nests deeper"));
    // Here the YAML library's own bound is the first to be met.
    assert!(problems(&deep(50_000))[0].contains("recursion limit exceeded"));
    assert!(problems(&deep(MAX_SCRIPT_DEPTH - 1))[0].contains("where a map belongs"));

    let mut bomb = String::from("a: &a0 [x, x]\n");
    for n in 1..30 {
        let _ = writeln!(bomb, "b{n}: &a{n} [*a{0}, *a{0}]", n - 1);
    }
    assert!(
        problems(&bomb)[0].contains("larger or nests deeper"),
        "{:?}",
        problems(&bomb)
    );

    let many = Script::read(&format!("scenes:\n{}", "- {}\n".repeat(MAX_SCENES))).unwrap_err();
    assert_eq!(many.problems.len(), MAX_SCRIPT_PROBLEMS);
    assert_eq!(many.omitted, MAX_SCENES - MAX_SCRIPT_PROBLEMS);

    let long = problems(&format!("scenes: []\n{}: 1", "k".repeat(500)));
    assert!(long[0].len() < MAX_QUOTED_CHARS + 100, "{long:?}");
}

#[test]
fn files_are_read_within_the_same_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.yaml");
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Script::read_file(&path).map(|script| script.scenes.len())
    };
    assert_eq!(read("scenes: [{reply: 茶}]".as_bytes()), Ok(1));
    assert!(
        read(b"scenes: []\xff")
            .unwrap_err()
            .to_string()
            .contains("not UTF-8")
    );
    let long = "界".repeat(MAX_SCRIPT_BYTES);
    assert!(
        read(long.as_bytes())
            .unwrap_err()
            .to_string()
            .contains("262144 bytes")
    );
    std::fs::remove_file(&path).unwrap();
    let missing = Script::read_file(&path).unwrap_err().to_string();
    assert!(missing.contains("script.yaml' cannot be read"), "{missing}");
}
