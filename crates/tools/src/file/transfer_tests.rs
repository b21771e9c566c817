use super::super::house_tests::House;
use super::*;

#[tokio::test]
async fn things_move() {
    let house = House::new();
    house.put("a/x", "x");
    for (from, to) in [
        ("a/x", "b/c/y"),
        ("b", "d/e"),
        ("d/e/c/y", "shared://library/y"),
        ("shared://library/y", "fam://other/y"),
        ("fam://other", "user://kept"),
    ] {
        let stat = house
            .files
            .rename(&house.uri(from), &house.uri(to))
            .await
            .unwrap();
        assert_eq!(stat.uri, house.uri(to));
        assert!(house.files.stat(&house.uri(from)).await.is_err(), "{from}");
    }
    let text = house
        .files
        .read_text(&house.uri("user://kept/y"), 9)
        .await
        .unwrap();
    assert_eq!(text, "x");
}

#[tokio::test]
async fn things_are_copied() {
    let house = House::new();
    house.put("a/x", "x");
    house.put("a/deep/y", "yy");
    for (from, to) in [
        ("a/x", "b/x"),
        ("a", "shared://templates/t"),
        ("user://projects/default", "user://backup"),
    ] {
        house
            .files
            .copy(&house.uri(from), &house.uri(to))
            .await
            .unwrap();
    }
    assert_eq!(house.get("a/x"), "x");
    assert_eq!(house.get("b/x"), "x");
    assert_eq!(
        house.names("shared://templates", 9).await,
        ["t/", "t/deep/", "t/deep/y", "t/x"]
    );
    assert_eq!(house.names("user://backup", 1).await, ["a/", "b/"]);
}

#[tokio::test]
async fn nothing_is_overwritten_and_no_root_moves() {
    let house = House::new();
    house.put("a/x", "x");
    house.put("b", "b");
    std::fs::create_dir(house.project().join("empty")).unwrap();
    for (from, to, renamed, copied) in [
        ("a/x", "b", "file.exists", "file.exists"),
        ("a", "empty", "file.exists", "file.exists"),
        ("b", "empty", "file.exists", "file.exists"),
        ("a", "a/y", "file.into_itself", "file.into_itself"),
        ("a", "a", "file.into_itself", "file.into_itself"),
        ("missing", "y", "file.not_found", "file.not_found"),
        ("b", "b/c", "file.into_itself", "file.into_itself"),
        ("a", "b/c", "file.not_a_directory", "file.not_a_directory"),
        ("b", "user://projects/default", "file.exists", "file.exists"),
        ("b", "shared://library", "file.exists", "file.exists"),
        ("shared://library", "y", "file.protected", "file.protected"),
        ("user://projects", "y", "file.protected", "file.protected"),
        (
            "user://projects/default",
            "user://y/../projects/y",
            "file.protected",
            "",
        ),
    ] {
        let (source, target) = (house.uri(from), house.uri(to));
        let error = house.files.rename(&source, &target).await.unwrap_err();
        assert_eq!(error.reason(), renamed, "{from} {to}");
        let result = house.files.copy(&source, &target).await;
        let reason = result.map_or_else(|e| e.reason(), |_| "");
        assert_eq!(reason, copied, "{from} {to}");
    }
    assert_eq!((house.get("b"), house.get("a/x")), ("b".into(), "x".into()));
    let missing = house
        .files
        .rename(&house.uri("no"), &house.uri("new/y"))
        .await;
    assert!(missing.is_err() && !house.project().join("new").exists());
}

#[tokio::test]
async fn a_copy_is_bounded_and_leaves_nothing_behind() {
    let house = House::new();
    let file = std::fs::File::create(house.project().join("huge")).unwrap();
    file.set_len(MAX_COPY_BYTES + 1).unwrap();
    let copied = house
        .files
        .copy(&house.uri("huge"), &house.uri("copy"))
        .await;
    assert_eq!(copied.unwrap_err().reason(), "file.copy_too_large");

    for path in ["few/1", "few/2", "few/deep/3"] {
        house.put(path, "12345");
    }
    let deep = "d/".repeat(MAX_PATH_SEGMENTS + 2);
    std::fs::create_dir_all(house.project().join(deep)).unwrap();
    let stop = Stop::new();
    for (from, entries, bytes, fits) in [
        ("few", 5, 15, true),
        ("few", 4, 15, false),
        ("few", 5, 14, false),
        ("d", MAX_COPY_ENTRIES, MAX_COPY_BYTES, false),
    ] {
        let (source, target) = (house.uri(from), house.uri("copy"));
        let (source, target) = ends(&house.files.0.mounts, &source, &target)
            .map(|(source, target)| ((source.dir, source.name), (target.dir, target.name)))
            .unwrap();
        let uri = house.uri("copy");
        let mut copying = Copying::new(&uri, Original::Stays, &stop);
        assert_eq!(
            (copying.entries, copying.bytes),
            (MAX_COPY_ENTRIES, MAX_COPY_BYTES)
        );
        (copying.entries, copying.bytes) = (entries, bytes);
        let done = copying.under_new_name((&source.0, &source.1), (&target.0, &target.1), &uri);
        assert_eq!(done.is_ok(), fits, "{from} {entries} {bytes}");
        if let Err(e) = done {
            assert_eq!(e.reason(), "file.copy_too_large");
        } else {
            std::fs::remove_dir_all(house.project().join("copy")).unwrap();
        }
        assert_eq!(std::fs::read_dir(house.project()).unwrap().count(), 3);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_copied_as_links_and_pipes_not_at_all() {
    let house = House::new();
    house.put("a/x", "x");
    std::os::unix::fs::symlink("/etc/passwd", house.project().join("a/link")).unwrap();
    house
        .files
        .copy(&house.uri("a"), &house.uri("b"))
        .await
        .unwrap();
    let target = std::fs::read_link(house.project().join("b/link")).unwrap();
    assert_eq!(target.to_str(), Some("/etc/passwd"));
    let error = house
        .files
        .copy(&house.uri("a/link"), &house.uri("c"))
        .await
        .unwrap_err();
    assert_eq!(error.reason(), "file.link");

    let _socket = std::os::unix::net::UnixListener::bind(house.project().join("a/s")).unwrap();
    let error = house
        .files
        .copy(&house.uri("a"), &house.uri("c"))
        .await
        .unwrap_err();
    assert_eq!(error.reason(), "file.special");
    assert_eq!(house.names(".", 1).await, ["a/", "b/"]);
}

#[tokio::test]
async fn a_stopped_copy_leaves_nothing_behind() {
    let house = House::new();
    house.put("a/x", "x");
    let stop = Stop::new();
    stop.cancel();
    let (from, to) = (house.uri("a"), house.uri("b"));
    let error = copy(&house.files.0.mounts, &from, &to, &stop).unwrap_err();
    assert_eq!(error.reason(), "file.stopped");
    assert_eq!(house.names(".", 1).await, ["a/"]);
}

/// Where the library is a link to another disk, its owner's wish, moving there means copying.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn things_move_and_are_recycled_across_file_systems() {
    let Ok(other_disk) = tempfile::TempDir::new_in("/dev/shm") else {
        return;
    };
    let house = House::new();
    std::fs::remove_dir(house.home().join("library")).unwrap();
    std::os::unix::fs::symlink(other_disk.path(), house.home().join("library")).unwrap();
    house.put("a/deep/x", "x");
    std::os::unix::fs::symlink("deep", house.project().join("a/link")).unwrap();
    let (here, there) = (house.uri("a"), house.uri("shared://library/a"));

    house.files.rename(&here, &there).await.unwrap();
    assert!(other_disk.path().join("a/deep/x").is_file());
    assert!(other_disk.path().join("a/link").is_symlink());
    assert!(house.names(".", 1).await.is_empty());

    let recycled = house.files.delete(&there, "me").await.unwrap();
    assert_eq!(std::fs::read_dir(other_disk.path()).unwrap().count(), 0);
    let back = house
        .files
        .restore(&house.person, recycled.id)
        .await
        .unwrap();
    assert_eq!(back, there);
    assert!(other_disk.path().join("a/deep/x").is_file());
    assert!(
        house
            .files
            .recycled(&house.person)
            .await
            .unwrap()
            .is_empty()
    );
}
