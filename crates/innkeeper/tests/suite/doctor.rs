//! `innkeeper doctor`: every line by itself, whatever else is broken.

use serde_json::Value;

use super::home::{House, players};
use super::process::{Run, innkeeper};

const CHECKS: [&str; 13] = [
    "version",
    "home",
    "settings",
    "secrets",
    "models",
    "database",
    "runs",
    "plugins",
    "workflows",
    "python",
    "node",
    "bash",
    "sandbox",
];

fn private(house: &House) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(house.path(), mode).unwrap();
    }
}

/// The document, with the state of a check by name.
struct Report(Value);

impl Report {
    fn of(run: &Run) -> Self {
        let report = Self(run.json());
        // The exit code says the same as the document.
        let is_sound = report.0["ok"].as_bool().unwrap();
        assert_eq!(run.code, Some(if is_sound { 0 } else { 1 }));
        let failed = report.checks().iter().any(|check| check["state"] == "fail");
        assert_eq!(is_sound, !failed, "{}", report.0);
        report
    }

    fn checks(&self) -> &[Value] {
        self.0["checks"].as_array().unwrap()
    }

    fn check(&self, name: &str) -> &Value {
        let found = self.checks().iter().find(|check| check["name"] == name);
        found.unwrap_or_else(|| panic!("{name}: {}", self.0))
    }

    #[track_caller]
    fn says(&self, name: &str, state: &str, fragment: &str) {
        let check = self.check(name);
        assert_eq!(check["state"], state, "{check}");
        let said = check["detail"].as_str().unwrap();
        assert!(said.contains(fragment), "{check}");
    }
}

fn doctor(house: &House) -> Report {
    Report::of(&house.run(&["doctor", "--json"]))
}

#[test]
fn a_new_house_is_in_order_and_stays_as_it_is() {
    let house = House::new();
    private(&house);
    let report = doctor(&house);
    let names: Vec<_> = report
        .checks()
        .iter()
        .map(|check| check["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, CHECKS);
    report.says("version", "ok", env!("CARGO_PKG_VERSION"));
    report.says("home", "ok", house.path().to_str().unwrap());
    report.says("settings", "ok", "the defaults hold");
    report.says("secrets", "ok", "none");
    report.says("models", "ok", "the rehearsal model answers");
    report.says("database", "ok", "not there yet");
    report.says("plugins", "ok", "0 enabled");
    report.says("workflows", "ok", "0 in the library");
    assert_eq!(std::fs::read_dir(house.path()).unwrap().count(), 0);
    let deep = house.path().join("a/b");
    let run = house.run(&["doctor", "--json", "--home", deep.to_str().unwrap()]);
    Report::of(&run).says("home", "ok", "made when it is first needed");
    assert!(!deep.exists());
}

#[test]
fn a_house_that_is_lived_in() {
    let house = House::new();
    private(&house);
    house.settings("[limits]\nmax_calls = 5\n");
    house.put(&players());
    house.write("plugins/bad/plugin.yaml", "name: other\n");
    assert_eq!(house.run(&["tools", "list"]).code, Some(0));
    let report = doctor(&house);
    report.says("settings", "ok", "innkeeper.toml");
    report.says("database", "ok", "innkeeper.db");
    report.says(
        "plugins",
        "warn",
        "0 enabled, 0 disabled, 1 pending, 1 broken",
    );
    let remedy = report.check("plugins")["remedy"].as_str().unwrap();
    assert!(remedy.contains("innkeeper plugin list"), "{remedy}");
}

#[test]
fn channels_that_lack_something_are_counted() {
    let house = House::new();
    private(&house);
    house.settings(
        "[[models.channels]]\nname = \"ollama\"\nmodels = [\"q\"]\n\
         [[models.channels]]\nname = \"openai\"\nkeys = \"secret:models.openai\"\n\
         [[models.channels]]\nname = \"vllm\"\ndisabled = true\n",
    );
    let report = doctor(&house);
    report.says(
        "models",
        "warn",
        "1 channels ready, 1 lacking something, 1 disabled",
    );
    report.says("models", "warn", "ollama/q is the default");
    let remedy = report.check("models")["remedy"].as_str().unwrap();
    assert!(remedy.contains("innkeeper models list"), "{remedy}");
    house.settings("[models]\ndefault = \"zzz\"\n");
    let report = doctor(&house);
    report.says("models", "warn", "zzz is the default");
    let remedy = report.check("models")["remedy"].as_str().unwrap();
    assert!(
        remedy.contains("the default zzz leads to no model"),
        "{remedy}"
    );
    house.settings("[[models.channels]]\nname = \"openai\"\nkeys = \"secret:models.openai\"\n");
    let report = doctor(&house);
    report.says("models", "warn", "0 channels ready");
    let remedy = report.check("models")["remedy"].as_str().unwrap();
    assert!(remedy.contains("openai is not ready: no key"), "{remedy}");
    house.settings("");
    let words = ["models", "add", "groq", "--key-stdin"];
    assert_eq!(house.fed(&words, "marker-0123456789").code, Some(0));
    house.json(&["models", "remove", "groq", "--yes", "--keep-key"]);
    doctor(&house).says("models", "ok", "no channel uses: models.groq");
    house.settings("[[models.channels]]\nname = \"x\"\nprovider = \"opnai\"\n");
    doctor(&house).says("models", "fail", "did you mean \"openai\"?");
}

#[test]
fn workflows_that_are_no_tools_are_told() {
    let house = House::new();
    private(&house);
    let good = r#"{"name": "Good", "nodes": [], "edges": []}"#;
    house.write("library/workflows/good.json", good);
    house.write("projects/default/workflows/good.json", good);
    doctor(&house).says("workflows", "ok", "2 in the library and in projects");
    let bad = house.write("projects/other/workflows/bad.json", "{");
    let report = doctor(&house);
    report.says("workflows", "warn", "2 in order; 1 cannot be used");
    report.says("workflows", "warn", "bad.json: ");
    let remedy = report.check("workflows")["remedy"].as_str().unwrap();
    let expected = format!("innkeeper workflow check {}", bad.display());
    assert!(remedy.contains(&expected), "{remedy}");
}

#[test]
fn each_thing_that_is_broken_is_a_line() {
    let house = House::new();
    private(&house);
    house.settings("[polciy]\n");
    house.write("innkeeper.db", &"no database ".repeat(1000));
    house.write("secrets.toml", "key = \"0123456789abcdef\"\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(house.path().join("secrets.toml"), mode).unwrap();
    }
    let report = doctor(&house);
    report.says("home", "ok", "");
    report.says("settings", "fail", "did you mean 'policy'?");
    report.says("settings", "fail", "[settings.unknown_key]");
    report.says("database", "fail", "[store.");
    report.says("runs", "fail", "");
    #[cfg(unix)]
    report.says("secrets", "fail", "secrets.toml");
    report.says("plugins", "ok", "0 enabled");
    report.says("models", "warn", "not known");
    assert_eq!(report.checks().len(), CHECKS.len());
}

#[test]
fn a_home_that_cannot_be_one_is_a_line_too() {
    let house = House::new();
    let file = house.write("file", "x");
    let below = house.path().join("file/home");
    for home in [file.to_str().unwrap(), below.to_str().unwrap()] {
        let run = house.run(&["doctor", "--json", "--home", home]);
        Report::of(&run).says("home", "fail", "[home.unusable]");
    }
}

#[cfg(unix)]
#[test]
fn a_house_without_a_door_is_mentioned() {
    use std::os::unix::fs::PermissionsExt;
    let house = House::new();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(house.path(), mode).unwrap();
    let report = doctor(&house);
    report.says("home", "warn", "others");
    let remedy = report.check("home")["remedy"].as_str().unwrap();
    assert!(remedy.starts_with("chmod 700 "), "{remedy}");
}

#[test]
fn without_interpreters_it_says_so_and_goes_on() {
    let house = House::new();
    private(&house);
    let mut command = house.command(&["doctor", "--json"]);
    command.env("PATH", house.path());
    let report = Report::of(&super::process::fed(command, b""));
    for name in ["python", "node", "bash"] {
        report.says(name, "warn", &format!("'{name}'"));
        assert!(report.check(name)["remedy"].is_string());
    }
}

/// Whatever this machine has, the layers and the verdict agree.
#[test]
fn the_sandbox_is_tried() {
    let house = House::new();
    let report = doctor(&house);
    let sandbox = &report.0["sandbox"];
    let layers = sandbox["layers"].as_array().unwrap();
    assert!(!layers.is_empty());
    let lacking = layers
        .iter()
        .any(|layer| layer["required"] == true && layer["active"] == false);
    let usable = sandbox["usable"].as_bool().unwrap();
    assert_eq!(usable, !lacking, "{sandbox}");
    assert_eq!(
        report.check("sandbox")["state"],
        if usable { "ok" } else { "fail" }
    );
    assert_eq!(usable, sandbox["remedy"].is_null(), "{sandbox}");
}

#[test]
fn people_get_lines_in_their_language() {
    let house = House::new();
    private(&house);
    house.settings("[polciy]\n");
    let run = house.run(&["doctor"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.starts_with("ok    version "), "{}", run.stdout);
    assert!(run.stdout.contains("\nfail  settings"), "{}", run.stdout);
    assert!(run.stdout.contains("Layers of the sandbox"));
    assert!(run.stderr.contains("Not everything works"));
    let run = house.run(&["doctor", "--lang", "zh", "--quiet"]);
    assert!(run.stdout.contains("ok    版本"), "{}", run.stdout);
    assert!(run.stdout.contains("fail  设置"), "{}", run.stdout);
    assert!(run.stdout.contains("第 1 行第 2 列"), "{}", run.stdout);
    assert!(run.stdout.contains("工作流"), "{}", run.stdout);
    assert_eq!(run.stderr, "");
}

#[test]
fn it_needs_no_home_at_all() {
    let mut command = innkeeper(&["doctor", "--json"]);
    command
        .env_clear()
        .env("LC_ALL", "C")
        .env("HOME", "")
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let report = Report::of(&super::process::fed(command, b""));
    report.check("home");
    report.check("sandbox");
}
