//! What a host with presets and connections asks of profiles.

use std::fs;

use innkeeper_protocol::ErrorCode;
use serde_json::json;

use super::house::{House, named, put, refused};
use super::with;
use crate::profile::{Presence, PresetRef, Resources, Unseen};

/// One preset and one connection of each kind.
struct Host;

impl Resources for Host {
    fn preset(&self, preset: &PresetRef) -> Presence {
        match preset.name.as_str() {
            "there" | "new" => Presence::There,
            _ => Presence::Missing,
        }
    }

    fn connection(&self, connection: &str, _: &str) -> Presence {
        match connection {
            "there" => Presence::There,
            "bad" => Presence::Invalid,
            _ => Presence::Missing,
        }
    }
}

#[test]
fn what_stands_in_the_way_is_told_with_what_to_do() {
    let house = House::new();
    let preset = |api: &str, name: &str| {
        with(
            named("a"),
            "/preset",
            json!({"mode": "ref", "ref": {"apiId": api, "name": name}}),
        )
    };
    let connection = |name: &str| {
        let model = json!({"mode": "connectionRef", "connectionRef": name, "modelId": "m"});
        with(named("a"), "/model", model)
    };
    let child = with(
        with(
            named("a"),
            "/run",
            json!({"presentation": "background", "directRunnable": false}),
        ),
        "/delegation",
        json!({"callable": true, "allowAsSubagent": true}),
    );
    for (document, code, path, available) in [
        (named("a"), "", "", [true, true, true, false]),
        (child, "", "", [true, true, false, true]),
        (preset("openai", "there"), "", "", [true, true, true, false]),
        (
            preset("openai", "gone"),
            "preset_missing",
            "$.preset.ref",
            [false; 4],
        ),
        (
            preset("kobold", "there"),
            "preset_api_unsupported",
            "$.preset.ref.apiId",
            [false; 4],
        ),
        (connection("there"), "", "", [true, true, true, false]),
        (
            connection("gone"),
            "model_connection_missing",
            "$.model.connectionRef",
            [true, false, false, false],
        ),
        (
            connection("bad"),
            "model_connection_invalid",
            "$.model.connectionRef",
            [true, false, false, false],
        ),
        (
            with(named("a"), "/model/mode", json!("requiresConfiguration")),
            "model_requires_configuration",
            "$.model.mode",
            [true, false, false, false],
        ),
        (
            with(named("a"), "/tools/maxRounds", json!(0)),
            "contract_invalid",
            "$.tools.maxRounds",
            [false; 4],
        ),
        (named("b"), "contract_invalid", "$.id", [false; 4]),
    ] {
        put(&house.project(), "a.json", &document);
        let diagnosis = house.profiles.diagnose("a", None, &Host).unwrap();
        let told = serde_json::to_value(&diagnosis).unwrap();
        assert_eq!(told["profileId"], "a");
        let have = [
            "previewAvailable",
            "promptAssemblyAvailable",
            "directRunAvailable",
            "subAgentAvailable",
        ]
        .map(|key| told[key].as_bool().unwrap());
        assert_eq!(have, available, "{told}");
        if code.is_empty() {
            assert_eq!(told["diagnostics"], json!([]));
            continue;
        }
        let problem = &told["diagnostics"][0];
        assert_eq!(problem["code"], format!("agent.profile_{code}"));
        assert_eq!(problem["path"], path);
        assert_eq!(problem["severity"], "error");
        assert!(
            problem["repairActions"]
                .as_array()
                .is_some_and(|list| !list.is_empty())
        );
        assert!(
            problem["blocks"]
                .as_array()
                .is_some_and(|list| !list.is_empty())
        );
    }
    put(&house.project(), "a.json", &preset("openai", "gone"));
    let told = serde_json::to_value(house.profiles.diagnose("a", None, &Host).unwrap()).unwrap();
    let resource = json!({"kind": "preset", "apiId": "openai", "name": "gone"});
    assert_eq!(told["diagnostics"][0]["resource"], resource);
    // Who does not know holds nothing against it.
    assert!(
        house
            .profiles
            .diagnose("a", None, &Unseen)
            .unwrap()
            .direct_run_available
    );
    let gone = house.profiles.diagnose("gone", None, &Unseen);
    refused(gone, ErrorCode::AgentNotFound, "agent.profile_not_found");
}

#[test]
fn presets_get_other_names() {
    let house = House::new();
    let refers = |id: &str, name: &str| {
        with(
            named(id),
            "/preset",
            json!({"mode": "ref", "ref": {"apiId": "openai", "name": name}}),
        )
    };
    put(&house.project(), "a.json", &refers("a", "old"));
    put(&house.house(), "b.json", &refers("b", "old"));
    put(&house.house(), "c.json", &refers("c", "else"));
    put(&house.house(), "d.json", &named("d"));
    fs::write(house.house().join("broken.json"), "{").unwrap();
    let preset = |api: &str, name: &str| PresetRef {
        api_id: api.to_owned(),
        name: name.to_owned(),
    };
    let retarget = |from, to| house.profiles.retarget_preset_refs(&from, &to, &Host);
    for (from, to, reason) in [
        (preset("openai", "old"), preset("openai", "old"), "same_ref"),
        (
            preset("openai", "old"),
            preset("kobold", "new"),
            "api_mismatch",
        ),
        (
            preset("openai", "old"),
            preset("openai", "gone"),
            "target_missing",
        ),
        (
            preset("openai", " "),
            preset("openai", "new"),
            "input_invalid",
        ),
    ] {
        let reason = format!("agent.profile_preset_retarget_{reason}");
        refused(retarget(from, to), ErrorCode::AgentValidationError, &reason);
    }
    let done = retarget(preset("openai", "old"), preset("openai", "new")).unwrap();
    let done = serde_json::to_value(done).unwrap();
    assert_eq!(done, json!({"updated": 2, "profileIds": ["a", "b"]}));
    let text = fs::read_to_string(house.house().join("b.json")).unwrap();
    assert_eq!(text, format!("{:#}\n", refers("b", "new")));
    let untouched = fs::read_to_string(house.house().join("c.json")).unwrap();
    assert_eq!(untouched, refers("c", "else").to_string());
}
