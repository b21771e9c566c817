use std::fs;

use serde_json::json;

use super::super::Permission;
use super::*;

fn permissions(names: &[&str]) -> Permissions {
    names.iter().map(|name| Permission::new(*name)).collect()
}

struct Noon;

impl Clock for Noon {
    fn now(&self) -> jiff::Timestamp {
        "2026-01-01T12:00:00Z".parse().unwrap()
    }
}

fn package(asked: &[&str]) -> PluginPackage {
    PluginPackage {
        name: "p".into(),
        display_name: "P".into(),
        version: "1.0.0".into(),
        description: String::new(),
        root: PathBuf::from("/plugins/p"),
        stamp: 0,
        tools: Vec::new(),
        hooks: Vec::new(),
        services: Vec::new(),
        nodes: Vec::new(),
        frontend: None,
        permissions: permissions(asked),
        config: Vec::new(),
    }
}

#[test]
fn nothing_runs_that_was_not_accepted() {
    let pending = |names| PluginState::Pending {
        new: permissions(names),
    };
    for (asked, consent, expected) in [
        (&[][..], None, PluginState::Enabled),
        (&["run:python"], None, pending(&["run:python"])),
        (&[], Some((true, &[][..])), PluginState::Enabled),
        (
            &["run:python"],
            Some((true, &["run:python"])),
            PluginState::Enabled,
        ),
        (
            &["run:python"],
            Some((true, &["run:python", "net:a"])),
            PluginState::Enabled,
        ),
        (
            &["run:python", "net:a"],
            Some((true, &["run:python"])),
            pending(&["net:a"]),
        ),
        (
            &["run:python"],
            Some((true, &["run:pytho"])),
            pending(&["run:python"]),
        ),
        (&["net:*"], Some((true, &["net:a"])), pending(&["net:*"])),
        (&["net:a"], Some((true, &["net:*"])), pending(&["net:a"])),
        (&[], Some((false, &[])), PluginState::Disabled),
        (
            &["run:python"],
            Some((false, &["run:python"])),
            PluginState::Disabled,
        ),
        (
            &["net:a"],
            Some((false, &["run:python"])),
            PluginState::Disabled,
        ),
    ] {
        let consent = consent.map(|(enabled, accepted)| Consent {
            enabled,
            guards: Vec::new(),
            accepted: permissions(accepted),
            version: String::new(),
            when: None,
            extra: Map::new(),
        });
        assert_eq!(
            decide(&permissions(asked), consent.as_ref()),
            expected,
            "{asked:?} {consent:?}"
        );
    }
}

#[test]
fn what_was_said_is_remembered_and_can_be_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let consents = Consents::with_clock(folder.path(), Arc::new(Noon));
    let asking = package(&["run:python"]);
    assert!(matches!(
        consents.state(&asking).unwrap(),
        PluginState::Pending { .. }
    ));
    assert!(!consents.forget("p").unwrap());
    consents
        .enable("p", "1.0.0", &asking.permissions, Vec::new())
        .unwrap();
    assert_eq!(consents.state(&asking).unwrap(), PluginState::Enabled);
    assert_eq!(
        consents.state(&package(&["run:python", "net:a"])).unwrap(),
        PluginState::Pending {
            new: permissions(&["net:a"])
        }
    );
    consents.disable("p").unwrap();
    assert_eq!(consents.state(&asking).unwrap(), PluginState::Disabled);
    let consent = consents.consent("p").unwrap().unwrap();
    assert_eq!(consent.accepted, asking.permissions);
    assert!(consents.forget("p").unwrap());
    assert!(consents.consent("p").unwrap().is_none());

    consents.disable("quiet").unwrap();
    let stored = fs::read_to_string(folder.path().join("config/plugins.json")).unwrap();
    let stored: Json = serde_json::from_str(&stored).unwrap();
    assert_eq!(
        stored,
        json!({"quiet": {"enabled": false, "accepted": [], "version": "", "when": "2026-01-01T12:00:00Z"}})
    );
}

#[test]
fn unknown_fields_survive_and_nonsense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config/plugins.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let consents = Consents::new(folder.path());
    fs::write(
        &path,
        r#"{"p": {"enabled": true, "note": "mine"}, "q": {"enabled": false}}"#,
    )
    .unwrap();
    // A state file of ComfyTavern has nothing but `enabled`.
    assert!(matches!(
        consents.state(&package(&["net:a"])).unwrap(),
        PluginState::Pending { .. }
    ));
    consents
        .enable("p", "2", &permissions(&["net:a"]), Vec::new())
        .unwrap();
    let stored: Json = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(stored["p"]["note"], "mine");
    assert_eq!(stored["q"], json!({"enabled": false}));

    for nonsense in ["[]", "{", r#"{"p": 1}"#, r#"{"p": {"enabled": "yes"}}"#] {
        fs::write(&path, nonsense).unwrap();
        let error = consents.state(&package(&[])).unwrap_err().to_string();
        assert!(
            error.contains("plugins.json") && error.contains("repair"),
            "{error}"
        );
        assert!(
            consents
                .enable("p", "1", &Permissions::default(), Vec::new())
                .is_err()
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), nonsense);
    }
}
