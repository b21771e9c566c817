use std::fs;

use tempfile::TempDir;

use super::*;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn flow(id: &str, name: &str) -> String {
    format!(r#"{{"id": "{id}", "name": "{name}", "nodes": []}}"#)
}

#[test]
fn ids_come_before_stems_and_stems_before_names() {
    let room = folder(&[
        ("a.json", &flow("one", "b")),
        ("b.json", &flow("two", "one")),
        ("c.json", &flow("three", "c c")),
        ("notes.txt", "{"),
    ]);
    fs::create_dir(room.path().join("inner.json")).unwrap();
    let source = WorkflowFolder::new([room.path()]);
    let rows = [
        ("one", "one"),
        ("b", "two"),
        ("c c", "three"),
        ("c", "three"),
        ("a", "one"),
    ];
    for (reference, id) in rows {
        let found = source.find(reference).unwrap();
        assert_eq!(found.id.as_deref(), Some(id), "{reference}");
    }
    let listed = source.list();
    let listed: Vec<_> = listed
        .iter()
        .map(|entry| {
            (
                entry.stem.as_str(),
                entry.id().unwrap(),
                entry.name().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        listed,
        [
            ("a", "one", "b"),
            ("b", "two", "one"),
            ("c", "three", "c c")
        ]
    );
}

#[test]
fn what_is_not_there_gets_a_hint() {
    let room = folder(&[("summary.json", &flow("5f", "Summary of a text"))]);
    let source = WorkflowFolder::new([room.path()]);
    let error = source.find("sumary").unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no workflow 'sumary'; did you mean 'summary'?"
    );
    let nowhere = WorkflowFolder::new([room.path().join("missing")]);
    assert!(nowhere.list().is_empty());
    let error = nowhere.find("x").unwrap_err();
    assert_eq!(error.to_string(), "there is no workflow 'x'");
}

#[test]
fn shared_ids_are_told_and_not_guessed() {
    let rooms = [
        folder(&[("a.json", &flow("same", "A"))]),
        folder(&[("b.json", &flow("same", "B"))]),
    ];
    let source = WorkflowFolder::new(rooms.iter().map(TempDir::path));
    let entries = source.list();
    for (entry, other) in [(0, 1), (1, 0)] {
        let (entry, other) = (&entries[entry], &entries[other]);
        let problem = entry.problems.errors().next().unwrap();
        assert_eq!(problem.code, "folder.shared_id");
        assert!(
            problem.message.contains(&*other.path.to_string_lossy()),
            "{problem}"
        );
    }
    let error = source.find("same").unwrap_err();
    let FindError::Ambiguous { places, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(places.len(), 2);
    assert_eq!(source.find("a").unwrap().name, "A");
    // The same folder twice is no second workflow.
    let path = rooms[0].path();
    let twice = WorkflowFolder::new([path.to_owned(), path.join(".")]);
    assert_eq!(twice.find("same").unwrap().name, "A");
}

#[test]
fn broken_files_are_listed_and_not_run() {
    let room = folder(&[
        ("broken.json", "{\n  \"name\": }"),
        ("wrong.json", r#"{"name": "W", "nodes": [1, 2]}"#),
    ]);
    fs::write(room.path().join("latin.json"), b"{\"name\": \"\xe9\"}").unwrap();
    let source = WorkflowFolder::new([room.path()]);
    let entries = source.list();
    let codes: Vec<_> = entries
        .iter()
        .map(|entry| entry.problems.list[0].code)
        .collect();
    assert_eq!(codes, ["file.not_json", "file.not_utf8", "file.wrong_type"]);
    assert_eq!(entries[2].name(), Some("W"));
    let place = |name: &str| room.path().join(name).display().to_string();
    let rows = [
        (
            "broken",
            "broken.json",
            "line 2, column 11: this is not JSON: expected a value",
        ),
        (
            "W",
            "wrong.json",
            "line 1, column 25: nodes[0]: must be an object, is a number (and 1 more)",
        ),
    ];
    for (reference, file, why) in rows {
        let error = source.find(reference).unwrap_err().to_string();
        let expected = format!(
            "the workflow '{reference}' ({}) cannot be read: {why}",
            place(file)
        );
        assert_eq!(error, expected);
    }
}

#[test]
fn files_are_read_again_when_they_changed() {
    let room = folder(&[("a.json", &flow("a", "first"))]);
    let source = WorkflowFolder::new([room.path()]);
    let first = source.find("a").unwrap();
    assert!(Arc::ptr_eq(&first, &source.find("a").unwrap()));
    assert!(Arc::ptr_eq(
        &source.list()[0].reading,
        &source.list()[0].reading
    ));
    fs::write(room.path().join("a.json"), flow("a", "the second")).unwrap();
    assert_eq!(source.find("a").unwrap().name, "the second");
    fs::remove_file(room.path().join("a.json")).unwrap();
    assert!(source.find("a").is_err());
    assert!(source.known().is_empty());
}

#[cfg(unix)]
#[test]
fn links_do_not_lead_out() {
    use std::os::unix::fs::symlink;

    let outside = folder(&[("secret.json", &flow("secret", "S"))]);
    let room = folder(&[("a.json", &flow("a", "A"))]);
    let place = room.path();
    symlink(outside.path().join("secret.json"), place.join("out.json")).unwrap();
    symlink(place.join("a.json"), place.join("in.json")).unwrap();
    symlink(place.join("nothing"), place.join("loose.json")).unwrap();
    let source = WorkflowFolder::new([place]);
    let entries = source.list();
    let listed: Vec<_> = entries
        .iter()
        .map(|entry| {
            (
                entry.stem.as_str(),
                entry.problems.list.first().map(|one| one.code),
            )
        })
        .collect();
    let expected = [
        ("a", None),
        ("in", None),
        ("loose", Some("file.unreadable")),
        ("out", Some("file.outside")),
    ];
    assert_eq!(listed, expected);
    assert!(source.find("secret").is_err());
    // A link inside is another name of the same workflow.
    for reference in ["a", "A", "in"] {
        assert_eq!(source.find(reference).unwrap().name, "A", "{reference}");
    }
}
