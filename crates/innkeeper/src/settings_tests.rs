use innkeeper_tools::script::ScriptLimits;

use super::*;
use crate::lang::Lang;

#[test]
fn a_whole_file() {
    let text = "[scripts]\nmemory_mb = 1024\nparallel = 3\n[plugins]\npaths = [\"/a\", \"b\"]\n\
                [limits]\nmax_calls = 3\n[limits.tools]\n\"File.*\" = 2\n";
    let settings = Settings::parse("f", text).unwrap();
    assert_eq!(settings.scripts.limits().memory_bytes, 1 << 30);
    assert_eq!(settings.scripts.parallel(), Some(3));
    assert_eq!(settings.plugins.paths.len(), 2);
    let budget = settings.limits.budget();
    assert_eq!(budget.max_calls, Some(3));
    assert_eq!(budget.per_tool[0].calls, 2);
}

#[test]
fn every_limit_of_scripts_can_be_set() {
    let lines: Vec<_> = scripts::KEYS
        .iter()
        .map(|key| format!("{key} = 77\n"))
        .collect();
    let text = format!("[scripts]\n{}", lines.concat());
    let settings = Settings::parse("f", &text).unwrap();
    let usual = ScriptLimits::default();
    let expected = ScriptLimits {
        memory_bytes: 77 << 20,
        processes: 77,
        cpu: std::time::Duration::from_secs(77),
        disk_bytes: 77 << 20,
        open_files: 77,
        file_bytes: 77 << 20,
        ..usual
    };
    assert_eq!(settings.scripts.limits(), expected);
    assert_eq!(settings.scripts.parallel(), Some(77));
}

#[test]
fn nothing_written_is_the_safe_side() {
    let settings = Settings::parse("f", "").unwrap();
    assert_eq!(settings.scripts.limits(), ScriptLimits::default());
    assert_eq!(settings.scripts.parallel(), None);
    assert_eq!(settings.limits.budget(), BudgetLimits::default());
}

/// Text, line and column, what the fault says.
#[test]
fn faults_name_their_place() {
    for (text, line, column, said) in [
        ("[scripts\n", 1, 9, ""),
        ("\n[scripts]\nsandbox = \"off\"\n", 3, 1, "remove this line"),
        (
            "[scripts]\nsandbox = \"required\"\n",
            2,
            1,
            "always run in the sandbox",
        ),
        ("[scripts]\nmemory = 5\n", 2, 1, "memory_mb"),
        (
            "[scripts]\nmemory_mb = 15\n",
            2,
            13,
            "from 16 to 1048576, found 15",
        ),
        ("[scripts]\nmemory_mb = 1048577\n", 2, 13, "from 16"),
        ("[scripts]\nprocesses = 0\n", 2, 13, "from 1 to 4096"),
        (
            "[scripts]\ncpu_seconds = -1\n",
            2,
            15,
            "from 1 to 86400, found -1",
        ),
        ("[scripts]\ndisk_mb = \"x\"\n", 2, 11, ""),
        (
            "[scripts]\nopen_files = 5000000000\n",
            2,
            14,
            "from 16 to 65536",
        ),
        ("[scripts]\nfile_mb = 0\n", 2, 11, "from 1"),
        ("[scripts]\nparallel = 257\n", 2, 12, "from 1 to 256"),
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
            "an unknown word, expected one of `allow`, `ask`, `deny`",
        ),
        (
            "[[policy.rules]]\ntool = \"*\"\ndecision = \"deny\"\n\n[[policy.rules]]\ndecision = \"deny\"\n",
            5,
            1,
            "rule 2",
        ),
        (
            "[[policy.rules]]\ntool = \"*\"\ndecision = \"deny\"\nexpires = \"1h\"\n",
            1,
            1,
            "only a question can wait",
        ),
        (
            "[policy]\napproval_expires = \"soon\"\n",
            2,
            20,
            "90s, 30m, 24h or 7d",
        ),
        (
            "[policy]\napproval_expire = \"1h\"\n",
            2,
            1,
            "approval_expires",
        ),
    ] {
        let fault = Settings::parse("f.toml", text).unwrap_err();
        let (at, words) = match &fault {
            SettingsFault::Invalid { at, why } => (at, why.pick(Lang::En).to_owned()),
            SettingsFault::UnknownKey { at, meant, .. } => (at, meant.clone().unwrap_or_default()),
            SettingsFault::Unreadable { .. } | SettingsFault::Script { .. } => {
                panic!("{text}: {fault:?}")
            }
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
    rule.expires = Some("1h".parse().unwrap());
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

#[test]
fn every_key_of_models_is_taken() {
    let text = r#"
[models]
default = "best"
rehearsal = "r.yaml"
[[models.channels]]
name = "lab"
provider = "custom"
base_url = "http://127.0.0.1:1/v1"
keys = ["secret:models.lab", "${LAB_KEY}"]
headers = { x-team = "blue" }
models = ["a", "b-*"]
rename = { here = "there" }
disabled = true
timeouts = { connect_ms = 1, first_byte_ms = 2, idle_ms = 3, total_ms = 4 }
retries = 1
context = 8192
max_tokens = 100
stream = false
grammar = "grammar"
[models.channels.quirks]
max_tokens_field = "n"
developer_role = true
stream_usage = false
grammar = "structured_outputs"
json_schema = false
reasoning_back = true
default_max_tokens = 5
message_fields = ["thinking_blocks"]
not_sent = ["top_k"]
seed_field = "random_seed"
call_ids = "nine"
[[models.routes]]
model = "a"
to = ["lab"]
[models.aliases]
best = "lab/a"
[models.info."lab/*"]
input = 1.0
output = 2
cached_input = 0.5
context = 9
max_output = 3
"#;
    let models = Settings::parse("f", text).unwrap().models;
    assert_eq!(models.default.as_deref(), Some("best"));
    assert_eq!(models.channels.len(), 1);
    assert_eq!(models.channels[0].keys.len(), 2);
    assert_eq!(models.routes[0].to, ["lab"]);
    assert_eq!(models.aliases["best"], "lab/a");
    assert_eq!(models.info["lab/*"].context, Some(9));
    let SettingsFault::Invalid { at, .. } = models.fault("routes[0].to[0]", Said::of("x")) else {
        panic!("an invalid place");
    };
    assert_eq!(at.line, 34);
}

/// Text, line and column, what the fault says.
#[test]
fn faults_of_models_name_the_key_itself() {
    const CHANNEL: &str = "[[models.channels]]\nname = \"a\"\nprovider = \"ollama\"\n";
    for (text, line, column, said) in [
        (
            format!("{CHANNEL}stream = true\nretries = 99\n"),
            5,
            1,
            "at most 10",
        ),
        (
            format!("{CHANNEL}base_url = \"ftp://x\"\n"),
            4,
            1,
            "begins with https://",
        ),
        (
            format!("{CHANNEL}{CHANNEL}context = 0\n"),
            7,
            1,
            "at least 1",
        ),
        (
            format!("{CHANNEL}timeouts = {{first_byte_ms = -1}}\n"),
            4,
            29,
            "a whole number from 0 up",
        ),
        (
            format!("{CHANNEL}keys = \"sk-123\"\n"),
            4,
            8,
            "never holds one",
        ),
        (
            format!("{CHANNEL}models = \"x\"\n"),
            4,
            10,
            "a list in brackets",
        ),
        (
            format!("{CHANNEL}models = [\"x\", \"\"]\n"),
            4,
            16,
            "not empty",
        ),
        (format!("{CHANNEL}models = [\" x\"]\n"), 4, 11, "no blanks"),
        (
            format!("{CHANNEL}models = [\"a\\u001b[31m\"]\n"),
            4,
            11,
            "cannot show",
        ),
        (
            format!("{CHANNEL}rename = {{x = \"a\\nb\"}}\n"),
            4,
            15,
            "cannot show",
        ),
        ("[models]\ndefault = \"\"\n".to_owned(), 2, 11, "not empty"),
        (
            "[models.aliases]\nq = \" \"\n".to_owned(),
            2,
            5,
            "not empty",
        ),
        (
            "[[models.channels]]\nname = \"rehearsal\"\nprovider = \"ollama\"\n".to_owned(),
            2,
            8,
            "plays a script",
        ),
        (
            "[models.aliases]\nrehearsal = \"a/b\"\n".to_owned(),
            2,
            1,
            "plays a script",
        ),
        (
            "[models.info.\"x\"]\ncontext = 1\ninput = 1\n".to_owned(),
            3,
            1,
            "together",
        ),
        (
            "[models.info.\"x\"]\noutput = 1\n".to_owned(),
            2,
            1,
            "together",
        ),
        (
            "[models.info.\"x\"]\ncached_input = 1\n".to_owned(),
            2,
            1,
            "counts only",
        ),
        (
            "[[models.channels]]\nprovider = \"ollama\"\n".to_owned(),
            1,
            1,
            "`name` is missing",
        ),
    ] {
        let fault = Settings::parse("f.toml", &text).unwrap_err();
        let SettingsFault::Invalid { at, why } = &fault else {
            panic!("{text}: {fault:?}");
        };
        assert_eq!((at.line, at.column), (line, column), "{text}: {fault:?}");
        assert!(why.pick(Lang::En).contains(said), "{text}: {fault:?}");
        assert_ne!(why.pick(Lang::Zh), why.pick(Lang::En), "{text}");
    }
}
