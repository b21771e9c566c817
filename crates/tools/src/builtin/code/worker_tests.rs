use serde_json::json;

use super::*;

fn written(told: &serde_json::Value, files: &[u8]) -> Vec<u8> {
    [format!("{told}\n").as_bytes(), files].concat()
}

fn told(files: serde_json::Value) -> serde_json::Value {
    json!({
        "exit": 0, "result": "1", "result_cut": false, "cpu_ms": 1, "memory_bytes": 2, "left": 0,
        "files": files,
    })
}

#[test]
fn an_answer_is_a_line_and_the_files_it_names() {
    let files = json!([
        {"name": "a", "size": 2, "sent": true},
        {"name": "b", "size": 1_000_000, "sent": false},
        {"name": "c", "size": 3, "sent": true},
    ]);
    let answer = answer(written(&told(files), b"aaccc")).unwrap();
    let files: Vec<_> = answer
        .files
        .iter()
        .map(|file| (file.name.as_str(), file.bytes.as_deref()))
        .collect();
    assert_eq!(
        files,
        [
            ("a", Some(&b"aa"[..])),
            ("b", None),
            ("c", Some(&b"ccc"[..]))
        ]
    );
    assert_eq!(answer.told.result.as_deref(), Some("1"));
}

#[test]
fn what_no_driver_would_answer_is_none() {
    let one = |size: u64| json!([{"name": "a", "size": size, "sent": true}]);
    let many: Vec<_> = (0..=MAX_CODE_OUTPUT_FILES)
        .map(|_| json!({"name": "a", "size": 0, "sent": true}))
        .collect();
    for bytes in [
        b"".to_vec(),
        b"{}".to_vec(),
        b"{}\n".to_vec(),
        b"nonsense\n".to_vec(),
        written(&told(one(3)), b"ab"),
        written(&told(one(1)), b"ab"),
        written(&told(one(u64::MAX)), b"ab"),
        written(&told(json!([{"name": "a", "size": -1, "sent": true}])), b""),
        written(&told(json!(many)), b""),
    ] {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(answer(bytes).is_none(), "{text}");
    }
}

#[test]
fn a_listener_keeps_what_it_should() {
    let mut whole = Listener::new(5, usize::MAX);
    assert!(whole.take_printed(b"abc").is_ok() && whole.take_printed(b"de").is_ok());
    assert!(whole.take_printed(b"fg").is_err());
    assert_eq!(whole.printed, b"abcde");

    let mut end = Listener::new(100, 3);
    assert!(end.take_printed(b"ab").is_ok() && end.take_printed(b"cd").is_ok());
    end.cut();
    assert_eq!((end.printed, end.total), (b"bcd".to_vec(), 4));

    let mut answer = Listener::new(0, 0);
    let part = vec![0; MAX_CODE_ANSWER_BYTES];
    let fitting = 1 + MAX_CODE_OUTPUT_BYTES as usize / part.len();
    for _ in 0..fitting {
        assert!(answer.take_answered(&part).is_ok());
    }
    assert!(answer.take_answered(b"x").is_err());
}
