//! Attempts to get out, or to get stuck.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::house_tests::House;
use super::*;

/// Every path below a folder.
fn everything(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        found.insert(entry.path());
        if entry.file_type().unwrap().is_dir() {
            everything(&entry.path(), found);
        }
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("..".to_owned()),
        Just("/".to_owned()),
        Just("//".to_owned()),
        Just("../".to_owned()),
        Just(".".to_owned()),
        Just("\\".to_owned()),
        Just("\0".to_owned()),
        Just("%2e%2e%2f".to_owned()),
        Just("．．／".to_owned()),
        Just("user://".to_owned()),
        Just("shared://".to_owned()),
        Just("system://".to_owned()),
        Just("fam://".to_owned()),
        Just("file:///".to_owned()),
        Just("projects".to_owned()),
        Just("library".to_owned()),
        Just("default".to_owned()),
        Just("/etc".to_owned()),
        Just("out".to_owned()),
        Just("e\u{301}".to_owned()),
        "[a-z]{1,3}",
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// Whatever is written, by whomever, under whatever name: it lands inside a mount, and what an agent writes never
/// in the system's. `out` is a link that leads out.
#[test]
fn nothing_lands_outside() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let house = House::new();
    let outside = house.world.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    #[cfg(unix)]
    for folder in ["projects/default", "projects", "users/default", "library"] {
        std::os::unix::fs::symlink(&outside, house.home().join(folder).join("out")).unwrap();
    }
    let look = |by_agent: bool| {
        let mut found = BTreeSet::new();
        everything(house.world.path(), &mut found);
        let mut open = vec!["projects", "users/default", "library", "templates"];
        if !by_agent {
            open.extend(["config", "data", "logs", "public"]);
        }
        found.retain(|path| {
            !open
                .iter()
                .any(|mount| path.starts_with(house.home().join(mount)))
        });
        found
    };
    let config = ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let texts = (prop_oneof![pieces(), any::<String>()], any::<bool>());
    let result = TestRunner::new(config).run(&texts, |(text, by_agent)| {
        let caller = if by_agent {
            &house.agent
        } else {
            &house.person
        };
        let Ok(uri) = house.files.resolve(caller, &text) else {
            return Ok(());
        };
        let again = house.files.resolve(caller, &uri.to_string());
        prop_assert_eq!(
            again.unwrap(),
            uri.clone(),
            "the canonical form means itself"
        );
        let before = look(by_agent);
        let written = runtime.block_on(house.files.append(&uri, b"x".to_vec()));
        if let Ok(stat) = written {
            prop_assert_eq!(&stat.uri, &uri);
            let content = runtime.block_on(house.files.read(&uri, 9)).unwrap();
            prop_assert_eq!(content, b"x");
            runtime
                .block_on(house.files.write(&uri, b"y".to_vec(), WriteMode::Replace))
                .unwrap();
            // Not by deleting: the bin is not a mount.
            let moved = house.files.0.mounts.place(&uri).unwrap();
            moved.dir.remove_file(&moved.name).unwrap();
        }
        prop_assert_eq!(look(by_agent), before);
        Ok(())
    });
    result.unwrap();
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::symlink;
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    const SECRET: &str = "secret";

    fn house_with_secret() -> (House, PathBuf) {
        let house = House::new();
        let outside = house.world.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("x"), SECRET).unwrap();
        (house, outside)
    }

    #[tokio::test]
    async fn no_link_leads_anywhere() {
        let (house, outside) = house_with_secret();
        house.put("inner/x", "inner");
        let project = house.project();
        symlink(outside.join("x"), project.join("file")).unwrap();
        symlink(&outside, project.join("folder")).unwrap();
        symlink("file", project.join("chain")).unwrap();
        symlink("chain", project.join("longer")).unwrap();
        symlink("loop", project.join("loop")).unwrap();
        symlink("../../../outside", project.join("relative")).unwrap();
        symlink("nowhere", project.join("dangling")).unwrap();
        symlink(outside.join("made"), project.join("making")).unwrap();
        symlink("inner", project.join("inside")).unwrap();
        for path in [
            "file",
            "folder/x",
            "folder/new",
            "chain",
            "longer",
            "loop",
            "loop/x",
            "relative/x",
            "dangling",
            "making",
            "inside/x",
            "folder",
        ] {
            let uri = house.files.resolve(&house.agent, path).unwrap();
            let to = house.uri("copied");
            let options = ListOptions { depth: 3, limit: 9 };
            let query = Query::literal("s", Letters::AnyCase).unwrap();
            let search = SearchOptions {
                names: None,
                limit: 9,
                context: 0,
            };
            let files = &house.files;
            for (what, result) in [
                ("read", files.read(&uri, 99).await.map(drop)),
                (
                    "write",
                    files
                        .write(&uri, vec![1], WriteMode::Replace)
                        .await
                        .map(drop),
                ),
                (
                    "create",
                    files
                        .write(&uri, vec![1], WriteMode::Create)
                        .await
                        .map(drop),
                ),
                ("append", files.append(&uri, vec![1]).await.map(drop)),
                ("list", files.list(&uri, options).await.map(drop)),
                ("copy", files.copy(&uri, &to).await.map(drop)),
                ("search", files.search(&uri, query, search).await.map(drop)),
                (
                    "edit",
                    files
                        .edit(&uri, 9, |_| Ok::<_, FileError>("z".into()))
                        .await
                        .map(drop),
                ),
                (
                    "into",
                    files
                        .copy(&house.uri("inner/x"), &uri.join("in").unwrap())
                        .await
                        .map(drop),
                ),
            ] {
                let error = result.expect_err(&format!("{what} {path}"));
                assert_eq!(error.reason(), "file.link", "{what} {path}: {error}");
            }
        }
        assert_eq!(std::fs::read_to_string(outside.join("x")).unwrap(), SECRET);
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
        let shown = house.names(".", 9).await;
        assert!(shown.contains(&"folder@".to_owned()), "{shown:?}");
        assert!(
            shown.iter().all(|name| !name.starts_with("folder@/")),
            "{shown:?}"
        );
    }

    #[tokio::test]
    async fn a_link_itself_can_be_looked_at_moved_and_deleted() {
        let (house, outside) = house_with_secret();
        symlink(&outside, house.project().join("a")).unwrap();
        let (a, b) = (house.uri("a"), house.uri("b"));
        assert_eq!(house.files.stat(&a).await.unwrap().kind, Kind::Link);
        house.files.rename(&a, &b).await.unwrap();
        let recycled = house.files.delete(&b, "me").await.unwrap();
        assert_eq!(recycled.kind, Kind::Link);
        house
            .files
            .restore(&house.person, recycled.id)
            .await
            .unwrap();
        house.files.delete(&b, "me").await.unwrap();
        house.files.purge(Duration::ZERO).await.unwrap();
        assert_eq!(std::fs::read_to_string(outside.join("x")).unwrap(), SECRET);
    }

    #[tokio::test]
    async fn purging_a_folder_with_a_link_spares_what_it_points_to() {
        let (house, outside) = house_with_secret();
        house.put("a/x", "x");
        symlink(&outside, house.project().join("a/link")).unwrap();
        house.files.delete(&house.uri("a"), "me").await.unwrap();
        assert_eq!(house.files.purge(Duration::ZERO).await.unwrap().count, 1);
        assert_eq!(std::fs::read_to_string(outside.join("x")).unwrap(), SECRET);
    }

    /// A folder that turns into a link and back while files are used through it.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_link_swapped_in_leads_nowhere() {
        let (house, outside) = house_with_secret();
        let swapping = house.project().join("a");
        let away = house.world.path().join("away");
        std::fs::create_dir(&away).unwrap();
        let done = Arc::new(AtomicBool::new(false));
        let swapper = std::thread::spawn({
            let (done, outside) = (done.clone(), outside.clone());
            move || {
                let mut rounds = 0;
                while !done.load(Ordering::Relaxed) {
                    rounds += usize::from(symlink(&outside, &swapping).is_ok());
                    let _ = std::fs::remove_file(&swapping);
                    let _ = std::fs::create_dir(&swapping);
                    let _ = std::fs::rename(&swapping, away.join(rounds.to_string()));
                }
                rounds
            }
        });
        let (target, new) = (house.uri("a/x"), house.uri("a/new"));
        for _ in 0..100 {
            if let Ok(text) = house.files.read_text(&target, 99).await {
                assert_ne!(text, SECRET);
            }
            let write = house
                .files
                .write(&target, b"inner".to_vec(), WriteMode::Replace);
            let _ = write.await;
            let _ = house.files.append(&new, b"y".to_vec()).await;
            let _ = house.files.delete(&target, "me").await;
        }
        done.store(true, Ordering::Relaxed);
        assert!(swapper.join().unwrap() > 0);
        assert_eq!(std::fs::read_to_string(outside.join("x")).unwrap(), SECRET);
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn pipes_and_sockets_are_refused_at_once() {
        let house = House::new();
        let status = Command::new("mkfifo")
            .arg(house.project().join("pipe"))
            .status();
        assert!(status.unwrap().success());
        let _socket =
            std::os::unix::net::UnixListener::bind(house.project().join("socket")).unwrap();
        for path in ["pipe", "socket"] {
            let uri = house.uri(path);
            let files = &house.files;
            for result in [
                files.read(&uri, 9).await.map(drop),
                files
                    .write(&uri, vec![1], WriteMode::Replace)
                    .await
                    .map(drop),
                files.append(&uri, vec![1]).await.map(drop),
                files.copy(&uri, &house.uri("copy")).await.map(drop),
            ] {
                assert_eq!(result.unwrap_err().reason(), "file.special", "{path}");
            }
            assert_eq!(files.stat(&uri).await.unwrap().kind, Kind::Special);
        }
        let query = Query::literal("x", Letters::AnyCase).unwrap();
        let options = SearchOptions {
            names: None,
            limit: 9,
            context: 0,
        };
        let found = house
            .files
            .search(&house.uri("."), query, options)
            .await
            .unwrap();
        assert_eq!(found.unread, 2);
        assert_eq!(house.names(".", 1).await, ["pipe|", "socket|"]);
        house.files.delete(&house.uri("pipe"), "me").await.unwrap();
        house
            .files
            .rename(&house.uri("socket"), &house.uri("s2"))
            .await
            .unwrap();
    }

    /// What takes a file's place between looking and opening is not followed and does not block.
    #[test]
    fn what_is_swapped_in_at_the_last_moment_is_refused() {
        let house = House::new();
        house.put("inner", "x");
        let status = Command::new("mkfifo")
            .arg(house.project().join("pipe"))
            .status();
        assert!(status.unwrap().success());
        symlink("inner", house.project().join("link")).unwrap();
        for (name, reason) in [("pipe", "file.special"), ("link", "file.link")] {
            let uri = house.uri(name);
            let place = house.files.0.mounts.place(&uri).unwrap();
            let mut options = cap_std::fs::OpenOptions::new();
            for options in [options.clone().read(true), options.append(true)] {
                let error = place.open_checked(options).unwrap_err();
                assert_eq!(error.reason(), reason, "{name}");
            }
        }
    }

    #[tokio::test]
    async fn a_file_that_became_a_folder_is_told() {
        let house = House::new();
        let uri = house.put("x", "x");
        std::fs::remove_file(house.project().join("x")).unwrap();
        house.put("x/y", "y");
        for result in [
            house.files.read(&uri, 9).await.map(drop),
            house.files.append(&uri, vec![1]).await.map(drop),
            house
                .files
                .write(&uri, vec![1], WriteMode::Replace)
                .await
                .map(drop),
        ] {
            assert_eq!(result.unwrap_err().reason(), "file.is_directory");
        }
    }
}
