use super::super::house_tests::House;
use super::*;

fn options(depth: usize, limit: usize) -> ListOptions {
    ListOptions { depth, limit }
}

#[tokio::test]
async fn folders_are_listed_by_level_and_name() {
    let house = House::new();
    for path in ["b.md", "a/2.md", "a/1.md", "a/deep/er/x", "a.md"] {
        house.put(path, "x");
    }
    for (depth, expected) in [
        (1, vec!["a/", "a.md", "b.md"]),
        (2, vec!["a/", "a/1.md", "a/2.md", "a/deep/", "a.md", "b.md"]),
        (
            99,
            vec![
                "a/",
                "a/1.md",
                "a/2.md",
                "a/deep/",
                "a/deep/er/",
                "a/deep/er/x",
                "a.md",
                "b.md",
            ],
        ),
    ] {
        assert_eq!(house.names(".", depth).await, expected, "{depth}");
    }
}

#[tokio::test]
async fn roots_show_what_is_mounted() {
    let house = House::new();
    std::fs::write(house.home().join("users/default/me.md"), "x").unwrap();
    // Hidden behind the real projects.
    std::fs::create_dir(house.home().join("users/default/projects")).unwrap();
    std::fs::write(house.home().join("users/default/projects/no"), "x").unwrap();
    std::fs::write(house.home().join("library/a.png"), "x").unwrap();
    for (root, expected) in [
        ("user://", vec!["me.md", "projects/", "projects/default/"]),
        ("shared://", vec!["library/", "library/a.png", "templates/"]),
        ("system://", vec!["config/", "data/", "logs/", "public/"]),
    ] {
        assert_eq!(house.names(root, 2).await, expected, "{root}");
        let stat = house.files.stat(&house.uri(root)).await.unwrap();
        assert_eq!(stat.kind, Kind::Directory);
    }
    let two = house
        .files
        .list(&house.uri("system://"), options(1, 2))
        .await
        .unwrap();
    assert!(two.truncated && two.entries.len() == 2);
}

#[tokio::test]
async fn one_huge_folder_does_not_hide_its_neighbours() {
    let house = House::new();
    for number in 0..50 {
        house.put(&format!("a/{number:02}"), "");
    }
    house.put("z/last", "");
    let listing = house
        .files
        .list(&house.uri("."), options(2, 10))
        .await
        .unwrap();
    assert!(listing.truncated);
    let names: Vec<&str> = listing
        .entries
        .iter()
        .filter_map(|e| e.uri.file_name())
        .collect();
    assert_eq!(
        names,
        ["a", "00", "01", "02", "03", "04", "05", "06", "07", "z"]
    );
}

#[tokio::test]
async fn limits_hold() {
    let house = House::new();
    let uri = house.uri("many");
    let folder = house.project().join("many");
    std::fs::create_dir(&folder).unwrap();
    for (count, limit, expected, truncated) in [
        (3, 3, 3, false),
        (4, 3, 3, true),
        (MAX_LIST_ENTRIES, usize::MAX, MAX_LIST_ENTRIES, false),
        (MAX_LIST_ENTRIES + 1, usize::MAX, MAX_LIST_ENTRIES, true),
    ] {
        for number in std::fs::read_dir(&folder).unwrap().count()..count {
            std::fs::write(folder.join(number.to_string()), "").unwrap();
        }
        let listing = house.files.list(&uri, options(1, limit)).await.unwrap();
        assert_eq!(
            (listing.entries.len(), listing.truncated),
            (expected, truncated),
            "{count}"
        );
    }
    let deep = "d/".repeat(MAX_LIST_DEPTH + 2);
    house.put(&format!("{deep}x"), "");
    assert_eq!(house.names("d", 99).await.len(), MAX_LIST_DEPTH);
}

#[cfg(unix)]
#[tokio::test]
async fn names_that_cannot_be_written_are_counted() {
    use std::os::unix::ffi::OsStrExt;
    let house = House::new();
    for name in [&b"bad\xff"[..], b"back\\slash", b"line\nbreak", b"good"] {
        std::fs::write(house.project().join(std::ffi::OsStr::from_bytes(name)), "").unwrap();
    }
    let listing = house
        .files
        .list(&house.uri("."), options(1, 10))
        .await
        .unwrap();
    assert_eq!((listing.entries.len(), listing.skipped), (1, 3));
    assert!(!listing.truncated);
}

#[tokio::test]
async fn of_two_unicode_twins_the_reachable_one_is_listed() {
    let house = House::new();
    house.put("caf\u{e9}", "composed");
    house.put("cafe\u{301}", "decomposed!");
    let listing = house
        .files
        .list(&house.uri("."), options(1, 10))
        .await
        .unwrap();
    let sizes: Vec<u64> = listing.entries.iter().map(|entry| entry.size).collect();
    assert_eq!(sizes, [8]);
}

#[tokio::test]
async fn what_is_no_folder_is_not_listed() {
    let house = House::new();
    house.put("file", "x");
    for (path, reason) in [
        ("file", "file.not_a_directory"),
        ("missing", "file.not_found"),
        ("file/x", "file.not_a_directory"),
    ] {
        let error = house
            .files
            .list(&house.uri(path), options(1, 10))
            .await
            .unwrap_err();
        assert_eq!(error.reason(), reason, "{path}");
    }
    let error = house.files.stat(&house.uri("missing")).await.unwrap_err();
    assert_eq!(error.reason(), "file.not_found");
}

#[tokio::test]
async fn a_stat_tells_size_and_time() {
    let house = House::new();
    let stat = house.files.stat(&house.put("x", "12345")).await.unwrap();
    assert_eq!((stat.kind, stat.size), (Kind::File, 5));
    assert!(stat.modified.is_some());
    let json = serde_json::to_value(&stat).unwrap();
    assert_eq!(json["uri"], "user://projects/default/x");
    assert_eq!(json["kind"], "file");
}
