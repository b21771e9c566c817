//! `innkeeper plugin …`: begun, checked, accepted, switched, configured.

use serde_json::json;

use super::home::{House, Plugin, players};

#[test]
fn from_nothing_to_a_tool_that_answers() {
    let house = House::new();
    let new = house.run(&["plugin", "new", "greetings"]);
    let folder = house.path().join("plugins/greetings");
    assert_eq!(
        new.stdout.trim_end(),
        folder.to_str().unwrap(),
        "{}",
        new.stderr
    );
    house
        .run(&["plugin", "check", folder.to_str().unwrap()])
        .shows(&["in order", "greetings"]);
    house
        .run(&["plugin", "list"])
        .shows(&["greetings", "pending", "0.1.0"]);
    house.run(&["plugin", "enable", "greetings"]).is_refused(
        2,
        &[
            "--accept",
            "plugin permissions greetings",
            "[plugin.needs_consent]",
        ],
    );
    house
        .run(&["plugin", "permissions", "greetings"])
        .shows(&["no ", "run the program python on this machine"]);
    let enabled = house.json(&["plugin", "enable", "greetings", "--accept"]);
    assert_eq!(enabled["state"], "enabled");
    house
        .run(&["plugin", "permissions", "greetings"])
        .shows(&["yes"]);
    house
        .run(&["tools", "list", "--source", "plugin:*"])
        .shows(&["greetings:greet"]);
    house
        .run(&["tools", "call", "greetings:greet", "name=Mei"])
        .shows(&["Mei"]);
}

/// What the person who runs it would have to hand over by accident.
#[test]
fn a_script_sees_its_plugin_and_nothing_of_the_house() {
    let house = House::new();
    house.write("other.txt", "not for plugins");
    let script = format!(
        "cat > /dev/null; cat '{0}/other.txt'; cat '{0}/innkeeper.toml'; ls '{0}/plugins'; echo x > here; \
         echo kept > \"$INNKEEPER_DATA/note\"; echo done",
        house.path().display()
    );
    house.settings("[scripts]\nmemory_mb = 256\n");
    house.put(&super::home::players());
    house.plugin(&Plugin {
        name: "curious",
        tool: "Curious",
        script: &script,
        ..players()
    });
    let run = house.run(&["tools", "call", "Curious", "player_id=1", "--json"]);
    run.shows(&["done"]);
    assert!(!run.stdout.contains("not for plugins") && !run.stdout.contains("memory_mb"));
    assert!(
        run.stdout.contains("curious") && !run.stdout.contains("players"),
        "{}",
        run.stdout
    );
    let data = house.path().join("plugin-data/curious/note");
    assert_eq!(std::fs::read_to_string(data).unwrap(), "kept\n");
    assert!(!house.path().join("plugins/curious/here").exists());
}

#[test]
fn a_limit_from_the_settings_is_named_when_it_is_crossed() {
    let house = House::new();
    house.settings("[scripts]\ncpu_seconds = 1\n");
    house.plugin(&Plugin {
        script: "while :; do :; done",
        ..players()
    });
    let run = house.run(&["tools", "call", "GetPlayerInfo", "player_id=1"]);
    run.is_refused(1, &["1 s of processor time", "limit: cpu", "cpu_seconds"]);
}

#[test]
fn switching_off_takes_its_tools_away() {
    let house = House::new();
    house.plugin(&players());
    let call = ["tools", "call", "GetPlayerInfo", "player_id=1"];
    assert_eq!(house.run(&call).code, Some(0));
    assert_eq!(
        house.json(&["plugin", "disable", "players"])["state"],
        "disabled"
    );
    house.run(&call).is_refused(2, &["[plugin.not_enabled]"]);
    // What was accepted is remembered: nothing new is asked for.
    let again = house.run(&["plugin", "enable", "players"]);
    assert_eq!(
        (again.code, again.stdout.as_str()),
        (Some(0), ""),
        "{}",
        again.stderr
    );
    assert_eq!(house.run(&call).code, Some(0));
}

#[test]
fn a_plugin_that_asks_for_more_waits_again() {
    let house = House::new();
    house.plugin(&players());
    house.put(&Plugin {
        manifest: "permissions:\n  network: [api.example.com]\n",
        ..players()
    });
    let asked = house.json(&["plugin", "permissions", "players"]);
    assert_eq!(asked["state"], "pending");
    assert_eq!(asked["new"], json!(["net:api.example.com"]));
    house
        .run(&["tools", "call", "GetPlayerInfo", "player_id=1"])
        .is_refused(2, &["[plugin.not_enabled]"]);
    house
        .run(&["plugin", "permissions", "players", "--lang", "zh"])
        .shows(&["已授权", "否", "通过网络访问 api.example.com"]);
}

#[test]
fn one_plugin_in_words_and_as_json() {
    let house = House::new();
    house.plugin(&players());
    house.run(&["plugin", "show", "players"]).shows(&[
        "players",
        "enabled",
        "GetPlayerInfo",
        "script",
        "Asks to",
    ]);
    house
        .run(&["plugin", "show", "players", "--lang", "zh"])
        .shows(&["插件", "已启用", "请求"]);
    let shown = house.json(&["plugin", "show", "players"]);
    assert_eq!(shown["tools"][0]["id"], "GetPlayerInfo");
    assert_eq!(shown["state"], "enabled");
    house.run(&["plugin", "show", "player"]).is_refused(
        2,
        &[
            "no plugin 'player'",
            "did you mean players?",
            "[plugin.unknown]",
        ],
    );
    house
        .run(&["--lang", "zh", "plugin", "disable", "xyzzy"])
        .is_refused(2, &["没有插件“xyzzy”", "[plugin.unknown]"]);
}

#[test]
fn a_broken_plugin_is_told_with_place_and_code() {
    let house = House::new();
    house.put(&players());
    house.write("plugins/players/tools/bad.tool.json", "{\n  \"id\": 7,\n");
    let folder = house.path().join("plugins/players");
    let folder = folder.to_str().unwrap();
    let check = house.run(&["plugin", "check", folder]);
    assert_eq!(check.code, Some(1), "{}", check.stderr);
    assert!(check.stdout.contains("broken"), "{}", check.stdout);
    assert!(
        check.stdout.contains("tools/bad.tool.json:"),
        "{}",
        check.stdout
    );
    assert!(
        check.stdout.contains("[plugin.bad_json]"),
        "{}",
        check.stdout
    );
    let check = house.run(&["plugin", "check", folder, "--json"]);
    assert_eq!(check.code, Some(1));
    assert_eq!(check.json()["ok"], false);
    assert_eq!(check.json()["problems"][0]["code"], "plugin.bad_json");
    house
        .run(&["plugin", "list"])
        .shows(&["players", "broken", "bad.tool.json"]);
    house
        .run(&["plugin", "list", "--lang", "zh"])
        .shows(&["有错误"]);
    for words in [
        &["plugin", "enable", "players", "--accept"][..],
        &["plugin", "permissions", "players"],
        &["plugin", "config", "players"],
    ] {
        house.run(words).is_refused(
            1,
            &["'players' is broken", "bad.tool.json", "[plugin.broken]"],
        );
    }
    assert_eq!(
        house.json(&["plugin", "show", "players"])["state"],
        "broken"
    );
}

#[test]
fn check_and_new_need_no_house() {
    let house = House::new();
    let parent = tempfile::tempdir().unwrap();
    let inside = parent.path().to_str().unwrap();
    let new = house.json(&[
        "plugin",
        "new",
        "mine",
        "--in",
        inside,
        "--template",
        "node",
    ]);
    let folder = new["folder"].as_str().unwrap();
    assert!(
        house.json(&["plugin", "check", folder])["ok"]
            .as_bool()
            .unwrap()
    );
    assert_eq!(std::fs::read_dir(house.path()).unwrap().count(), 0);
    for (words, fragments) in [
        (
            &["new", "mine", "--in", inside][..],
            &["exists already", "[plugin.not_created]"][..],
        ),
        (
            &["new", "a/b", "--in", inside],
            &["'a/b'", "[plugin.not_created]"],
        ),
        (&["new"], &["<NAME> is missing", "[cli.usage]"]),
        (
            &["new", "x", "--template", "perl"],
            &["'perl'", "python, node"],
        ),
        (
            &["check", "/no/such/folder"],
            &["no such folder", "[input.not_found]"],
        ),
        (&["check", file!()], &["plugin.rs"]),
        (&["check"], &["<DIR> is missing"]),
        (&[], &["innkeeper plugin needs a command"]),
        (&["lsit"], &["did you mean list?"]),
    ] {
        let words = [&["plugin"][..], words].concat();
        house.run(&words).is_refused(2, fragments);
    }
    let file = parent.path().join("file");
    std::fs::write(&file, "").unwrap();
    house
        .run(&["plugin", "check", file.to_str().unwrap()])
        .is_refused(2, &["no folder", "[input.not_a_folder]"]);
}

#[test]
fn an_empty_house_says_how_to_begin() {
    let run = House::new().run(&["plugin", "list"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    assert!(run.stderr.contains("plugin new"), "{}", run.stderr);
    assert_eq!(House::new().json(&["plugin", "list"]), json!([]));
}

#[test]
fn a_tool_that_sleeps_says_how_to_wake_it() {
    let house = House::new();
    house.put(&players());
    for words in [
        &["tools", "call", "GetPlayerInfo", "player_id=1"][..],
        &["tools", "show", "getplayerinfo"],
    ] {
        house.run(words).is_refused(
            2,
            &["innkeeper plugin enable players", "[plugin.not_enabled]"],
        );
    }
}

#[test]
fn a_folder_for_plugins_that_is_not_there_is_mentioned() {
    let house = House::new();
    house.settings("[plugins]\npaths = [\"elsewhere\"]\n");
    let run = house.run(&["plugin", "list"]);
    assert_eq!(run.code, Some(0));
    assert!(
        run.stderr.contains("elsewhere: there is no such folder"),
        "{}",
        run.stderr
    );
    assert_eq!(house.json(&["plugin", "list"]), json!([]));
}

#[test]
fn nodes_are_shown() {
    let house = House::new();
    house.write(
        "plugins/sky/plugin.yaml",
        "name: sky\nversion: '1'\nnodes: {entry: nodes}\n",
    );
    house.write("plugins/sky/s.py", "");
    let node = json!({
        "type": "Colour",
        "description": "Tells the colour of the sky.",
        "outputs": {"colour": {"dataFlowType": "STRING"}},
        "implementation": {"type": "script", "command": "python s.py"},
        "x-mine": 1,
    });
    let file = house.write("plugins/sky/nodes/c.node.json", &node.to_string());
    house
        .run(&["plugin", "list"])
        .shows(&["NODES", "sky", "pending"]);
    house.run(&["plugin", "show", "sky"]).shows(&[
        "Nodes",
        "sky:Colour",
        "Tells the colour of the sky.",
    ]);
    house
        .run(&["--lang", "zh", "plugin", "show", "sky"])
        .shows(&["节点", "sky:Colour"]);
    let folder = house.path().join("plugins/sky");
    let folder = folder.to_str().unwrap();
    house
        .run(&["plugin", "check", folder])
        .shows(&["in order", "nodes: 1"]);
    assert_eq!(
        house.json(&["plugin", "list"])[0]["nodes"],
        json!(["sky:Colour"])
    );
    let shown = house.json(&["plugin", "show", "sky"]);
    let shown = &shown["nodes"][0];
    assert_eq!(shown["type"], "sky:Colour");
    assert_eq!(shown["definition"]["x-mine"], 1);
    assert_eq!(shown["definition"]["namespace"], "sky");
    let bad = node.to_string().replace("STRING", "STRIN");
    std::fs::write(file, bad).unwrap();
    let run = house.run(&["plugin", "check", folder]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stdout.contains("outputs.colour.dataFlowType"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("did you mean 'STRING'?"));
}
