use super::*;

fn terms(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    each_term(text, |term| all.push(term.to_owned()));
    all
}

#[test]
fn names_are_cut_at_their_seams() {
    for (text, expected) in [
        ("Mail.PutDraft", &["mail", "put", "draft"][..]),
        ("desk.put_patch", &["desk", "put", "patch"]),
        (
            "system:get_current_zone",
            &["system", "get", "current", "zon"],
        ),
        ("HTTPInput", &["http", "input"]),
        ("readJSON", &["read", "json"]),
        ("sha256", &["sha256"]),
        ("roll 2d6+3", &["roll", "2d6", "3"]),
        ("workflow:a/b.json", &["workflow", "b", "json"]),
        ("Über ÄRGER", &["über", "ärger"]),
        ("news", &["news"]),
        ("", &[]),
        ("?! …", &[]),
        ("the of to", &[]),
    ] {
        assert_eq!(terms(text), expected, "{text}");
    }
}

#[test]
fn scripts_without_blanks_are_cut_into_pairs() {
    for (text, expected) in [
        ("读取文件", &["读取", "取文", "文件"][..]),
        ("掷 骰子", &["掷", "骰子"]),
        ("用Python写代码", &["用", "python", "写代", "代码"]),
        ("読み込む", &["読み", "み込", "込む"]),
        ("文", &["文"]),
    ] {
        assert_eq!(terms(text), expected, "{text}");
    }
}

#[test]
fn endings_do_not_keep_words_apart() {
    for (one, other) in [
        ("files", "file"),
        ("queries", "query"),
        ("searching", "search"),
        ("deleted", "delete"),
        ("running", "run"),
        ("writes", "write"),
        ("writing", "write"),
        ("matches", "match"),
        ("invoices", "invoice"),
        ("Translation", "translate"),
        ("converter", "convert"),
    ] {
        assert_eq!(terms(one), terms(other), "{one} {other}");
    }
    for (one, other) in [
        ("string", "str"),
        ("user", "use"),
        ("bus", "bu"),
        ("process", "proces"),
        ("status", "statu"),
        ("timer", "tim"),
        ("king", "k"),
    ] {
        assert_ne!(terms(one), terms(other), "{one} {other}");
    }
}

#[test]
fn stop_words_are_in_order() {
    assert!(STOP.is_sorted());
}
