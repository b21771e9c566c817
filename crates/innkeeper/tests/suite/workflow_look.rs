//! Looking at workflows without running them: `check`, `list`, `graph`, `nodes`.

use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::{Value, json};

use super::home::House;
use super::workflow::greet;

fn shelved() -> House {
    let house = House::new();
    house.write("projects/default/workflows/greet.json", &greet());
    house
}

/// A loop in a frame, a group, a stream, a node that nobody knows, and names that try to break out.
fn zoo() -> String {
    json!({
        "name": "Zoo \"]; <b>",
        "nodes": [
            {"id": "in", "type": "core:GroupInput"},
            {"id": "box", "type": "core:frame", "displayName": "Box & <co>"},
            {"id": "round", "type": "core:LoopZone", "parentNode": "box"},
            {"id": "first", "type": "core:LoopInput", "parentNode": "round"},
            {"id": "last", "type": "core:LoopOutput", "parentNode": "round"},
            {"id": "group", "type": "core:NodeGroup", "bypassed": true,
             "configValues": {"referencedWorkflowId": "greet"}},
            {"id": "odd", "type": "zoo:Ape<i>", "displayName": "- \"Ape\" |\u{1}end"},
            {"id": "out", "type": "core:GroupOutput"}
        ],
        "edges": [
            {"id": "a", "source": "in", "sourceHandle": "name", "target": "round", "targetHandle": "name"},
            {"id": "b", "source": "first", "sourceHandle": "name", "target": "last", "targetHandle": "name"},
            {"id": "c", "source": "round", "sourceHandle": "name", "target": "group", "targetHandle": "name"},
            {"id": "d", "source": "in", "sourceHandle": "live", "target": "out", "targetHandle": "live"},
            {"id": "e", "source": "group", "sourceHandle": "text", "target": "odd", "targetHandle": "x__0"}
        ],
        "interfaceInputs": {
            "name": {"dataFlowType": "STRING"},
            "live": {"dataFlowType": "STRING", "isStream": true}
        },
        "interfaceOutputs": {"live": {"dataFlowType": "STRING", "isStream": true}}
    })
    .to_string()
}

#[test]
fn check_says_where_and_why() {
    let house = shelved();
    let broken = house.write(
        "own/broken.json",
        &greet().replace("\"source\":\"merge\"", "\"source\":\"nobody\""),
    );
    let broken = broken.to_str().unwrap();
    let run = house.run(&["workflow", "check", "greet", broken]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stdout
            .contains("greet.json: 'Greet' is in order (nodes: 3"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout
            .contains("broken.json: 'Greet' cannot run (errors: 1"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("[edge.unknown_node]"), "{}", run.stdout);
    let quiet = house.run(&["workflow", "check", "greet", broken, "--quiet"]);
    assert!(!quiet.stdout.contains("is in order"), "{}", quiet.stdout);
    assert!(quiet.stdout.contains("cannot run"), "{}", quiet.stdout);

    let run = house.run(&["workflow", "check", "greet", broken, "--json"]);
    let [good, bad]: [Value; 2] = serde_json::from_value(run.json()).unwrap();
    assert_eq!((&good["ok"], &good["errors"]), (&json!(true), &json!(0)));
    assert_eq!((&bad["ok"], &bad["errors"]), (&json!(false), &json!(1)));
    let problem = bad["problems"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["severity"] == "error");
    let problem = problem.unwrap();
    assert_eq!(problem["code"], "edge.unknown_node");
    assert!(problem["position"][0].is_u64(), "{problem}");

    let text = house.fed(&["workflow", "check", "-"], "{\n  \"nodes\": [,]\n}");
    assert_eq!(text.code, Some(1));
    assert!(text.stdout.contains("line 2, column"), "{}", text.stdout);
    let run = house.run(&["workflow", "run", broken]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.ends_with("[workflow.broken]\n"),
        "{}",
        run.stderr
    );
}

#[test]
fn check_names_the_groups() {
    let house = shelved();
    let zoo = house.write("own/zoo.json", &zoo());
    let report = house
        .run(&["workflow", "check", zoo.to_str().unwrap(), "--json"])
        .json();
    let group = json!([{"reference": "greet", "found": true, "id": "greet", "name": "Greet"}]);
    assert_eq!(report[0]["groups"], group);
}

#[test]
fn list_shows_all_places_and_what_hides_what() {
    let house = shelved();
    house.write("library/workflows/greet.json", &greet());
    house.write(
        "library/workflows/one.json",
        &greet().replace("\"greet\"", "\"same\""),
    );
    house.write(
        "library/workflows/two.json",
        &greet().replace("\"greet\"", "\"same\""),
    );
    house.write("library/workflows/torn.json", "{");
    let all = house.json(&["workflow", "list"]);
    let all = all.as_array().unwrap();
    let find = |place: &str, stem: &str| {
        let found = all
            .iter()
            .find(|one| one["where"] == place && one["stem"] == stem);
        found.unwrap_or_else(|| panic!("{place} {stem}: {all:?}"))
    };
    assert_eq!(find("project", "greet")["hiddenBy"], Value::Null);
    assert_eq!(find("library", "greet")["hiddenBy"], "project");
    assert_eq!(find("library", "one")["duplicate"], true);
    assert_eq!(find("library", "torn")["errors"], 1);
    assert_eq!(find("shipped", "agent-loop")["errors"], 0);
    let inputs = &find("project", "greet")["inputs"];
    assert_eq!(
        (&inputs[1]["key"], &inputs[1]["required"]),
        (&json!("name"), &json!(true))
    );

    let run = house.run(&["workflow", "list"]);
    assert!(
        run.stdout.contains("word?, name, count?, tags? → text"),
        "{}",
        run.stdout
    );
    let agent = "user_query, chat_history?, system_prompt?, model?, +7 → reply, final_reply, history, observation, +2";
    assert!(run.stdout.contains(agent), "{}", run.stdout);
    assert!(run.stdout.contains("hidden by project"), "{}", run.stdout);
    assert!(run.stdout.contains("id used twice"), "{}", run.stdout);
    let other = house.json(&["workflow", "list", "--project", "other"]);
    assert!(
        other
            .as_array()
            .unwrap()
            .iter()
            .all(|one| one["where"] != "project")
    );
}

#[test]
fn mermaid_cannot_be_broken_out_of() {
    let house = shelved();
    let zoo = house.write("own/zoo.json", &zoo());
    let run = house.run(&["workflow", "graph", zoo.to_str().unwrap(), "--groups"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let expected = "\
---
title: \"Zoo \\\"]; <b>\"
---
flowchart LR
  n0([\"Group input<br/><small>core:GroupInput</small>\"])
  subgraph n1[\"Box #38; #60;co#62;\"]
    subgraph n2[\"Loop<br/><small>core:LoopZone</small>\"]
      n3([\"Loop input<br/><small>core:LoopInput</small>\"])
      n4([\"Loop output<br/><small>core:LoopOutput</small>\"])
    end
  end
  subgraph n5[\"Node group<br/><small>core:NodeGroup</small>\"]
    n8([\"Group input<br/><small>core:GroupInput</small>\"])
    n9[\"Greeting<br/><small>core:TextMerge</small>\"]
    n10([\"Group output<br/><small>core:GroupOutput</small>\"])
  end
  n6[\"#45; #34;Ape#34; #124; end<br/><small>zoo:Ape#60;i#62;</small>\"]
  n7([\"Group output<br/><small>core:GroupOutput</small>\"])
  n8 -->|\"word → text_inputs\"| n9
  n8 -->|\"name → text_inputs\"| n9
  n9 -->|\"merged_text → text\"| n10
  n0 -->|\"name\"| n2
  n3 -->|\"name\"| n4
  n2 -->|\"name\"| n8
  n0 ==>|\"live\"| n7
  n10 -->|\"text → x\"| n6
";
    assert!(run.stdout.starts_with(expected), "{}", run.stdout);
    assert!(
        run.stdout.contains("  class n5 bypassed\n"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("  class n6 unknown\n"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("  linkStyle 6 "), "{}", run.stdout);
}

/// Reads it to its end; gives all texts in it.
fn well_formed(svg: &str) -> Vec<String> {
    let mut reader = Reader::from_str(svg);
    let (mut depth, mut texts) = (0, Vec::new());
    loop {
        match reader.read_event().unwrap() {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            Event::Text(text) => texts.push(text.into_inner().into_owned()),
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(depth, 0);
    texts
}

#[test]
fn svg_is_whole_whatever_the_names_are() {
    let house = shelved();
    let zoo = house.write("own/zoo.json", &zoo());
    let zoo = zoo.to_str().unwrap();
    let picture = house.path().join("zoo.svg");
    let words = [
        "workflow", "graph", zoo, "--format", "svg", "--groups", "--output",
    ];
    let run = house.run(&[&words[..], &[picture.to_str().unwrap()]].concat());
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), ""),
        "{}",
        run.stderr
    );
    let svg = std::fs::read_to_string(picture).unwrap();
    let texts = well_formed(&svg);
    assert!(texts.iter().any(|text| text == "Greeting"), "{texts:?}");
    assert!(svg.contains("prefers-color-scheme"));
    assert_eq!(svg.matches("class=\"wire ").count(), 8);
    assert_eq!(svg.matches(" flow\"").count(), 1);
    // No box lies on another of its kind: every node has a place of its own.
    let places: Vec<&str> = svg
        .split("<g transform=\"translate(")
        .skip(2)
        .filter_map(|part| part.split(')').next())
        .collect();
    let different: std::collections::HashSet<&&str> = places.iter().collect();
    assert_eq!(places.len(), different.len(), "{places:?}");

    for shipped in [
        "agent-loop",
        "report",
        "summarise",
        "core:LLMDecisionWithTools",
    ] {
        well_formed(
            &house
                .run(&["workflow", "graph", shipped, "--format", "svg"])
                .stdout,
        );
    }
    let run = house.run(&[&words[..], &["/nowhere/zoo.svg"]].concat());
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.ends_with("[output.unwritable]\n"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_workflow_that_is_too_large_is_not_drawn() {
    let house = House::new();
    let many = |nodes: usize, wires: usize| {
        let nodes: Vec<Value> = (0..nodes)
            .map(|number| json!({"id": format!("n{number}"), "type": "core:TextMerge"}))
            .collect();
        let edges: Vec<Value> = (0..wires)
            .map(|number| {
                json!({"id": format!("e{number}"), "source": "n0", "sourceHandle": "merged_text",
                       "target": "n1", "targetHandle": format!("text_inputs__{number}")})
            })
            .collect();
        json!({"name": "Many", "nodes": nodes, "edges": edges}).to_string()
    };
    for (nodes, wires, code) in [(2_000, 0, 0), (2_001, 0, 1), (2, 10_000, 0), (2, 10_001, 1)] {
        let words = ["workflow", "graph", "-", "--format", "svg"];
        let run = house.fed(&words, &many(nodes, wires));
        assert_eq!(run.code, Some(code), "{nodes} {wires}: {}", run.stderr);
        let is_refused = run.stderr.ends_with("[workflow.too_large_to_draw]\n");
        assert_eq!(is_refused, code == 1, "{}", run.stderr);
    }
}

#[test]
fn nodes_are_listed_and_shown() {
    let house = House::new();
    let run = house.run(&["workflow", "nodes", "--category", "flow"]);
    assert!(run.stdout.contains("core:LoopZone"), "{}", run.stdout);
    assert!(!run.stdout.contains("core:TextMerge"), "{}", run.stdout);
    let found = house.json(&["workflow", "nodes", "--search", "textmerge"]);
    assert_eq!(found[0]["type"], "core:TextMerge");

    let run = house.run(&["workflow", "nodes", "LoopZone"]);
    for fragment in [
        "core:LoopZone",
        "maxIterations",
        "stoppedBy",
        "until",
        "INPUT",
        "SETTING",
    ] {
        assert!(run.stdout.contains(fragment), "{fragment}: {}", run.stdout);
    }
    for (kind, results) in [
        (
            "core:Code",
            Some("made anew each time, unless the setting 'deterministic' is true"),
        ),
        ("core:HttpRequest", Some("made anew each time\n")),
        ("core:If", None),
    ] {
        let run = house.run(&["workflow", "nodes", kind]);
        let line = run.stdout.lines().find(|line| line.starts_with("Results"));
        match results {
            Some(results) => assert!(run.stdout.contains(results), "{}", run.stdout),
            None => assert_eq!(line, None),
        }
    }
    let shown = house.json(&["workflow", "nodes", "core:If"]);
    assert_eq!(shown["inputs"][0]["key"], "condition");
    assert_eq!(shown["inputs"][0]["required"], true);

    let run = house.run(&["workflow", "nodes", "core:LoopZon"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains("did you mean core:LoopZone?"),
        "{}",
        run.stderr
    );
}
