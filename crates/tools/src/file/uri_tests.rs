use std::collections::HashSet;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::RunId;

use super::*;
use crate::Reach;

fn person() -> Caller {
    Caller::person(RunId::new("r"))
}

fn agent_of(project: &str) -> Caller {
    let mut caller = Caller::agent("a", RunId::new("r"), Reach::everything());
    caller.project = ProjectId::try_from(project).unwrap();
    caller
}

#[test]
fn texts_mean_places() {
    for (text, expected) in [
        ("/logs/today.log", "user://projects/p/logs/today.log"),
        ("logs/x.txt", "user://projects/p/logs/x.txt"),
        ("./x", "user://projects/p/x"),
        (".", "user://projects/p"),
        ("/", "user://projects/p"),
        ("  a b.txt \n", "user://projects/p/a b.txt"),
        ("a/./b/../c", "user://projects/p/a/c"),
        ("a/..", "user://projects/p"),
        ("folder/", "user://projects/p/folder"),
        ("./a:b.txt", "user://projects/p/a:b.txt"),
        ("12:30.log", "user://projects/p/12:30.log"),
        ("a%2e%2e/x", "user://projects/p/a%2e%2e/x"),
        ("...", "user://projects/p/..."),
        ("~/x", "user://projects/p/~/x"),
        ("user://", "user://"),
        ("user://notes/x", "user://notes/x"),
        ("USER://notes/x", "user://notes/x"),
        ("user://projects/../notes", "user://notes"),
        ("shared://library/a.png", "shared://library/a.png"),
        ("Shared://templates", "shared://templates"),
        ("fam://user/x", "user://x"),
        ("fam://shared/library/x", "shared://library/x"),
        ("FAM://Shared/library/x", "shared://library/x"),
        (
            "fam://project-x/reports/today",
            "user://projects/project-x/reports/today",
        ),
        ("fam://project-x", "user://projects/project-x"),
        ("fam://项目/图.png", "user://projects/项目/图.png"),
        ("cafe\u{301}.md", "user://projects/p/caf\u{e9}.md"),
    ] {
        let uri = resolve(&agent_of("p"), text).map(|uri| uri.to_string());
        assert_eq!(uri.unwrap(), expected, "{text:?}");
    }
}

#[test]
fn what_is_no_place_is_refused() {
    let long = "x".repeat(256);
    let longest = "x".repeat(255);
    let deep = "a/".repeat(65);
    let far = format!("{longest}/").repeat(9);
    for (text, reason) in [
        ("", "file.invalid_path"),
        ("  ", "file.invalid_path"),
        ("http://example.com/x", "file.invalid_path"),
        ("file:///etc/passwd", "file.invalid_path"),
        ("data:text/plain,x", "file.invalid_path"),
        ("C:\\x", "file.invalid_path"),
        ("C:/x", "file.invalid_path"),
        ("a\\b", "file.invalid_path"),
        ("a\0b", "file.invalid_path"),
        ("a\nb", "file.invalid_path"),
        ("a\u{202e}gpj.exe", "file.invalid_path"),
        ("a//b", "file.invalid_path"),
        ("a /b", "file.invalid_path"),
        ("a /", "file.invalid_path"),
        ("a/ b", "file.invalid_path"),
        ("a\u{3000}/", "file.invalid_path"),
        ("//host/x", "file.invalid_path"),
        ("user:///x", "file.invalid_path"),
        ("user:/x", "file.invalid_path"),
        ("user:x", "file.invalid_path"),
        ("fam://", "file.invalid_path"),
        ("fam:///x", "file.invalid_path"),
        ("fam://../x", "file.invalid_path"),
        ("fam://a b/x", "file.invalid_path"),
        (&long, "file.invalid_path"),
        (&deep, "file.invalid_path"),
        (&far, "file.invalid_path"),
        ("..", "file.leaves_root"),
        ("../default/x", "file.leaves_root"),
        ("a/../../x", "file.leaves_root"),
        ("/../x", "file.leaves_root"),
        ("user://../x", "file.leaves_root"),
        ("fam://p/../q/x", "file.leaves_root"),
        ("fam://user/../x", "file.leaves_root"),
        ("shared://x", "file.no_such_root"),
        ("shared://library/../secrets.toml", "file.no_such_root"),
        ("fam://shared/x", "file.no_such_root"),
    ] {
        let error = resolve(&person(), text).expect_err(text);
        assert_eq!(error.reason(), reason, "{text:?}");
    }
    assert!(resolve(&person(), &longest).is_ok());
}

#[test]
fn messages_say_what_is_accepted() {
    for (text, part) in [
        (
            "http://x/y",
            "user://…, shared://…, system://…, fam://<project>/…",
        ),
        ("http://x/y", "'http:' is not among the schemes"),
        ("user:/x", "two slashes belong"),
        ("shared://x", "shared:// has library, templates"),
        ("a\u{202e}b", "'a\u{fffd}b' is no path"),
    ] {
        let message = resolve(&person(), text).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
    let message = resolve(&person(), &"x".repeat(100_000)).unwrap_err();
    assert!(message.to_string().len() < 1000);
}

#[test]
fn the_system_is_not_for_agents() {
    for text in [
        "system://",
        "system://config/x",
        "SYSTEM://logs/x",
        "fam://system/data/x",
        "FAM://SYSTEM/data/x",
        "system://nowhere",
    ] {
        let error = resolve(&agent_of("p"), text).expect_err(text);
        assert_eq!(error.code(), ErrorCode::WorkspacePathDenied, "{text}");
        assert_eq!(error.reason(), "file.system_denied", "{text}");
    }
    let uri = resolve(&person(), "fam://System/logs/x").unwrap();
    assert_eq!(uri.to_string(), "system://logs/x");
    assert!(resolve(&person(), "system://plugins").is_err());
}

#[test]
fn places_know_their_neighbours() {
    let uri = resolve(&person(), "a/b.md").unwrap();
    assert_eq!(uri.scheme(), Scheme::User);
    assert_eq!(uri.path(), "projects/default/a/b.md");
    assert_eq!(uri.file_name(), Some("b.md"));
    let parent = uri.parent().unwrap();
    assert_eq!(parent.to_string(), "user://projects/default/a");
    assert_eq!(parent.join("b.md").unwrap(), uri);
    assert_eq!(parent.join("../a/b.md").unwrap(), uri);
    let root = resolve(&person(), "user://").unwrap();
    assert_eq!(root.parent(), None);
    assert_eq!(root.file_name(), None);
    for (path, reason) in [
        ("/x", "file.invalid_path"),
        ("a\\b", "file.invalid_path"),
        ("../../../..", "file.leaves_root"),
    ] {
        assert_eq!(parent.join(path).unwrap_err().reason(), reason, "{path}");
    }
    let library = resolve(&person(), "shared://library").unwrap();
    assert_eq!(
        library.join("../x").unwrap_err().reason(),
        "file.no_such_root"
    );
    assert!(parent.contains(&uri) && parent.contains(&parent) && !uri.contains(&parent));
    let similar = resolve(&person(), "ab").unwrap();
    assert!(!parent.contains(&similar));
}

#[test]
fn one_place_has_one_name() {
    let mut other = person();
    other.user = UserId::try_from("bea").unwrap();
    let mine = resolve(&person(), "x").unwrap();
    let same = resolve(&person(), "fam://default/./x").unwrap();
    let hers = resolve(&other, "x").unwrap();
    assert_eq!(mine, same);
    assert_eq!(HashSet::from([mine.clone(), same]).len(), 1);
    assert_ne!(mine, hers);
    assert!(!mine.contains(&hers));
    let json = serde_json::to_string(&mine).unwrap();
    assert_eq!(json, "\"user://projects/default/x\"");
}

#[test]
fn what_the_layout_consists_of_is_protected() {
    for (text, expected) in [
        ("user://", true),
        ("user://projects", true),
        ("user://projects/default", true),
        ("user://projects/other", false),
        ("user://notes", false),
        ("shared://", true),
        ("shared://library", true),
        ("shared://library/x", false),
        ("system://logs", true),
        ("x", false),
    ] {
        assert_eq!(
            resolve(&person(), text).unwrap().is_protected(),
            expected,
            "{text}"
        );
    }
}
