//! The plugins that ship with it, run for real.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use innkeeper_protocol::event::RunId;
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use serde_json::{Value as Json, json};

use super::*;
use crate::hook::{Hook, HookAction, HookFailure, HookPoint};
use crate::plugin::{
    ConfigKind, ConfigOption, ConfigScope, HookDeclaration, NewValue, Permissions, PluginSettings,
    ScriptCommand,
};
use crate::{
    CallContext, Caller, Executor, Invocation, Pattern, Progress, Secret, Secrets, ToolError,
    UserId,
};

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins")
}

/// One file in memory for whatever is read; what is written is kept.
#[derive(Default)]
struct Shelf(Mutex<BTreeMap<String, Vec<u8>>>);

#[async_trait]
impl ScriptFiles for Shelf {
    async fn read(
        &self,
        _: &Caller,
        uri: &str,
        _: &[Pattern],
        _: usize,
    ) -> Result<Vec<u8>, ToolError> {
        let files = self.0.lock().unwrap();
        files
            .get(uri)
            .cloned()
            .ok_or_else(|| ToolError::failed("no such file"))
    }

    async fn write(
        &self,
        _: &Caller,
        uri: &str,
        bytes: Vec<u8>,
        _: &[Pattern],
    ) -> Result<(), ToolError> {
        self.0.lock().unwrap().insert(uri.to_owned(), bytes);
        Ok(())
    }
}

fn command(text: &str) -> ScriptCommand {
    let mut words = shell_words::split(text).unwrap().into_iter();
    ScriptCommand {
        program: words.next().unwrap(),
        arguments: words.collect(),
        ..ScriptCommand::default()
    }
}

fn option(declared: &Json) -> ConfigOption {
    let text = |key: &str| declared[key].as_str().unwrap_or_default().to_owned();
    ConfigOption {
        key: text("key"),
        kind: serde_json::from_value(declared["type"].clone()).unwrap(),
        label: text("label"),
        description: text("description"),
        default: declared.get("defaultValue").cloned(),
        scope: serde_json::from_value(declared.get("scope").cloned().unwrap_or(json!("user")))
            .unwrap(),
        options: serde_json::from_value(declared.get("options").cloned().unwrap_or(json!([])))
            .unwrap(),
        min: declared["min"].as_f64(),
        max: declared["max"].as_f64(),
        step: None,
        required: declared["required"].as_bool().unwrap_or(false),
        variable: text("key").to_uppercase(),
    }
}

struct House {
    _folder: tempfile::TempDir,
    host: ScriptHost,
    shelf: Arc<Shelf>,
    settings: Arc<PluginSettings>,
}

impl House {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        let secrets = Secrets::new(home.join("secrets.toml"));
        let settings = Arc::new(PluginSettings::new(home, secrets));
        let shelf = Arc::new(Shelf::default());
        let runner: Arc<dyn ScriptRunner> = Arc::new(for_tests());
        Self {
            host: ScriptHost {
                workers: WorkerPool::new(runner.clone()),
                runner,
                settings: settings.clone(),
                files: shelf.clone(),
                data: home.join("plugin-data"),
                limits: ScriptLimits::default(),
            },
            _folder: folder,
            shelf,
            settings,
        }
    }

    fn manifest(&self, plugin: &str) -> Json {
        let text = fs::read_to_string(shipped().join(plugin).join("plugin.yaml")).unwrap();
        serde_saphyr::from_str(&text).unwrap()
    }

    fn script_plugin(&self, name: &str, own: &Json) -> ScriptPlugin {
        let manifest = self.manifest(name);
        let declared = [&manifest["configOptions"], own];
        let options = declared.iter().filter_map(|list| list.as_array()).flatten();
        ScriptPlugin {
            name: name.to_owned(),
            root: shipped().join(name),
            stamp: 0,
            options: options.map(option).collect(),
            granted: Permissions::default(),
        }
    }

    /// `call("scribe", "html", …)` runs the tool of `tools/html.tool.json`.
    async fn call(&self, plugin: &str, tool: &str, arguments: Json) -> Result<Json, ToolError> {
        let path = shipped()
            .join(plugin)
            .join(format!("tools/{tool}.tool.json"));
        let file: Json = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let validator = jsonschema::validator_for(&file["parameters"]).unwrap();
        assert!(validator.is_valid(&arguments), "{arguments}");
        let definition: ToolDefinition = serde_json::from_value(file.clone()).unwrap();
        let script = command(file["implementation"]["command"].as_str().unwrap());
        let plugin = self.script_plugin(plugin, &file["configSchema"]);
        let call = Invocation {
            tool: Arc::new(definition),
            arguments: arguments.as_object().unwrap().clone(),
            context: CallContext {
                caller: Arc::new(Caller::person(RunId::new("run_1"))),
                call_id: "call-1".into(),
                asked_as: None,
                attempt: 1,
                cancel: CancellationToken::new(),
                progress: Progress::default(),
                run: None,
            },
        };
        ScriptExecutor::new(self.host.clone(), plugin, script)
            .execute(call)
            .await
    }

    async fn invalid(&self, plugin: &str, tool: &str, arguments: Json, message: &str) {
        let error = self
            .call(plugin, tool, arguments.clone())
            .await
            .unwrap_err();
        assert_eq!(
            error.code,
            ErrorCode::ToolInvalidArguments,
            "{arguments}: {error}"
        );
        assert!(error.message.contains(message), "{arguments}: {error}");
    }

    fn set_signing_key(&self, key: &str) {
        let declared = json!({"key": "signing_key", "type": "secret", "scope": "instance"});
        let value = NewValue::Secret(Secret::new(key));
        self.settings
            .set(
                "signet",
                &option(&declared),
                ConfigScope::Instance,
                &UserId::default(),
                value,
            )
            .unwrap();
    }
}

#[tokio::test]
async fn every_manifest_is_whole_and_every_example_runs() {
    let house = House::new();
    house.set_signing_key("a key of sixteen");
    let mut tools = 0;
    for plugin in ["table-talk", "scribe", "signet"] {
        let manifest = house.manifest(plugin);
        assert_eq!(manifest["name"], plugin);
        for key in ["displayName", "version", "description"] {
            assert!(manifest[key].is_string(), "{plugin} {key}");
        }
        for option in house.script_plugin(plugin, &Json::Null).options {
            assert!(
                option.kind != ConfigKind::Secret && option.default.is_some(),
                "{}",
                option.key
            );
        }
        let readme = fs::read_to_string(shipped().join(plugin).join("README.md")).unwrap();
        for entry in fs::read_dir(shipped().join(plugin).join("tools")).unwrap() {
            let path = entry.unwrap().path();
            let file: Json = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            assert!(
                readme.contains(file["id"].as_str().unwrap()),
                "{}",
                path.display()
            );
            let name = path.file_name().unwrap().to_str().unwrap();
            let examples = file["examples"].as_array().unwrap();
            assert!(!examples.is_empty());
            for example in examples {
                let tool = name.strip_suffix(".tool.json").unwrap();
                house
                    .call(plugin, tool, example["arguments"].clone())
                    .await
                    .unwrap();
            }
            tools += 1;
        }
    }
    assert_eq!(tools, 7);
}

const TEAS: &str =
    "tea,country,price\nSencha,Japan,7.5\nGyokuro,Japan,19\nAssam,India,4\n\"Long, Jing\",中国,\n";

#[tokio::test]
async fn table_talk_answers() {
    let house = House::new();
    house
        .shelf
        .0
        .lock()
        .unwrap()
        .insert("user://teas.csv".into(), TEAS.into());
    house
        .shelf
        .0
        .lock()
        .unwrap()
        .insert("user://picture".into(), vec![0xff, 0xfe]);
    let about = house
        .call("table-talk", "describe", json!({"file": "user://teas.csv"}))
        .await
        .unwrap();
    assert_eq!(about["rows"], 4);
    assert_eq!(
        about["columns"][2],
        json!({"name": "price", "missing": 1, "distinct": 3, "type": "number", "min": 4, "max": 19,
               "mean": 10.1666666667, "median": 7.5, "sum": 30.5, "stdev": 7.84750491133})
    );
    assert_eq!(
        about["columns"][1]["top"][0],
        json!({"value": "Japan", "count": 2})
    );

    for (arguments, expected) in [
        (
            json!({"where": ["price > 5"]}),
            json!([{"tea": "Sencha", "country": "Japan", "price": 7.5}, {"tea": "Gyokuro", "country": "Japan", "price": 19}]),
        ),
        (
            json!({"where": ["PRICE<=4"], "columns": ["Tea"]}),
            json!([{"tea": "Assam"}]),
        ),
        (
            json!({"where": ["`price` is empty"], "columns": ["tea"]}),
            json!([{"tea": "Long, Jing"}]),
        ),
        (
            json!({"where": ["price is not empty", "tea contains S"], "columns": ["tea"]}),
            json!([{"tea": "Sencha"}, {"tea": "Assam"}]),
        ),
        (
            json!({"where": ["country = 中国"], "columns": ["tea"]}),
            json!([{"tea": "Long, Jing"}]),
        ),
        (
            json!({"where": ["tea starts with 'gyo'"], "columns": ["price"]}),
            json!([{"price": 19}]),
        ),
        (
            json!({"group_by": ["country"], "measures": ["count", "sum price", "mean price"], "sort": "-sum price"}),
            json!([{"country": "Japan", "count": 2, "sum price": 26.5, "mean price": 13.25}, {"country": "India", "count": 1, "sum price": 4, "mean price": 4}, {"country": "中国", "count": 1, "sum price": 0, "mean price": null}]),
        ),
        (
            json!({"measures": ["distinct country", "max tea", "median price"]}),
            json!([{"distinct country": 3, "max tea": "Sencha", "median price": 7.5}]),
        ),
        (
            json!({"sort": "-price", "columns": ["price"]}),
            json!([{"price": 19}, {"price": 7.5}, {"price": 4}, {"price": null}]),
        ),
        (
            json!({"where": ["price > 1000"], "sort": "price"}),
            json!([]),
        ),
    ] {
        let mut whole = arguments.clone();
        whole["file"] = json!("user://teas.csv");
        let answer = house.call("table-talk", "query", whole).await.unwrap();
        assert_eq!(answer["rows"], expected, "{arguments}");
    }
    let answer = house
        .call("table-talk", "query", json!({"text": TEAS, "limit": 1}))
        .await
        .unwrap();
    assert_eq!(
        (&answer["matching"], &answer["more"]),
        (&json!(4), &json!(3))
    );
    for (text, first) in [
        ("a\tb\n1\t2,5\n", json!({"a": 1, "b": "2,5"})),
        ("a;b\n1;2\n", json!({"a": 1, "b": 2})),
        ("zip,n\n01234,1\n", json!({"zip": "01234", "n": 1})),
        ("a,a,\n1,2,3\n", json!({"a": 1, "a (2)": 2, "column 3": 3})),
        (
            "[{\"a\": 1, \"b\": true}, {\"c\": [1]}]",
            json!({"a": 1, "b": true, "c": null}),
        ),
        ("{\"rows\": [{\"a\": \"x\"}]}", json!({"a": "x"})),
        ("\u{feff}a\n1\n", json!({"a": 1})),
    ] {
        let answer = house
            .call("table-talk", "query", json!({"text": text}))
            .await
            .unwrap();
        assert_eq!(answer["rows"][0], first, "{text}");
    }
    for (arguments, message) in [
        (json!({}), "either as 'text' or as 'file'"),
        (json!({"text": ""}), "is empty"),
        (json!({"text": "a,b\n1,2,3\n"}), "row 1 has 3 cells"),
        (json!({"text": "[1]"}), "a list of objects"),
        (json!({"text": "{broken"}), "no JSON"),
        (
            json!({"text": TEAS, "where": ["cost > 1"]}),
            "there are: tea, country, price",
        ),
        (json!({"text": TEAS, "where": ["cheap"]}), "is no condition"),
        (
            json!({"text": TEAS, "measures": ["product price"]}),
            "is no measure",
        ),
        (json!({"text": TEAS, "measures": ["sum tea"]}), "no numbers"),
        (json!({"file": "user://picture"}), "is no text"),
    ] {
        house
            .invalid("table-talk", "query", arguments, message)
            .await;
    }
}

#[tokio::test]
async fn scribe_answers() {
    let house = House::new();
    let text = "---\ntitle: x\n---\n# Tea #\n\nWater first.\n\nGreen\n-----\n茶很好\n\n```\n# no heading\n```\n";
    let about = house
        .call("scribe", "outline", json!({"text": text}))
        .await
        .unwrap();
    assert_eq!(
        about["headings"],
        json!([{"level": 1, "title": "Tea", "line": 4, "words": 2}, {"level": 2, "title": "Green", "line": 8, "words": 5}])
    );

    for (markdown, html) in [
        (
            "a *b* **c** `d<` ~~e~~",
            "<p>a <em>b</em> <strong>c</strong> <code>d&#60;</code> <del>e</del></p>\n",
        ),
        (
            "<script>x</script>",
            "<p>&#60;script&#62;x&#60;/script&#62;</p>\n",
        ),
        (
            "[a](javascript:x) [b](https://c.d/?e&f)",
            "<p>a <a href=\"https://c.d/?e&#38;f\">b</a></p>\n",
        ),
        (
            "![a\"b](data:x) ![c](d.png)",
            "<p>a&#34;b <img src=\"d.png\" alt=\"c\"></p>\n",
        ),
        (
            "snake_case_name _em_ \\*no\\*",
            "<p>snake_case_name <em>em</em> *no*</p>\n",
        ),
        (
            "- a\n  - b\n- c\n\nafter",
            "<ul>\n<li>a\n<ul>\n<li>b</li>\n</ul></li>\n<li>c</li>\n</ul>\n<p>after</p>\n",
        ),
        (
            "3. a\n\n   b\n4. c",
            "<ol start=\"3\">\n<li><p>a</p>\n<p>b</p></li>\n<li><p>c</p></li>\n</ol>\n",
        ),
        (
            "> # a\n> b",
            "<blockquote>\n<h1>a</h1>\n<p>b</p>\n</blockquote>\n",
        ),
        (
            "|a|b|\n|-|-:|\n|1|\\||",
            "<table>\n<thead>\n<tr><th>a</th><th style=\"text-align:right\">b</th></tr>\n</thead>\n<tbody>\n<tr><td>1</td><td style=\"text-align:right\">|</td></tr>\n</tbody>\n</table>\n",
        ),
        (
            "```js\"x\n<a>\n",
            "<pre><code class=\"language-js&#34;x\">&#60;a&#62;\n</code></pre>\n",
        ),
        ("a  \nb\n\n---", "<p>a<br>\nb</p>\n<hr>\n"),
        ("", ""),
    ] {
        let answer = house
            .call("scribe", "html", json!({"text": markdown}))
            .await
            .unwrap();
        assert_eq!(answer["html"], html, "{markdown}");
    }
    let nested = ">".repeat(2_000);
    assert!(
        house
            .call("scribe", "html", json!({"text": nested}))
            .await
            .is_ok()
    );

    let saved = json!({"text": "# 茶 & co", "save_as": "user://projects/default/tea.html"});
    let answer = house.call("scribe", "html", saved).await.unwrap();
    assert_eq!(
        (&answer["file"], &answer["title"]),
        (
            &json!("user://projects/default/tea.html"),
            &json!("茶 & co")
        )
    );
    let page = house.shelf.0.lock().unwrap()["user://projects/default/tea.html"].clone();
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("<title>茶 &#38; co</title>") && page.contains("<h1>茶 &#38; co</h1>"));

    let values = json!({"a": {"b": "x"}, "n": 0, "list": [{"v": 1}, {"v": 2}], "none": []});
    for (template, missing, expected) in [
        ("{{ a.b }}{{n}}", "error", "x0"),
        ("{{#list}}{{v}}{{a.b}},{{/list}}", "error", "1x,2x,"),
        ("{{#none}}a{{/none}}{{^none}}b{{/none}}", "error", "b"),
        ("1\n {{#list}}\n{{v}}\n {{/list}}\n2", "error", "1\n1\n2\n2"),
        ("{{ gone }}|", "keep", "{{ gone }}|"),
        ("{{constructor}}|{{a.toString}}", "empty", "|"),
        ("{{a}} {x} }}", "error", "{\"b\":\"x\"} {x} }}"),
    ] {
        let arguments = json!({"template": template, "values": values, "missing": missing});
        let answer = house.call("scribe", "fill", arguments).await.unwrap();
        assert_eq!(answer, expected, "{template}");
    }
    for (template, message) in [
        ("{{gone}} {{away}}", "no value for gone, away"),
        ("{{#a}}", "never closed"),
        ("x\n{{/a}}", "line 2"),
        ("{{#a}}{{#list}}{{/a}}{{/list}}", "closes what is not open"),
        ("{{}}", "names nothing"),
    ] {
        house
            .invalid(
                "scribe",
                "fill",
                json!({"template": template, "values": {}}),
                message,
            )
            .await;
    }
    house
        .invalid("scribe", "html", json!({}), "either 'text' or 'file'")
        .await;
}

#[tokio::test]
async fn signet_signs_and_verifies() {
    let house = House::new();
    let error = house
        .call("signet", "sign", json!({"text": "x"}))
        .await
        .unwrap_err();
    assert!(
        error
            .message
            .contains("innkeeper plugin config signet set signing_key"),
        "{error}"
    );
    house.set_signing_key("short");
    let error = house
        .call("signet", "sign", json!({"text": "x"}))
        .await
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::ToolUnavailable);
    assert!(error.message.contains("16 characters"), "{error}");

    house.set_signing_key("a key of sixteen");
    house
        .shelf
        .0
        .lock()
        .unwrap()
        .insert("user://f".into(), "grüße".into());
    house
        .shelf
        .0
        .lock()
        .unwrap()
        .insert("user://b".into(), vec![0, 255]);
    let sign = async |arguments| {
        let answer = house.call("signet", "sign", arguments).await.unwrap();
        answer["signature"].as_str().unwrap().to_owned()
    };
    let signature = sign(json!({"text": "grüße", "purpose": "p"})).await;
    assert_eq!(
        sign(json!({"file": "user://f", "purpose": "p"})).await,
        signature
    );
    assert_eq!(
        sign(json!({"file": "user://b"})).await.len(),
        "v1:".len() + 64
    );
    for (arguments, valid) in [
        (json!({"text": "grüße", "purpose": "p"}), true),
        (json!({"text": "grüße!", "purpose": "p"}), false),
        (json!({"text": "grüße", "purpose": "q"}), false),
        (json!({"text": "grüße"}), false),
        (json!({"text": "pgrüße"}), false),
    ] {
        let mut whole = arguments.clone();
        whole["signature"] = json!(signature);
        let answer = house.call("signet", "verify", whole).await.unwrap();
        assert_eq!(answer, json!({"valid": valid}), "{arguments}");
    }
    let odd = json!({"text": "x", "signature": "ünfug"});
    assert_eq!(
        house.call("signet", "verify", odd).await.unwrap(),
        json!({"valid": false})
    );
    house
        .invalid(
            "signet",
            "sign",
            json!({"text": "a", "file": "user://f"}),
            "either",
        )
        .await;
}

#[tokio::test]
async fn signet_guards_what_agents_write() {
    let house = House::new();
    let manifest = house.manifest("signet");
    let declared = &manifest["hooks"][0];
    let plugin = house.script_plugin("signet", &Json::Null);
    let hook = ScriptHook::new(
        house.host.clone(),
        plugin.clone(),
        HookDeclaration {
            point: declared["on"].as_str().unwrap().parse().unwrap(),
            command: command(declared["run"].as_str().unwrap()),
            order: 0,
            timeout: Duration::from_secs(10),
            on_failure: HookFailure::Refuse,
            tools: serde_json::from_value(declared["tools"].clone()).unwrap(),
        },
    );
    assert_eq!(hook.point(), HookPoint::ToolBeforeCall);
    for tool in ["File.Write", "File.ApplyEdit", "workspace.apply_patch"] {
        assert!(hook.concerns(tool), "{tool}");
    }
    assert!(!hook.concerns("File.Read"));

    let subject = |content: &str, kind: &str| {
        json!({
            "tool": "File.Write",
            "arguments": {"path": "user://a", "parts": [{"content": content}]},
            "caller": {"user": "default", "actor": {"kind": kind}},
        })
    };
    // Put together here, so that nobody takes this file for a leak.
    let token = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5");
    let pem = format!(
        "-----BEGIN {0} KEY-----\nMIIB\n-----END {0} KEY-----",
        "RSA PRIVATE"
    );
    for (content, refused) in [
        ("a plain text", None),
        ("sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxx", None),
        ("-----BEGIN PUBLIC KEY-----", None),
        (token.as_str(), Some("GitHub token")),
        (pem.as_str(), Some("private key")),
    ] {
        let action = hook.run(&subject(content, "agent")).await.unwrap();
        match refused {
            None => assert_eq!(action, HookAction::Continue, "{content}"),
            Some(kind) => match action {
                HookAction::Refuse { reason } => {
                    assert!(
                        reason.contains(kind) && reason.contains("parts[0].content"),
                        "{reason}"
                    );
                    assert!(!reason.contains(content));
                }
                other => panic!("{content}: {other:?}"),
            },
        }
        let by_person = hook.run(&subject(content, "person")).await.unwrap();
        assert_eq!(by_person, HookAction::Continue);
    }

    let guard = &plugin.options[0];
    let set = |value: &str| {
        let value = NewValue::Plain(json!(value));
        house.settings.set(
            "signet",
            guard,
            ConfigScope::Instance,
            &UserId::default(),
            value,
        )
    };
    set("mask").unwrap();
    let value =
        json!({"path": "user://a", "parts": [{"content": "x [GitHub token removed by signet] y"}]});
    assert_eq!(
        hook.run(&subject(&format!("x {token} y"), "agent"))
            .await
            .unwrap(),
        HookAction::Change { value }
    );
    set("off").unwrap();
    assert_eq!(
        hook.run(&subject(&token, "agent")).await.unwrap(),
        HookAction::Continue
    );
    // What it does not understand it does not let pass.
    set("refuse").unwrap();
    assert!(
        hook.run(&json!({"tool": "File.Write", "caller": {}}))
            .await
            .is_err()
    );
}
