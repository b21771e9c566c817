use super::*;

#[test]
fn a_whole_file() {
    let text = "[scripts]\nsandbox = \"off\"\n[plugins]\npaths = [\"/a\", \"b\"]\n\
                [limits]\nmax_calls = 3\n[limits.tools]\n\"File.*\" = 2\n";
    let settings = Settings::parse("f", text).unwrap();
    assert_eq!(settings.scripts.sandbox, Sandbox::Off);
    assert_eq!(settings.plugins.paths.len(), 2);
    let budget = settings.limits.budget();
    assert_eq!(budget.max_calls, Some(3));
    assert_eq!(budget.per_tool[0].calls, 2);
}

#[test]
fn nothing_written_is_the_safe_side() {
    let settings = Settings::parse("f", "").unwrap();
    assert_eq!(settings.scripts.sandbox, Sandbox::Required);
    assert_eq!(settings.limits.budget(), BudgetLimits::default());
}

/// Text, line and column, what the fault says.
#[test]
fn faults_name_their_place() {
    for (text, line, column, said) in [
        ("[scripts\n", 1, 9, ""),
        ("\n[scripts]\nsandbox = \"of\"\n", 3, 11, "of"),
        ("[scripts]\nsandbox = true\n", 2, 11, ""),
        ("[script]\n", 1, 2, "scripts"),
        ("[plugins]\n  path = []\n", 2, 3, "paths"),
        ("[limits]\nmax_call = 1\n", 2, 1, "max_calls"),
        ("[http]\nalow = []\n", 2, 1, "allow"),
        ("[http]\nmax_bytes = \"x\"\n", 2, 13, ""),
        ("[limits]\nmax_calls = -1\n", 2, 13, ""),
        ("字 = 1\n", 1, 1, ""),
        ("polic = 1", 1, 1, "policy"),
        ("[[policy.rule]]\n", 1, 10, "rules"),
        (
            "[[policy.rules]]\ntool = \"*\"\ndecision = \"deny\"\n[[policy.rules]]\ntol = \"x\"\n",
            5,
            1,
            "tool",
        ),
        (
            "[[policy.rules]]\ntool = \"*\"\ndecision = \"maybe\"\n",
            3,
            12,
            "maybe",
        ),
        (
            "[[policy.rules]]\ntool = \"*\"\ndecision = \"deny\"\n\n[[policy.rules]]\ndecision = \"deny\"\n",
            5,
            1,
            "rule 2",
        ),
    ] {
        let fault = Settings::parse("f.toml", text).unwrap_err();
        let (at, words) = match &fault {
            SettingsFault::Invalid { at, why } => (at, why.clone()),
            SettingsFault::UnknownKey { at, meant, .. } => (at, meant.clone().unwrap_or_default()),
            SettingsFault::Unreadable { .. } => panic!("{text}: {fault:?}"),
        };
        assert_eq!((at.line, at.column), (line, column), "{text}: {fault:?}");
        assert!(words.contains(said), "{text}: {fault:?}");
    }
}

#[test]
fn a_file_over_the_limit_is_not_read_as_its_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    let limit = usize::try_from(MAX_SETTINGS_BYTES).unwrap();
    std::fs::write(&path, "#".repeat(limit)).unwrap();
    assert!(Settings::read(&path).is_ok());
    std::fs::write(&path, "#".repeat(limit + 1)).unwrap();
    let fault = Settings::read(&path).unwrap_err();
    assert!(matches!(fault, SettingsFault::Unreadable { .. }));
}

#[test]
fn every_key_that_is_known_is_one_that_is_read() {
    let http = serde_json::to_value(HttpPolicy::default()).unwrap();
    let (_, known) = KNOWN
        .iter()
        .find(|(section, _)| *section == "http")
        .unwrap();
    let read: Vec<&str> = http
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(&read[..], *known);
    let mut rule = Rule::new(innkeeper_tools::policy::Decision::Deny);
    rule.name = Some("n".into());
    rule.source = Some("s".into());
    rule.tool = Some("t".into());
    rule.actor = Some("a".into());
    rule.arguments.insert("x".into(), "y".into());
    rule.reason = Some("r".into());
    let rule = serde_json::to_value(rule).unwrap();
    let read: Vec<&str> = rule
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(read, RULE_KEYS);
}

#[test]
fn the_documented_file_is_one_that_is_taken() {
    let page = include_str!("../../../docs/command-line.md");
    let (_, block) = page.split_once("```toml\n").unwrap();
    let (text, _) = block.split_once("```").unwrap();
    let settings = Settings::parse("docs", text).unwrap();
    assert_eq!(settings.limits.budget().per_tool.len(), 1);
    assert_eq!(settings.http.allow.len(), 1);
    for (section, keys) in KNOWN {
        let mentioned = keys.iter().any(|key| text.contains(key));
        assert!(text.contains(section) && mentioned, "{section}");
    }
}
