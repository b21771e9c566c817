use super::*;
use crate::limits::MAX_FILLED_BYTES;

fn filled(template: &str, pattern: &str, message: &str) -> String {
    let pattern = Regex::new(pattern).unwrap();
    let template = Template::read(template, Some(&pattern)).unwrap();
    template.fill(&Filling::new(message, Some(&pattern)))
}

#[test]
fn captures_are_filled_in() {
    let pattern = "(?<verb>roll|throw) (\\w+)?";
    let table = [
        ("{{1}} {{2}}!", "please roll d6", "roll d6!"),
        ("{{verb}} {{ 2 }}", "throw 2d6", "throw 2d6"),
        ("[{{0}}]", "so roll d6", "[roll d6]"),
        ("{{2|d20}}", "roll ", "d20"),
        ("{{2|d20}}", "roll d6", "d6"),
        ("{{2}}", "roll ", ""),
        ("{{message}}", "roll d6 now", "roll d6 now"),
        ("\\{{1}} {{1}}", "roll x", "{{1}} roll"),
        (
            "{{ {\"a\": {\"b\": 1}} {{",
            "roll x",
            "{{ {\"a\": {\"b\": 1}} {{",
        ),
        ("{{a b}} {{}} }}", "roll x", "{{a b}} {{}} }}"),
        ("{{1", "roll x", "{{1"),
    ];
    for (template, message, wanted) in table {
        assert_eq!(filled(template, pattern, message), wanted, "{template}");
    }
}

#[test]
fn what_is_captured_is_not_filled_in_again() {
    assert_eq!(filled("{{1}}", "(.*)", "{{message}}"), "{{message}}");
}

#[test]
fn a_name_that_captures_nothing_is_refused() {
    let pattern = Regex::new("(?<verb>a)(b)").unwrap();
    let error = Template::read("{{formula}}", Some(&pattern)).unwrap_err();
    let known = "{{message}}, {{0}}, {{1}}, {{2}}, {{verb}}";
    assert!(
        error.contains("'{{formula}}'") && error.contains(known),
        "{error}"
    );
    assert!(Template::read("{{3}}", Some(&pattern)).is_err());
    assert!(Template::read("{{0}}", None).is_err());
    assert!(Template::read("{{message}}", None).is_ok());
}

#[test]
fn all_texts_of_a_reply_share_one_bound() {
    let message = "界".repeat(MAX_FILLED_BYTES / 6);
    let template = Template::read("{{message}}{{message}}{{message}}", None).unwrap();
    let filling = Filling::new(&message, None);
    let first = template.fill(&filling).len();
    let second = template.fill(&filling).len();
    assert!(
        first > message.len() && first + second <= MAX_FILLED_BYTES,
        "{first} {second}"
    );
}
