use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json, json};

use super::png::card;
use crate::nodes::testing_ports::{ScriptedTools, with_tools};
use crate::testing::run_node_with;

fn chunk(kind: &[u8], data: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(data.len()).unwrap().to_be_bytes().to_vec();
    bytes.extend(kind);
    bytes.extend(data);
    bytes.extend([0; 4]);
    bytes
}

/// A picture with text chunks, as base64.
fn png(texts: &[(&str, &Json)]) -> String {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    bytes.extend(chunk(b"IHDR", &[0; 13]));
    for (keyword, json) in texts {
        let value = STANDARD.encode(json.to_string());
        let mut data = keyword.as_bytes().to_vec();
        data.push(0);
        data.extend(value.as_bytes());
        bytes.extend(chunk(b"tEXt", &data));
    }
    bytes.extend(chunk(b"IEND", b""));
    STANDARD.encode(bytes)
}

#[test]
fn the_card_in_a_picture_is_found() {
    let (old, new) = (json!({"name": "old"}), json!({"name": "new"}));
    assert_eq!(card(&png(&[("chara", &old)])), Ok(old.clone()));
    assert_eq!(
        card(&png(&[("chara", &old), ("ccv3", &new)])),
        Ok(new.clone())
    );
    assert_eq!(card(&png(&[("ccv3", &new), ("chara", &old)])), Ok(new));
    for (encoded, why) in [
        (png(&[]), "no tEXt chunk"),
        (png(&[("Comment", &old)]), "no tEXt chunk"),
        (STANDARD.encode("GIF89a"), "no PNG"),
        ("***".to_owned(), "base64"),
        (String::new(), "no PNG"),
    ] {
        let error = card(&encoded).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    // A picture that was cut anywhere gives an error, never a panic.
    let whole = STANDARD.decode(png(&[("chara", &old)])).unwrap();
    for end in 0..whole.len() - 12 {
        assert!(card(&STANDARD.encode(&whole[..end])).is_err(), "{end}");
    }
}

fn tools(files: Json) -> Arc<ScriptedTools> {
    let files: Map<String, Json> = files.as_object().unwrap().clone();
    Arc::new(ScriptedTools::default().with_files(&Arc::new(Mutex::new(files))))
}

#[tokio::test]
async fn each_loader_reads_its_file() {
    let card = json!({"spec": "chara_card_v3", "spec_version": "3.0", "data": {"name": "Anna", "description": "d"}});
    let tools = tools(json!({
        "o.json": "\u{feff}{\"a\": 1}", "l.json": "[{\"role\": \"user\", \"content\": \"x\"}]",
        "r.json": "{\"rules\": [{\"name\": \"r\"}]}", "c.json": card.to_string(), "c.PNG": png(&[("ccv3", &card)]),
        "v1.json": "{\"name\": \"Bob\", \"data\": {\"x\": 1}}",
    }));
    let anna =
        json!({"name": "Anna", "description": "d", "spec": "chara_card_v3", "spec_version": "3.0"});
    for (node, setting, path, output, wanted) in [
        (
            "PresetLoader",
            "presetResource",
            "o.json",
            "presetData",
            json!({"a": 1}),
        ),
        (
            "WorldBookLoader",
            "worldBookResource",
            "o.json",
            "worldBookData",
            json!({"a": 1}),
        ),
        (
            "CharacterCardLoader",
            "cardResource",
            "c.json",
            "characterData",
            anna.clone(),
        ),
        (
            "CharacterCardLoader",
            "cardResource",
            "c.PNG",
            "characterData",
            anna,
        ),
        (
            "CharacterCardLoader",
            "cardResource",
            "v1.json",
            "characterData",
            json!({"name": "Bob", "data": {"x": 1}}),
        ),
        (
            "HistoryLoader",
            "historyResource",
            "l.json",
            "historyMessages",
            json!([{"role": "user", "content": "x"}]),
        ),
        (
            "RegexRuleLoader",
            "ruleResource",
            "r.json",
            "regexRules",
            json!([{"name": "r"}]),
        ),
    ] {
        let node = format!("core:{node}");
        let config = json!({setting: path});
        let outputs = run_node_with(&node, config, json!({}), with_tools(&tools))
            .await
            .unwrap();
        assert_eq!(outputs[output], wanted, "{node} {path}");
    }
}

#[tokio::test]
async fn what_cannot_be_loaded_says_why() {
    let tools = tools(json!({"l.json": "[]", "t.json": "text", "p.png": "AAAA", "o.json": "{}"}));
    for (node, config, code) in [
        ("PresetLoader", json!({}), "loader.no_file"),
        (
            "PresetLoader",
            json!({"presetResource": "none.json"}),
            "workspace.file_not_found",
        ),
        (
            "PresetLoader",
            json!({"presetResource": "t.json"}),
            "loader.no_json",
        ),
        (
            "PresetLoader",
            json!({"presetResource": "l.json"}),
            "loader.wrong_type",
        ),
        (
            "HistoryLoader",
            json!({"historyResource": "o.json"}),
            "loader.wrong_type",
        ),
        (
            "CharacterCardLoader",
            json!({"cardResource": "p.png"}),
            "loader.no_card",
        ),
    ] {
        let node = format!("core:{node}");
        let error = run_node_with(&node, config.clone(), json!({}), with_tools(&tools))
            .await
            .unwrap_err();
        assert_eq!(error.code, code, "{config}: {error}");
    }
}
