use serde_json::json;

use super::*;

const SEEN: &str = "Observation: Tool x executed successfully. Result: 1";

/// The number of the scene that is played; the scenes say nothing else.
fn played(script: &str, messages: Vec<Message>, tools: &[&str]) -> Option<usize> {
    let script = Script::read(script).unwrap();
    let mut request = ModelRequest::new("", messages);
    let spec = |name: &&str| ToolSpec {
        name: (*name).to_owned(),
        description: String::new(),
        parameters: json!({}).into(),
    };
    request.tools = tools.iter().map(spec).collect();
    let scene = pick(&script, &request).scene?;
    script
        .scenes
        .iter()
        .position(|one| std::ptr::eq(one, scene))
}

#[test]
fn what_was_asked_counts_however_many_observations_came_since() {
    let script = "scenes:\n\
        - {when: {role: observation, asked: [Tea, milk]}, reply: a}\n\
        - {when: {role: observation, asked: {matches: '^roll (.)'}, times: 1}, reply: b}\n\
        - {when: {role: observation, asked: {equals: ' Stop '}}, reply: c}\n\
        - {when: {asked: hello}, reply: d}";
    let user = Message::user;
    let tool = || Message::tool_result("c", "1");
    let said = || Message::assistant("…");
    let table = [
        (vec![user("tea, please"), said(), user(SEEN)], Some(0)),
        (
            vec![user("MILK"), said(), user(SEEN), said(), tool()],
            Some(0),
        ),
        (vec![user("roll 2"), said(), tool()], Some(1)),
        // Once only, in what was said before too.
        (vec![user("roll 2"), said(), tool(), said(), tool()], None),
        (
            vec![user("tea"), said(), user("stop"), said(), tool()],
            Some(2),
        ),
        (vec![user("tea"), said(), user("no"), said(), tool()], None),
        (vec![user("hello"), said(), user("bye")], None),
        (vec![user("Hello")], Some(3)),
        (vec![tool()], None),
    ];
    for (messages, wanted) in table {
        let shown = format!("{messages:?}");
        assert_eq!(played(script, messages, &[]), wanted, "{shown}");
    }
}

#[test]
fn a_tool_is_offered_natively_or_in_the_instructions() {
    let script = "scenes:\n\
        - {when: {tools: agent.delegate}, reply: a}\n\
        - {when: {tools: ['core:If', File.Read]}, reply: b}";
    let table = [
        ("", vec!["agent.delegate"], Some(0)),
        ("", vec!["x", "agent_delegate"], Some(0)),
        ("", vec!["core__If"], Some(1)),
        ("", vec!["File_Read"], Some(1)),
        ("", vec!["agent_delegates"], None),
        ("", vec!["file_read"], None),
        ("* `agent.delegate`: asks another agent", vec![], Some(0)),
        ("there is no agent.delegate", vec![], None),
        ("use `File.Read` first", vec!["File_Write"], Some(1)),
    ];
    for (system, tools, wanted) in table {
        let messages = vec![Message::system(system), Message::user("go")];
        assert_eq!(
            played(script, messages, &tools),
            wanted,
            "{system} {tools:?}"
        );
    }
    // Somebody who only talks of a tool offers none.
    let talk = vec![Message::user("call `agent.delegate`")];
    assert_eq!(played(script, talk, &[]), None);
}
