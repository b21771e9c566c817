use innkeeper_sandbox::Collected;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::Progress;
use crate::file::house_tests::House;

fn context(house: &House) -> CallContext {
    CallContext {
        caller: std::sync::Arc::new(house.agent.clone()),
        call_id: "call_1".to_owned(),
        asked_as: None,
        attempt: 1,
        cancel: CancellationToken::new(),
        progress: Progress::default(),
        run: None,
    }
}

fn made(name: &str, bytes: &[u8]) -> Collected {
    Collected {
        name: name.to_owned(),
        size: bytes.len() as u64,
        bytes: Some(bytes.to_vec()),
    }
}

#[tokio::test]
async fn files_are_taken_in_under_their_own_names() {
    let house = House::new();
    house.put("data/a.csv", "1,2");
    house.put("数据/b ä.bin", [0, 255]);
    let named = [
        "data/a.csv",
        "数据/b ä.bin",
        "user://projects/default/data/../data/a.csv",
    ]
    .map(str::to_owned);
    let taken = take_in(&house.files, &house.agent, &named).await.unwrap();
    let taken: Vec<_> = taken
        .iter()
        .map(|file| (file.name.as_str(), file.bytes.as_slice()))
        .collect();
    assert_eq!(taken, [("a.csv", &b"1,2"[..]), ("b ä.bin", &[0, 255][..])]);
}

#[tokio::test]
async fn files_that_cannot_be_taken_in_are_named() {
    let house = House::new();
    house.put("a/x", "1");
    house.put("b/x", "2");
    let half = vec![0; (MAX_CODE_INPUT_BYTES / 2) as usize + 1];
    house.put("large1", &half);
    house.put("large2", &half);
    for (named, reason, part) in [
        (&["no.csv"][..], "file.not_found", "no.csv"),
        (&["a"], "file.is_directory", "default/a"),
        (&["/"], "file.is_directory", "default"),
        (&["../../x"], "file.leaves_root", "../../x"),
        (&["system://config/x"], "file.system_denied", "system"),
        (&["a/x", "b/x"], "code.same_file_name", "default/b/x"),
        (
            &["large1", "large2"],
            "code.files_too_large",
            "default/large2",
        ),
    ] {
        let named: Vec<_> = named.iter().map(|&name| name.to_owned()).collect();
        let error = take_in(&house.files, &house.agent, &named)
            .await
            .unwrap_err();
        assert_eq!(error.reason.as_deref(), Some(reason), "{named:?}");
        assert!(error.message.contains(part), "{}", error.message);
        assert!(!error.may_pass(), "{named:?}");
    }
    let large = ["large1".to_owned()];
    assert!(take_in(&house.files, &house.agent, &large).await.is_ok());
}

#[tokio::test]
async fn what_was_made_is_kept_under_a_name_that_can_be_written() {
    let house = House::new();
    let context = context(&house);
    let mut shelf = Shelf::new(&house.files, &context);
    for (name, kept) in [
        ("plot.png", "plot.png"),
        ("deep/er/数据.csv", "deep/er/数据.csv"),
        ("a\\b", "a_b"),
        ("a_b", "a_b_2"),
        (" x .txt ", "x .txt"),
        ("bad\nname\u{202e}.txt", "bad_name_.txt"),
        ("q/ ", "q/_"),
        ("../../../etc/passwd", "_/_/_/etc/passwd"),
        ("e\u{301}.txt", "é.txt"),
        ("é.txt", "é_2.txt"),
        ("a:b.txt", "a:b.txt"),
        (".hidden", ".hidden"),
    ] {
        let before = shelf.kept.len();
        shelf.keep_all(vec![made(name, b"1")], 0).await;
        let uri = format!("user://projects/default/outputs/code/call_1/{kept}");
        assert_eq!(
            shelf.kept.get(before),
            Some(&json!({"name": name, "uri": uri, "size": 1}))
        );
        assert_eq!(house.get(&format!("outputs/code/call_1/{kept}")), "1");
    }
    assert!(shelf.not_kept.is_empty());
}

#[tokio::test]
async fn what_cannot_be_kept_is_told() {
    let house = House::new();
    let context = context(&house);
    let mut shelf = Shelf::new(&house.files, &context);
    let long = "x".repeat(300);
    let unbrought = Collected {
        bytes: None,
        ..made("big", b"")
    };
    let too_large = Collected {
        size: MAX_WRITE_BYTES + 1,
        ..made("huge", b"")
    };
    let files = vec![unbrought, too_large, made(&long, b"1"), made("ok", b"1")];
    shelf.keep_all(files, 2).await;
    assert_eq!(shelf.kept.len(), 1);
    let names: Vec<_> = shelf.not_kept.iter().map(|file| &file["name"]).collect();
    assert_eq!(names, ["big", "huge", &long[..200]]);
    assert_eq!(shelf.unnamed, 2);

    let many = |count| (0..count).map(|n| made(&n.to_string(), b"1")).collect();
    shelf.keep_all(many(MAX_CODE_OUTPUT_FILES), 0).await;
    assert_eq!(shelf.kept.len(), MAX_CODE_OUTPUT_FILES);
    assert_eq!(shelf.unnamed, 3);
    shelf.keep_all(many(1), usize::MAX).await;
    assert_eq!(shelf.unnamed, usize::MAX);
}

#[tokio::test]
async fn all_files_together_have_their_limit() {
    let house = House::new();
    let context = context(&house);
    let mut shelf = Shelf::new(&house.files, &context);
    let bytes = vec![0; MAX_WRITE_BYTES as usize];
    let fitting = (MAX_CODE_OUTPUT_BYTES / MAX_WRITE_BYTES) as usize;
    for number in 0..fitting {
        shelf
            .keep_all(vec![made(&number.to_string(), &bytes)], 0)
            .await;
    }
    assert_eq!(shelf.kept.len(), fitting);
    shelf.keep_all(vec![made("one more", b"1")], 0).await;
    assert_eq!(shelf.not_kept[0]["name"], "one more");
}
