use super::super::house_tests::House;
use super::*;
use crate::limits::MAX_READ_BYTES;

#[tokio::test]
async fn creating_never_replaces() {
    let house = House::new();
    let uri = house.uri("new/folder/x.md");
    let write = |text: &str, mode| house.files.write(&uri, text.as_bytes().to_vec(), mode);
    assert_eq!(write("one", WriteMode::Create).await.unwrap().size, 3);
    let error = write("two", WriteMode::Create).await.unwrap_err();
    assert_eq!(error.reason(), "file.exists");
    assert_eq!(house.get("new/folder/x.md"), "one");
    write("three", WriteMode::Replace).await.unwrap();
    assert_eq!(house.get("new/folder/x.md"), "three");
}

#[tokio::test]
async fn nothing_unfinished_stays() {
    let house = House::new();
    house.put("folder/x", "x");
    let uri = house.uri("folder");
    let error = house
        .files
        .write(&uri, b"y".to_vec(), WriteMode::Replace)
        .await;
    assert_eq!(error.unwrap_err().reason(), "file.is_directory");
    let uri = house.uri("y");
    house
        .files
        .write(&uri, b"y".to_vec(), WriteMode::Replace)
        .await
        .unwrap();
    house
        .files
        .write(&uri, b"z".to_vec(), WriteMode::Replace)
        .await
        .unwrap();
    let on_disk = std::fs::read_dir(house.project()).unwrap().count();
    assert_eq!(on_disk, 2);
}

#[tokio::test]
async fn what_a_crash_left_is_shown_later() {
    let house = House::new();
    let dir = Dir::open_ambient_dir(house.project(), cap_std::ambient_authority()).unwrap();
    let left = std::mem::ManuallyDrop::new(Unfinished::new(&dir));
    left.fill(b"half", None).unwrap();
    assert!(house.names(".", 1).await.is_empty());
    let file = std::fs::File::options()
        .write(true)
        .open(house.project().join(&left.name))
        .unwrap();
    file.set_modified(SystemTime::now() - 2 * UNFINISHED_FOR)
        .unwrap();
    assert_eq!(house.names(".", 1).await, [&*left.name]);
}

#[tokio::test]
async fn places_that_are_no_files_are_not_written() {
    let house = House::new();
    house.put("file", "x");
    for (path, reason) in [
        (".", "file.is_directory"),
        ("user://projects", "file.is_directory"),
        ("shared://", "file.is_directory"),
        ("file/x", "file.not_a_directory"),
    ] {
        let uri = house.uri(path);
        let written = house
            .files
            .write(&uri, b"y".to_vec(), WriteMode::Replace)
            .await;
        assert_eq!(written.unwrap_err().reason(), reason, "{path}");
        let appended = house.files.append(&uri, b"y".to_vec()).await;
        assert_eq!(appended.unwrap_err().reason(), reason, "{path}");
    }
    assert_eq!(house.get("file"), "x");
}

#[tokio::test]
async fn sizes_are_bounded() {
    let house = House::new();
    let uri = house.put("x", "old");
    let much = vec![b'x'; MAX_WRITE_BYTES as usize + 1];
    for result in [
        house
            .files
            .write(&uri, much.clone(), WriteMode::Replace)
            .await,
        house.files.append(&uri, much.clone()).await,
    ] {
        assert_eq!(result.unwrap_err().reason(), "file.write_too_large");
    }
    assert_eq!(house.get("x"), "old");
    let missing = house.uri("not/made");
    let refused = house.files.write(&missing, much, WriteMode::Create).await;
    assert!(refused.is_err() && !house.project().join("not").exists());

    let file = std::fs::File::options()
        .write(true)
        .open(house.project().join("x"))
        .unwrap();
    file.set_len(MAX_APPENDED_BYTES - 1).unwrap();
    house.files.append(&uri, b"1".to_vec()).await.unwrap();
    let error = house.files.append(&uri, b"2".to_vec()).await.unwrap_err();
    assert_eq!(error.reason(), "file.write_too_large");
}

#[cfg(unix)]
#[tokio::test]
async fn replacing_keeps_the_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let house = House::new();
    let uri = house.put("run.sh", "old");
    let on_disk = house.project().join("run.sh");
    std::fs::set_permissions(&on_disk, std::fs::Permissions::from_mode(0o750)).unwrap();
    house
        .files
        .write(&uri, b"new".to_vec(), WriteMode::Replace)
        .await
        .unwrap();
    let mode = std::fs::metadata(on_disk).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn lines_of_many_writers_never_mix() {
    let house = House::new();
    let uri = house.uri("logs/all.log");
    let writers = (0..8).map(|writer: u8| {
        let (files, uri) = (house.files.clone(), uri.clone());
        tokio::spawn(async move {
            let line = format!("{}\n", char::from(b'a' + writer).to_string().repeat(5000));
            for _ in 0..20 {
                files.append(&uri, line.clone().into_bytes()).await.unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let text = house.get("logs/all.log");
    assert_eq!(text.lines().count(), 160);
    for line in text.lines() {
        let first = line.chars().next().unwrap();
        assert!(line.len() == 5000 && line.chars().all(|c| c == first));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_see_the_old_or_the_new() {
    let house = House::new();
    let uri = house.put("x", "0".repeat(100_000));
    let (files, target) = (house.files.clone(), uri.clone());
    let writer = tokio::spawn(async move {
        for digit in "123456789".repeat(5).chars() {
            let bytes = digit.to_string().repeat(100_000).into_bytes();
            files
                .write(&target, bytes, WriteMode::Replace)
                .await
                .unwrap();
        }
    });
    while !writer.is_finished() {
        let text = house.files.read_text(&uri, MAX_READ_BYTES).await.unwrap();
        let first = text.chars().next().unwrap();
        assert!(text.len() == 100_000 && text.chars().all(|c| c == first));
    }
    writer.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_creators_one_wins() {
    let house = House::new();
    let creators = (0..8).map(|_| {
        let (files, uri) = (house.files.clone(), house.uri("x"));
        tokio::spawn(async move { files.write(&uri, b"x".to_vec(), WriteMode::Create).await })
    });
    let mut winners = 0;
    for creator in creators.collect::<Vec<_>>() {
        winners += usize::from(creator.await.unwrap().is_ok());
    }
    assert_eq!(winners, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_edit_is_lost() {
    let house = House::new();
    let uri = house.put("x", "");
    let editors = (0..20).map(|_| {
        let (files, uri) = (house.files.clone(), uri.clone());
        tokio::spawn(async move {
            let add = |text: &str| Ok::<_, FileError>(format!("{text}x"));
            files.edit(&uri, 1000, add).await.unwrap();
        })
    });
    for editor in editors.collect::<Vec<_>>() {
        editor.await.unwrap();
    }
    assert_eq!(house.get("x"), "x".repeat(20));
}

#[tokio::test]
async fn folders_are_made_once() {
    let house = House::new();
    let uri = house.uri("a/b/c");
    for _ in 0..2 {
        let stat = house.files.create_dir(&uri).await.unwrap();
        assert_eq!(stat.kind, Kind::Directory);
    }
    house.put("file", "x");
    let error = house
        .files
        .create_dir(&house.uri("file"))
        .await
        .unwrap_err();
    assert_eq!(error.reason(), "file.exists");
    for root in ["user://", "shared://library", "user://projects/default"] {
        let stat = house.files.create_dir(&house.uri(root)).await.unwrap();
        assert_eq!(stat.kind, Kind::Directory, "{root}");
    }
}

/// Another program may make the file while ours is being filled.
#[test]
fn a_name_taken_meanwhile_is_not_taken_over() {
    let house = House::new();
    house.put("x", "theirs");
    house.put("folder/x", "theirs");
    let dir = Dir::open_ambient_dir(house.project(), cap_std::ambient_authority()).unwrap();
    let unfinished = Unfinished::new(&dir);
    unfinished.fill(b"ours", None).unwrap();
    for name in ["x", "folder"] {
        for kind in [Kind::File, Kind::Directory] {
            let error = unfinished.become_new(name, kind).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{name}");
        }
    }
    assert_eq!(house.get("x"), "theirs");
    unfinished.become_new("y", Kind::File).unwrap();
    drop(unfinished);
    assert_eq!(house.get("y"), "ours");
    assert_eq!(std::fs::read_dir(house.project()).unwrap().count(), 3);
}
