use std::fs;

use serde_json::json;

use super::super::{ConfigChoice, find_option, parse_text};
use super::*;
use crate::limits::MAX_SETTING_BYTES;

fn option(key: &str, kind: ConfigKind) -> ConfigOption {
    ConfigOption {
        key: key.to_owned(),
        kind,
        label: format!("The {key}"),
        description: String::new(),
        default: None,
        scope: ConfigScope::User,
        options: Vec::new(),
        min: None,
        max: None,
        step: None,
        required: false,
        variable: key.to_uppercase(),
    }
}

fn choices(values: &[(&str, Json)]) -> Vec<ConfigChoice> {
    let choice = |(label, value): &(&str, Json)| ConfigChoice {
        label: (*label).to_owned(),
        value: value.clone(),
    };
    values.iter().map(choice).collect()
}

struct House {
    folder: tempfile::TempDir,
    settings: PluginSettings,
}

impl House {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let secrets = Secrets::new(folder.path().join("secrets.toml"));
        let settings = PluginSettings::new(folder.path(), secrets);
        Self { folder, settings }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join(path)).unwrap()
    }

    fn environment(&self, options: &[ConfigOption], user: &UserId) -> Vec<(String, String)> {
        let environment = self.settings.environment("p", options, user).unwrap();
        let expose = |(name, value): (String, EnvironmentValue)| (name, value.expose().to_owned());
        environment.into_iter().map(expose).collect()
    }
}

fn user(name: &str) -> UserId {
    UserId::try_from(name).unwrap()
}

#[test]
fn typed_text_becomes_a_value_or_an_explanation() {
    let bounded = ConfigOption {
        min: Some(1.0),
        max: Some(65535.0),
        ..option("port", ConfigKind::Number)
    };
    let at_least = ConfigOption {
        min: Some(0.5),
        ..option("s", ConfigKind::Slider)
    };
    let select = ConfigOption {
        options: choices(&[
            ("Fast", json!("fast")),
            ("Good", json!("good")),
            ("Two", json!(2)),
        ]),
        ..option("mode", ConfigKind::Select)
    };
    let group = ConfigOption {
        kind: ConfigKind::ButtonGroup,
        ..select.clone()
    };
    let text = option("t", ConfigKind::String);
    let flag = option("f", ConfigKind::Boolean);
    for (option, typed, expected) in [
        (&text, " 12 ", Ok(json!(" 12 "))),
        (&text, "a\0", Err("without NUL")),
        (&bounded, "8080", Ok(json!(8080))),
        (&bounded, " 1.5 ", Ok(json!(1.5))),
        (&bounded, "0", Err("from 1 to 65535")),
        (&bounded, "70000", Err("from 1 to 65535")),
        (&bounded, "many", Err("this is \"many\"")),
        (&bounded, "NaN", Err("a number")),
        (&bounded, "inf", Err("a number")),
        (&at_least, "0.4", Err("at least 0.5")),
        (&flag, "Yes", Ok(json!(true))),
        (&flag, "off", Ok(json!(false))),
        (&flag, "maybe", Err("true or false")),
        (&select, "fast", Ok(json!("fast"))),
        (&select, "GOOD", Ok(json!("good"))),
        (&select, "2", Ok(json!(2))),
        (&select, "two", Ok(json!(2))),
        (&select, "slow", Err("one of fast, good, 2")),
        (&group, "fast", Ok(json!("fast"))),
        (&group, "", Err("one of fast, good, 2")),
        (
            &option("k", ConfigKind::Secret),
            "hunter22",
            Err("is a secret"),
        ),
        (
            &option("b", ConfigKind::ActionButton),
            "x",
            Err("has no value"),
        ),
    ] {
        match (parse_text(option, typed), expected) {
            (Ok(value), Ok(expected)) => assert_eq!(value, expected, "{typed}"),
            (Err(error), Err(expected)) => {
                let message = error.to_string();
                assert!(message.contains(expected), "{typed}: {message}");
                assert!(message.contains(&format!("'{}'", option.key)), "{message}");
                assert!(!message.contains("hunter22"), "{message}");
            }
            (have, _) => panic!("{typed}: {have:?}"),
        }
    }
}

#[test]
fn a_setting_has_a_longest_value() {
    let text = option("t", ConfigKind::Textarea);
    assert!(parse_text(&text, &"x".repeat(MAX_SETTING_BYTES)).is_ok());
    let error = parse_text(&text, &"x".repeat(MAX_SETTING_BYTES + 1)).unwrap_err();
    assert!(error.to_string().len() < 300, "{error}");
}

#[test]
fn the_users_value_comes_before_the_instances_before_the_default() {
    let house = House::new();
    let colour = ConfigOption {
        default: Some(json!("grey")),
        ..option("colour", ConfigKind::String)
    };
    let limit = ConfigOption {
        scope: ConfigScope::Instance,
        default: Some(json!(1)),
        ..option("limit", ConfigKind::Number)
    };
    let options = [colour.clone(), limit.clone()];
    let (alice, bob) = (user("alice"), user("bob"));
    let look = |who: &UserId| -> Vec<(Json, Origin)> {
        let settings = house.settings.get("p", &options, who).unwrap();
        let one = |setting: Setting| match setting.value {
            SettingValue::Value(value) => (value, setting.origin),
            SettingValue::Secret(_) => panic!("no secret here"),
        };
        settings.into_iter().map(one).collect()
    };
    let set = |option: &ConfigOption, scope, value: Json| {
        let value = NewValue::Plain(value);
        house.settings.set("p", option, scope, &alice, value)
    };
    assert_eq!(
        look(&alice),
        [
            (json!("grey"), Origin::Default),
            (json!(1), Origin::Default)
        ]
    );
    set(&colour, ConfigScope::Instance, json!("blue")).unwrap();
    set(&limit, ConfigScope::Instance, json!(5)).unwrap();
    set(&colour, ConfigScope::User, json!("red")).unwrap();
    assert_eq!(
        look(&alice),
        [(json!("red"), Origin::User), (json!(5), Origin::Instance)]
    );
    assert_eq!(
        look(&bob),
        [
            (json!("blue"), Origin::Instance),
            (json!(5), Origin::Instance)
        ]
    );

    // What is for everybody cannot be smuggled into a person's file either.
    let error = set(&limit, ConfigScope::User, json!(9)).unwrap_err();
    assert!(error.to_string().contains("whole instance"), "{error}");
    house.write(
        "config/users/alice/extensions/p.json",
        r#"{"limit": 99, "extensions.p.colour": "pink", "mine": [1]}"#,
    );
    assert_eq!(
        look(&alice),
        [(json!("pink"), Origin::User), (json!(5), Origin::Instance)]
    );
    assert_eq!(
        house.environment(&options, &alice),
        [
            ("COLOUR".into(), "pink".into()),
            ("LIMIT".into(), "5".to_string())
        ]
    );

    // Unknown keys survive, and the key is written in one spelling.
    set(&colour, ConfigScope::User, json!("gold")).unwrap();
    let stored = house.read("config/users/alice/extensions/p.json");
    let stored: Json = serde_json::from_str(&stored).unwrap();
    assert_eq!(stored, json!({"limit": 99, "mine": [1], "colour": "gold"}));
    assert!(
        house
            .settings
            .unset("p", &colour, ConfigScope::User, &alice)
            .unwrap()
    );
    assert!(
        !house
            .settings
            .unset("p", &colour, ConfigScope::User, &alice)
            .unwrap()
    );
    assert_eq!(look(&alice)[0], (json!("blue"), Origin::Instance));
    assert!(house.read("config/extensions/p.json").contains("blue"));
}

#[test]
fn secrets_are_kept_apart_and_never_shown() {
    let house = House::new();
    let key = option("api_key", ConfigKind::Secret);
    let options = [ConfigOption {
        // A default in a manifest is no secret, so it is none.
        default: Some(json!("default key")),
        ..key.clone()
    }];
    let (alice, bob) = (user("alice"), user("bob"));
    let states = |who: &UserId| {
        let settings = house.settings.get("p", &options, who).unwrap();
        assert!(!serde_json::to_string(&settings).unwrap().contains("hunter"));
        serde_json::to_value(settings).unwrap()[0].clone()
    };
    let not_set = json!({"key": "api_key", "secret": "not set", "origin": "default"});
    assert_eq!(states(&alice), not_set);
    assert!(house.environment(&options, &alice).is_empty());

    let secret = |text: &str| NewValue::Secret(Secret::new(text));
    let set = |scope, text| house.settings.set("p", &key, scope, &alice, secret(text));
    set(ConfigScope::Instance, "hunter of all").unwrap();
    assert_eq!(states(&bob)["origin"], "instance");
    set(ConfigScope::User, "hunter of alice").unwrap();
    assert_eq!(
        states(&alice),
        json!({"key": "api_key", "secret": "set", "origin": "user"})
    );
    assert_eq!(house.environment(&options, &alice)[0].1, "hunter of alice");
    assert_eq!(house.environment(&options, &bob)[0].1, "hunter of all");
    assert!(
        house
            .read("secrets.toml")
            .contains("[users.alice.plugins.p]")
    );
    assert!(!house.folder.path().join("config").exists());
    assert!(!house.folder.path().join("config/users").exists());

    // Neither kind takes the other's way.
    let plain = NewValue::Plain(json!("hunter22"));
    let error = house
        .settings
        .set("p", &key, ConfigScope::User, &alice, plain);
    assert!(!error.unwrap_err().to_string().contains("hunter"));
    let text = option("t", ConfigKind::String);
    let error = house
        .settings
        .set("p", &text, ConfigScope::User, &alice, secret("hunter22"));
    assert!(!error.unwrap_err().to_string().contains("hunter"));

    assert!(
        house
            .settings
            .unset("p", &key, ConfigScope::User, &alice)
            .unwrap()
    );
    assert_eq!(states(&alice)["origin"], "instance");
}

#[test]
fn a_missing_setting_is_named_with_the_remedy() {
    let house = House::new();
    let alice = user("alice");
    for (kind, value) in [
        // What is typed on a command line is seen by others: a secret is asked for, or piped in.
        (ConfigKind::Secret, ""),
        (ConfigKind::String, " VALUE"),
        (ConfigKind::Number, " VALUE"),
    ] {
        let needed = ConfigOption {
            required: true,
            ..option("api_key", kind)
        };
        let error = house
            .settings
            .environment("p", &[needed], &alice)
            .unwrap_err();
        let error = ToolError::from(error);
        assert_eq!(
            error.message,
            format!(
                "the plugin p needs the setting 'api_key' (The api_key); set it with `innkeeper plugin config p set api_key{value}`"
            )
        );
        assert_eq!(error.reason.as_deref(), Some("plugin.setting_missing"));
        assert!(!error.may_pass());
    }
    let empty = ConfigOption {
        required: true,
        default: Some(json!("")),
        ..option("url", ConfigKind::String)
    };
    assert!(house.settings.environment("p", &[empty], &alice).is_err());
    let button = ConfigOption {
        required: true,
        ..option("go", ConfigKind::ActionButton)
    };
    assert!(
        house
            .environment(std::slice::from_ref(&button), &alice)
            .is_empty()
    );
    assert!(
        house
            .settings
            .get("p", &[button], &alice)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_stored_value_that_does_not_fit_is_shown_and_not_used() {
    let house = House::new();
    let alice = user("alice");
    let port = ConfigOption {
        max: Some(10.0),
        ..option("port", ConfigKind::Number)
    };
    house.write("config/extensions/p.json", r#"{"port": "eleven"}"#);
    let options = [port];
    let settings = house.settings.get("p", &options, &alice).unwrap();
    assert!(settings[0].problem.as_ref().unwrap().contains("at most 10"));
    let error = house
        .settings
        .environment("p", &options, &alice)
        .unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("config/extensions/p.json: the setting 'port'"),
        "{message}"
    );

    house.write("config/extensions/p.json", "[1]");
    let message = house
        .settings
        .get("p", &options, &alice)
        .unwrap_err()
        .to_string();
    assert!(message.contains("not a JSON object"), "{message}");

    house.write("secrets.toml", "[plugins.p]\nkey = 1\n");
    let key = option("key", ConfigKind::Secret);
    house.write("config/extensions/p.json", "");
    let settings = house.settings.get("p", &[key], &alice).unwrap();
    assert!(settings[0].problem.is_some());
}

#[test]
fn options_are_found_in_both_spellings() {
    let options = [option("a.b", ConfigKind::String)];
    for (key, found) in [
        ("a.b", true),
        ("extensions.p.a.b", true),
        ("extensions.q.a.b", false),
        ("extensions.pp.a.b", false),
        ("b", false),
    ] {
        assert_eq!(find_option(&options, "p", key).is_some(), found, "{key}");
    }
}

#[test]
fn a_plugins_name_does_not_lead_elsewhere() {
    let house = House::new();
    for name in ["../../x", "a/b", "", ".."] {
        let error = house.settings.get(name, &[], &user("alice")).unwrap_err();
        assert!(matches!(error, SettingsError::PluginName(_)), "{error}");
    }
}
