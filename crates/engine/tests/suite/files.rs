//! Workflow files: the corpus is read as it should be, and saved to the same bytes.

use std::fs;
use std::path::PathBuf;

use innkeeper_engine::{Workflow, WorkflowFolder, WorkflowSource};
use proptest::prelude::*;

/// File, nodes, edges, inputs and outputs, and the problems that it should have.
#[rustfmt::skip]
const CORPUS: &[(&str, [usize; 4], &[&str])] = &[
    ("compact.json", [2, 1, 1, 1], &[]),
    ("default-first.json", [2, 0, 0, 1], &[]),
    ("default-later.json", [2, 1, 1, 1], &[]),
    ("default-today.json", [2, 0, 0, 0], &[]),
    ("every-core-node.json", [26, 0, 0, 0], &[]),
    ("execution.json", [2, 0, 0, 0], &[]),
    ("fragment.json", [2, 1, 0, 0], &[]),
    ("frame.json", [3, 1, 0, 0], &[]),
    ("group-legacy.json", [1, 0, 0, 0], &[]),
    ("group-nested.json", [3, 2, 1, 1], &[]),
    ("group-twice.json", [4, 4, 1, 2], &[]),
    ("missing-plugin.json", [2, 1, 0, 1], &[]),
    ("modes.json", [2, 1, 0, 1], &[]),
    ("multi-input.json", [3, 4, 3, 1], &[]),
    ("payload-bypass.json", [3, 2, 0, 1], &[
        "line 1, column 1: name: the workflow has no name; it is called 'payload-bypass'",
    ]),
    ("shout.json", [3, 4, 2, 2], &[]),
    ("streams.json", [5, 5, 0, 2], &[]),
    ("unknown-keys.json", [2, 1, 0, 1], &[
        "line 14, column 7: nodes[0]: 'colour' stands here more than once; the last one counts",
    ]),
    ("windows.json", [1, 0, 0, 0], &[]),
];

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn text(name: &str) -> String {
    fs::read_to_string(corpus().join(name)).unwrap()
}

fn read(name: &str) -> Workflow {
    Workflow::read(&text(name)).workflow.unwrap()
}

#[test]
fn every_file_is_in_the_table() {
    let names = fs::read_dir(corpus()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".json")).collect();
    names.sort();
    let listed: Vec<_> = CORPUS.iter().map(|(name, _, _)| *name).collect();
    assert_eq!(names, listed);
}

#[test]
fn the_corpus_reads_as_it_should() {
    for (name, counts, problems) in CORPUS {
        let reading = Workflow::read(&text(name));
        let found: Vec<_> = reading
            .problems
            .list
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, *problems, "{name}");
        assert!(!reading.problems.has_errors(), "{name}");
        let flow = reading.workflow.unwrap();
        let found = [
            flow.nodes.len(),
            flow.edges.len(),
            flow.inputs.len(),
            flow.outputs.len(),
        ];
        assert_eq!(found, *counts, "{name}");
    }
}

#[test]
fn the_corpus_is_saved_to_the_same_bytes() {
    for (name, _, _) in CORPUS {
        assert_eq!(read(name).to_text(), text(name), "{name}");
    }
}

/// Changes that go to and fro leave no trace, wherever they are made.
#[test]
fn what_was_changed_back_is_the_same_file() {
    for (name, _, _) in CORPUS {
        let mut flow = read(name);
        let (title, first) = (flow.name.clone(), flow.nodes[0].id.clone());
        flow.name = "Another".to_owned();
        assert!(flow.rename_node(&first, "another"));
        assert_ne!(flow.to_text(), text(name), "{name}");
        flow.name = title;
        assert!(flow.rename_node("another", &first));
        assert_eq!(flow.to_text(), text(name), "{name}");
    }
}

#[test]
fn a_changed_name_changes_that_value_alone() {
    for (name, _, _) in CORPUS {
        let before = text(name);
        let mut flow = read(name);
        flow.name = "Renamed \"so\"".to_owned();
        let after = flow.to_text();
        assert_eq!(
            Workflow::read(&after).workflow.as_ref(),
            Some(&flow),
            "{name}"
        );
        let start = before
            .bytes()
            .zip(after.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        let (before, after) = (before.as_bytes(), after.as_bytes());
        let ends = before.iter().rev().zip(after.iter().rev());
        let end = ends.take_while(|(a, b)| a == b).count();
        let changed = String::from_utf8_lossy(&after[start..after.len() - end]).into_owned();
        let most = r#","name": "Renamed \"so\"","#.len() + 8;
        assert!(changed.len() <= most, "{name}: {changed}");
    }
}

#[test]
fn changed_files_say_what_was_changed() {
    for (name, _, _) in CORPUS {
        let mut flow = read(name);
        let last = flow.nodes.last().unwrap().id.clone();
        flow.nodes[0].input("new", "value").setting("mode", 3);
        flow.nodes[0].bypassed = !flow.nodes[0].bypassed;
        flow.nodes[0].execution.retry = 2;
        flow.add_node("core:TextMerge", "added");
        flow.connect(("added", "merged_text"), (&last, "slot"));
        flow.add_input("extra", innkeeper_engine::DataFlowType::Object)
            .required();
        let saved = Workflow::read(&flow.to_text());
        assert!(!saved.problems.has_errors(), "{name}: {}", saved.problems);
        assert_eq!(saved.workflow.unwrap(), flow, "{name}");
    }
}

#[test]
fn the_corpus_is_found_by_id_stem_and_name() {
    let folder = WorkflowFolder::new([corpus()]);
    assert_eq!(folder.list().len(), CORPUS.len());
    let rows = [
        ("8c3e0f52-0d5f-4d0e-9a54-5f9f0f1d0001", "Shout"),
        ("shout", "Shout"),
        ("Shout", "Shout"),
        ("default-first", "New workflow"),
        ("payload-bypass", "payload-bypass"),
    ];
    for (reference, name) in rows {
        assert_eq!(folder.find(reference).unwrap().name, name, "{reference}");
    }
}

/// One way to spoil a text.
#[derive(Debug, Clone)]
enum Spoil {
    Cut(usize),
    Drop(usize, usize),
    Insert(usize, &'static str),
    Twice(usize, usize),
}

fn spoil() -> impl Strategy<Value = Spoil> {
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "null",
        "0",
        "1e999",
        "\"id\":",
        "\u{0}",
        "{}",
        "\\ud800",
        "true",
        "\"nodes\":[],",
        "\u{feff}",
        "é",
    ];
    prop_oneof![
        any::<usize>().prop_map(Spoil::Cut),
        (any::<usize>(), 0usize..40).prop_map(|(at, long)| Spoil::Drop(at, long)),
        (any::<usize>(), prop::sample::select(pieces.to_vec()))
            .prop_map(|(at, piece)| Spoil::Insert(at, piece)),
        (any::<usize>(), 0usize..200).prop_map(|(at, long)| Spoil::Twice(at, long)),
    ]
}

fn spoiled(text: &str, spoils: &[Spoil]) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for spoil in spoils {
        let length = characters.len();
        let place = |at: &usize| at % (length + 1);
        match spoil {
            Spoil::Cut(at) => characters.truncate(place(at)),
            Spoil::Drop(at, long) => {
                let start = place(at);
                characters.drain(start..(start + long).min(length));
            }
            Spoil::Insert(at, piece) => {
                let start = place(at);
                characters.splice(start..start, piece.chars());
            }
            Spoil::Twice(at, long) => {
                let start = place(at);
                let part = characters[start..(start + long).min(length)].to_vec();
                characters.splice(start..start, part);
            }
        }
    }
    characters.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever stands in a file: reading ends, says so, and what was understood is saved to the same bytes.
    #[test]
    fn spoiled_files_do_no_harm(
        (name, _, _) in prop::sample::select(CORPUS),
        spoils in prop::collection::vec(spoil(), 1..4),
    ) {
        let text = spoiled(&text(name), &spoils);
        let reading = Workflow::read(&text);
        match reading.workflow {
            None => prop_assert!(reading.problems.has_errors()),
            Some(mut flow) => {
                prop_assert_eq!(flow.to_text(), text);
                flow.name = "changed".to_owned();
                flow.add_node("core:TextMerge", "brand new");
                let saved = Workflow::read(&flow.to_text()).workflow;
                prop_assert_eq!(saved, Some(flow));
            }
        }
    }
}
