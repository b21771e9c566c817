use innkeeper_protocol::Secret;
use serde_json::json;

use super::*;

fn words(body: &str) -> Words {
    let key = Secret::new("sk-secret-key");
    Words::read(body.as_bytes(), true, &Mask::new(Some(&key), &[]))
}

#[test]
fn what_servers_say_is_found_in_all_their_shapes() {
    let page = "<!DOCTYPE html><html><head><TITLE class=x>502 Bad\nGateway</title></head><body>secret</body>";
    let rows = [
        (json!({"error": {"message": "No.", "code": "c", "type": "T"}}).to_string(), "No", "c t"),
        (json!({"error": "No"}).to_string(), "No", ""),
        (json!({"type": "error", "error": {"type": "x", "message": "No"}}).to_string(), "No", "x error"),
        (json!([{"error": {"code": 400, "message": "No", "status": "S", "details": [{"reason": "R"}]}}]).to_string(), "No", "s r"),
        (json!({"detail": "No"}).to_string(), "No", ""),
        (json!({"detail": [{"msg": "No"}]}).to_string(), "No", ""),
        (json!({"message": "No", "code": "c"}).to_string(), "No", "c"),
        (json!({"error": null, "message": "No"}).to_string(), "No", ""),
        (json!({"errors": [{"message": "No"}]}).to_string(), "No", ""),
        (json!({"error": {"message": "Up", "metadata": {"raw": "No"}}}).to_string(), "Up: No", ""),
        (json!({"request": {"prompt": "private"}}).to_string(), "", ""),
        (format!("data: {}\n\n", json!({"error": {"message": "No"}})), "No", ""),
        ("No way\u{1b}[31m\r\n\u{202e}at all. ".into(), "No way [31m at all", ""),
        ("\u{feff}  ".into(), "", ""),
        (page.into(), "502 Bad Gateway", ""),
        ("<html><body>secret</body>".into(), "", ""),
        ("<title>never ends".into(), "", ""),
    ];
    for (body, text, codes) in rows {
        let words = words(&body);
        assert_eq!(words.text, text, "{body}");
        assert_eq!(words.codes.join(" "), codes, "{body}");
    }
    let bytes = [b'a', 0xff, 0xfe, b'b'];
    let words = Words::read(&bytes, true, &Mask::new(None, &[]));
    assert_eq!(words.text, "a\u{fffd}\u{fffd}b");
}

#[test]
fn long_words_are_cut_between_characters() {
    let words = words(&"ä".repeat(MAX_SERVER_WORDS + 1));
    assert_eq!(words.text, format!("{}…", "ä".repeat(MAX_SERVER_WORDS)));
    assert_eq!(
        clean(&"ä".repeat(MAX_SERVER_WORDS)).chars().count(),
        MAX_SERVER_WORDS
    );
}

#[test]
fn a_wait_in_the_body_is_found() {
    let body =
        json!({"error": {"message": "slow", "details": [{"@type": "x"}, {"retryDelay": "37.5s"}]}});
    assert_eq!(
        words(&body.to_string()).wait,
        Some(Duration::from_millis(37_500))
    );
}
