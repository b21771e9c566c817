use super::*;

#[test]
fn one_spelling_for_each_file() {
    for (text, path) in [
        ("output/main.md", "output/main.md"),
        ("./output//main.md", "output/main.md"),
        ("output\\a\\b.md", "output/a/b.md"),
        (" output/ ", "output"),
        ("persist/稳定/😀.md", "persist/稳定/😀.md"),
        ("output/a b.md", "output/a b.md"),
        ("output/..a", "output/..a"),
        ("output/a:b", "output/a:b"),
    ] {
        assert_eq!(WorkspacePath::parse(text).unwrap().as_str(), path, "{text}");
    }
}

#[test]
fn what_is_no_path_says_why() {
    let long = "x".repeat(MAX_WORKSPACE_NAME_BYTES + 1);
    let most = "x".repeat(MAX_WORKSPACE_NAME_BYTES);
    let deep = ["d"; MAX_WORKSPACE_PATH_SEGMENTS + 1].join("/");
    for (text, fault) in [
        ("", PathFault::Empty),
        (" ", PathFault::Empty),
        ("./.", PathFault::Empty),
        ("a\0b", PathFault::Control),
        ("a\nb", PathFault::Control),
        ("/etc/passwd", PathFault::Absolute),
        ("\\\\server", PathFault::Absolute),
        ("C:/x", PathFault::Drive),
        ("c:x", PathFault::Drive),
        ("..", PathFault::Parent),
        ("output/../x", PathFault::Parent),
        ("output\\..", PathFault::Parent),
        (&long, PathFault::LongName),
        (&format!("{most}/{most}/{most}"), PathFault::TooLong),
        (&deep, PathFault::TooDeep),
    ] {
        assert_eq!(WorkspacePath::parse(text), Err(fault), "{text:?}");
    }
    assert!(WorkspacePath::parse(&most).is_ok());
    assert!(WorkspacePath::parse(&["d"; MAX_WORKSPACE_PATH_SEGMENTS].join("/")).is_ok());
}

#[test]
fn roots_and_folders() {
    let path = WorkspacePath::parse("output/a/b.md").unwrap();
    assert_eq!(path.root(), "output");
    assert!(!path.is_root());
    assert_eq!(path.parents().collect::<Vec<_>>(), ["output/a", "output"]);
    assert!(WorkspacePath::parse("output").unwrap().is_root());
    assert!(is_below("output/a", "output"));
    assert!(!is_below("outputs/a", "output"));
    assert!(!is_below("output", "output"));
}
