use std::fs;

use proptest::prelude::*;

use super::*;
use crate::limits::{MAX_PLUGIN_DEPTH, MAX_TOOL_FILE_BYTES};
use crate::plugin::testing::{MINIMAL, Sample, WITH_TOOLS, row};

fn tool(id: &str) -> String {
    format!(
        r#"{{"id": "{id}", "description": "d", "implementation": {{"type": "service", "service": "A.b"}}}}"#
    )
}

fn plugin(home: &Path, name: &str, manifest: &str) {
    fs::create_dir_all(home.join(name)).unwrap();
    fs::write(home.join(name).join("plugin.yaml"), manifest).unwrap();
}

fn manifest(name: &str) -> String {
    format!("name: {name}\nversion: '1'\n")
}

#[test]
fn a_plugin_that_holds_the_home_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    let at = |path: &str| outside.path().join(path);
    for plugin in ["all", "side"] {
        std::fs::create_dir_all(at(plugin).join("deep/home")).unwrap();
        std::fs::write(
            at(plugin).join("plugin.yaml"),
            format!("name: {plugin}\nversion: \"1.0\"\n"),
        )
        .unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(at("all/deep"), at("link")).unwrap();
    let loader = PluginLoader::new(vec![outside.path().to_owned()]);
    for (home, refused) in [
        ("all/deep/home", true),
        ("all", true),
        #[cfg(unix)]
        ("link/home", true),
        ("alligator", false),
        ("elsewhere", false),
    ] {
        for found in loader.clone().closing(&at(home)).scan() {
            let Err(problems) = &found.outcome else {
                assert!(!refused || found.name == "side", "{home}: {}", found.name);
                continue;
            };
            assert!(refused && found.name == "all", "{home}: {problems:?}");
            assert_eq!(problems[0].code, "plugin.holds_home");
            assert!(problems[0].message.contains("move the plugin"));
        }
    }
}

#[test]
fn a_broken_plugin_harms_no_other() {
    let home = tempfile::tempdir().unwrap();
    plugin(home.path(), "bad", "name: [");
    plugin(home.path(), "good", &manifest("good"));
    let found = PluginLoader::new(vec![home.path().to_owned()]).scan();
    let names: Vec<_> = found
        .iter()
        .map(|found| (found.name.as_str(), found.outcome.is_ok()))
        .collect();
    assert_eq!(names, [("bad", false), ("good", true)]);
    assert_eq!(found[0].folder, home.path().join("bad"));
    assert_eq!(
        found[0].outcome.as_ref().unwrap_err()[0].code,
        "plugin.bad_yaml"
    );
}

#[test]
fn only_what_was_meant_as_a_plugin_is_listed() {
    let home = tempfile::tempdir().unwrap();
    let at = |path: &str| home.path().join(path);
    plugin(home.path(), "good", &manifest("good"));
    plugin(home.path(), ".hidden", &manifest("hidden"));
    plugin(home.path(), "node_modules", &manifest("node_modules"));
    for folder in ["notes", "vcp", "half/tools", "yml"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    fs::write(at("vcp/plugin-manifest.json"), "{}").unwrap();
    fs::write(at("yml/plugin.yml"), manifest("yml")).unwrap();
    fs::write(at("plugin.yaml"), "a file beside the folders").unwrap();
    let found = PluginLoader::new(vec![home.path().to_owned(), at("missing")]).scan();
    let codes: Vec<_> = found
        .iter()
        .map(|found| {
            let problems = found.outcome.as_ref().err();
            (
                found.name.as_str(),
                problems.map(|problems| problems[0].code),
            )
        })
        .collect();
    assert_eq!(
        codes,
        [
            ("good", None),
            ("half", Some("plugin.no_manifest")),
            ("yml", Some("plugin.wrong_manifest_name"))
        ]
    );
    let message = found[2].outcome.as_ref().unwrap_err()[0].to_string();
    assert_eq!(
        message,
        "plugin.yml: the manifest has the wrong name; rename it to plugin.yaml"
    );
}

#[test]
fn of_two_plugins_with_one_name_the_first_folder_wins() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    plugin(first.path(), "same", &manifest("same"));
    plugin(second.path(), "same", &manifest("same"));
    let folders = vec![first.path().to_owned(), second.path().to_owned()];
    let found = PluginLoader::new(folders.clone()).scan();
    assert_eq!(found.len(), 2);
    assert!(found[0].outcome.is_ok());
    assert_eq!(found[0].folder, first.path().join("same"));
    let problem = &found[1].outcome.as_ref().unwrap_err()[0];
    assert_eq!(problem.code, "plugin.duplicate_plugin");
    assert!(
        problem
            .message
            .contains(&first.path().display().to_string()),
        "{problem}"
    );
    assert_eq!(PluginLoader::new(folders.clone()).folders(), folders);
}

#[test]
fn a_search_folder_that_is_a_file_is_told() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("plugins");
    fs::write(&file, "").unwrap();
    let found = PluginLoader::new(vec![file]).scan();
    assert_eq!(
        found[0].outcome.as_ref().unwrap_err()[0].code,
        "plugin.unreadable"
    );
}

#[test]
fn a_folder_of_too_many_plugins_is_told() {
    let home = tempfile::tempdir().unwrap();
    for index in 0..=MAX_PLUGINS {
        let name = format!("p{index:04}");
        plugin(home.path(), &name, &manifest(&name));
    }
    let found = PluginLoader::new(vec![home.path().to_owned()]).scan();
    let broken: Vec<_> = found
        .iter()
        .filter(|found| found.outcome.is_err())
        .collect();
    assert_eq!(broken.len(), 1);
    assert_eq!(broken[0].name, "p0500");
    assert_eq!(
        broken[0].outcome.as_ref().unwrap_err()[0].code,
        "plugin.too_many_plugins"
    );
}

#[test]
fn text_that_cannot_be_read_gives_one_message() {
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
                d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
    let deep: &'static str =
        Box::leak(format!("a: {}{}", "[".repeat(40), "]".repeat(40)).into_boxed_str());
    for row in [
        row("name: [", "1:7", "plugin.bad_yaml", "no valid YAML"),
        row(
            "name: p\n version: 1\n",
            "2:9",
            "plugin.bad_yaml",
            "no valid YAML",
        ),
        row(
            "name: p\nname: p\n",
            "2:1",
            "plugin.duplicate_key",
            "give each key once",
        ),
        row(
            "name: p\n---\nname: q\n",
            "2:1",
            "plugin.bad_yaml",
            "one document",
        ),
        row("a: .nan\n", "1:4", "plugin.bad_yaml", "'.nan' is no number"),
        row("a: *x\n", "1:4", "plugin.bad_yaml", "no valid YAML"),
        row(bomb, "5:0", "plugin.bad_yaml", "larger or nests deeper"),
        row(deep, "1:0", "plugin.bad_yaml", "larger or nests deeper"),
    ] {
        let problem = Sample::new(row.text).problem();
        if row.at.ends_with(":0") {
            assert_eq!(problem.code, row.code);
            assert!(problem.message.contains(row.says), "{problem}");
        } else {
            row.check("plugin.yaml", &problem);
        }
    }
    for row in [
        row("", "1:1", "plugin.bad_json", "no valid JSON"),
        row(
            "{\n  \"id\": }",
            "2:9",
            "plugin.bad_json",
            "no valid JSON: expected value",
        ),
        row("{\"id\": 1", "1:8", "plugin.bad_json", "no valid JSON"),
        row(
            "{\"a\": 1,\n \"a\": 2}",
            "2:2",
            "plugin.duplicate_key",
            "'a' stands here twice",
        ),
        row("[]", "1:1", "plugin.wrong_type", "expected a map"),
    ] {
        row.check("tools/t.tool.json", &Sample::tool(row.text).problem());
    }
}

#[test]
fn a_folder_that_is_no_plugin_is_told() {
    let home = tempfile::tempdir().unwrap();
    for (path, code, says) in [
        ("", "plugin.no_manifest", "there is no plugin.yaml"),
        ("missing", "plugin.unreadable", "the folder cannot be read"),
    ] {
        let problems = read_plugin(&home.path().join(path)).unwrap_err();
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].code, code);
        assert!(problems[0].message.contains(says), "{}", problems[0]);
    }
}

#[test]
fn an_empty_manifest_is_told() {
    let problem = Sample::new("").problem();
    assert_eq!(problem.code, "plugin.wrong_type");
    assert!(problem.message.contains("found nothing"), "{problem}");
}

#[test]
fn files_that_are_too_large_are_not_read() {
    // Sparse: ten megabytes that would be no YAML if anyone looked.
    let sample = Sample::new("");
    let file = fs::File::create(sample.folder().join("plugin.yaml")).unwrap();
    file.set_len(10 * 1024 * 1024).unwrap();
    assert_eq!(
        sample.problem().to_string(),
        "plugin.yaml: the file is larger than 256 KiB"
    );
    let sample = Sample::tool(&" ".repeat(MAX_TOOL_FILE_BYTES + 1));
    assert_eq!(sample.problem().code, "plugin.too_large");
    let fits = format!(
        "{}{}",
        tool("t"),
        " ".repeat(MAX_TOOL_FILE_BYTES - tool("t").len())
    );
    assert_eq!(Sample::tool(&fits).package().tools.len(), 1);
}

#[test]
fn bytes_that_are_no_text_are_told() {
    let sample = Sample::empty().file("plugin.yaml", [0xff, 0xfe, 0x00]);
    assert_eq!(sample.problem().code, "plugin.not_text");
    let marked = format!("\u{feff}{MINIMAL}");
    assert!(Sample::new(&marked).read().outcome.is_ok());
}

#[test]
fn a_folder_in_place_of_a_file_is_told() {
    let sample = Sample::empty();
    fs::create_dir(sample.folder().join("plugin.yaml")).unwrap();
    assert_eq!(sample.problem().code, "plugin.unreadable");
}

#[test]
fn too_many_files_are_told_in_one_message() {
    let sample = Sample::new(MINIMAL);
    for folder in ["data", "node_modules", ".git", ".venv"] {
        fs::create_dir(sample.folder().join(folder)).unwrap();
    }
    let fill = |folder: &str, count: usize| {
        for index in 0..count {
            fs::write(sample.folder().join(folder).join(index.to_string()), "").unwrap();
        }
    };
    for ignored in ["node_modules", ".git", ".venv"] {
        fill(ignored, 2_500);
    }
    assert!(sample.read().outcome.is_ok());
    fill("data", 5_000);
    let problem = sample.problem();
    assert_eq!(problem.code, "plugin.too_many_files");
    assert!(
        problem.message.contains("more than 2000 files"),
        "{problem}"
    );
}

#[test]
fn folders_that_nest_without_end_are_told() {
    let sample = Sample::new(MINIMAL);
    let deep = "d/".repeat(MAX_PLUGIN_DEPTH + 1);
    fs::create_dir_all(sample.folder().join(deep)).unwrap();
    assert_eq!(sample.problem().code, "plugin.too_many_files");
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_that_leads_out_breaks_the_plugin() {
        for (link, is_tool) in [
            ("data.txt", false),
            ("tools/t.tool.json", true),
            ("scripts", false),
        ] {
            let sample = Sample::new(WITH_TOOLS).file("tools/a.tool.json", tool("a"));
            let secret = sample.home().join("secret");
            fs::write(&secret, tool("stolen")).unwrap();
            let target = if link == "scripts" {
                sample.home().to_owned()
            } else {
                secret
            };
            symlink(target, sample.folder().join(link)).unwrap();
            let problem = sample.problem();
            assert_eq!(
                (problem.file.as_str(), problem.code),
                (link, "plugin.link_outside"),
                "{is_tool}"
            );
            assert!(problem.message.contains("leads out"), "{problem}");
            assert!(!format!("{problem:?}").contains("stolen"));
        }
    }

    #[test]
    fn a_manifest_that_is_a_link_out_is_not_read() {
        let sample = Sample::empty();
        fs::write(sample.home().join("m"), MINIMAL).unwrap();
        symlink("../m", sample.folder().join("plugin.yaml")).unwrap();
        assert_eq!(sample.problem().code, "plugin.link_outside");
    }

    #[test]
    fn even_where_nobody_looks_for_links_none_is_followed_out() {
        // node_modules is not surveyed, so the check must hold when the path is used.
        let manifest = format!("{MINIMAL}tools: {{entry: node_modules/out}}\n");
        let sample = Sample::new(&manifest).file("node_modules/x/a.txt", "");
        fs::create_dir(sample.home().join("outside")).unwrap();
        fs::write(sample.home().join("outside/t.tool.json"), tool("stolen")).unwrap();
        symlink(
            sample.home().join("outside"),
            sample.folder().join("node_modules/out"),
        )
        .unwrap();
        let problem = sample.problem();
        assert_eq!(
            (problem.code, problem.field.as_deref()),
            ("plugin.path_outside", Some("tools.entry"))
        );

        let manifest = format!("{MINIMAL}tools: {{entry: node_modules/x}}\n");
        let sample = sample.file("plugin.yaml", manifest);
        symlink(
            sample.home().join("outside/t.tool.json"),
            sample.folder().join("node_modules/x/t.tool.json"),
        )
        .unwrap();
        let problem = sample.problem();
        assert_eq!(
            (problem.code, problem.file.as_str()),
            ("plugin.link_outside", "node_modules/x/t.tool.json")
        );
    }

    #[test]
    fn a_link_that_leads_nowhere_or_round_is_told() {
        let sample = Sample::new(MINIMAL);
        symlink("nowhere", sample.folder().join("a")).unwrap();
        assert!(sample.problem().message.contains("leads nowhere"));
        let sample = Sample::new(MINIMAL);
        symlink("b", sample.folder().join("b")).unwrap();
        assert_eq!(sample.problem().code, "plugin.link_outside");
    }

    #[test]
    fn links_inside_are_fine() {
        let sample = Sample::new(WITH_TOOLS).file("more/t.tool.json", tool("t"));
        fs::create_dir(sample.folder().join("tools")).unwrap();
        symlink(
            "../more/t.tool.json",
            sample.folder().join("tools/t.tool.json"),
        )
        .unwrap();
        symlink("..", sample.folder().join("more/up")).unwrap();
        assert_eq!(sample.package().tools.len(), 1);
    }

    #[test]
    fn a_plugin_may_itself_be_a_link() {
        let sample = Sample::new(MINIMAL);
        let home = tempfile::tempdir().unwrap();
        symlink(sample.folder(), home.path().join("p")).unwrap();
        let found = PluginLoader::new(vec![home.path().to_owned()]).scan();
        let package = found[0].outcome.as_ref().unwrap();
        assert_eq!(package.root, sample.folder().canonicalize().unwrap());
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let sample = Sample::empty();
        let path = sample.folder().join("plugin.yaml");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        if made.is_ok_and(|status| status.success()) {
            assert_eq!(sample.problem().code, "plugin.unreadable");
        }
    }
}

#[test]
fn problems_are_told_as_json_too() {
    let problem = Sample::new("name: p").problem();
    assert_eq!(
        serde_json::to_value(&problem).unwrap(),
        serde_json::json!({
            "file": "plugin.yaml", "line": 1, "column": 1, "field": "version",
            "code": "plugin.missing_field", "message": "the field is missing; add it"
        })
    );
}

#[test]
fn a_file_made_of_mistakes_gives_a_list_that_ends() {
    let text: String = (0..1_000)
        .map(|index| format!("- {{key: '{index}', type: x}}\n"))
        .collect();
    let lists: String = ["configOptions", "hooks", "services"]
        .iter()
        .map(|name| {
            format!(
                "{name}:\n{}",
                text.lines()
                    .take(200)
                    .map(|line| format!("{line}\n"))
                    .collect::<String>()
            )
        })
        .collect();
    let problems = Sample::new(&format!("{MINIMAL}{lists}")).problems();
    assert_eq!(problems.len(), crate::limits::MAX_PLUGIN_PROBLEMS);
    let long = "x".repeat(5_000);
    let problem = Sample::new(&format!("name: \"{long}\"\nversion: '1'\n")).problem();
    assert!(problem.message.chars().count() <= crate::limits::MAX_PROBLEM_CHARS + 1);
}

#[test]
fn every_code_has_a_row_in_the_guide() {
    let guide = include_str!("../../../../docs/plugins.md");
    let mut names: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    names.extend([
        "tool.not_an_object_schema",
        "tool.invalid_schema",
        "tool.unusable_name",
        "tool.name_collision",
    ]);
    for name in &names {
        assert!(
            guide.contains(&format!("| `{name}` |")),
            "docs/plugins.md has no row for {name}"
        );
    }
    let rows = guide
        .lines()
        .filter(|line| line.starts_with("| `plugin."))
        .count();
    assert_eq!(
        rows,
        Code::ALL.len(),
        "a row of docs/plugins.md is about no code"
    );
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "a code is there twice");
}

/// The blocks that are marked with a file name make up one plugin.
#[test]
fn the_plugin_of_the_guide_is_sound() {
    let guide = include_str!("../../../../docs/plugins.md");
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("weather");
    let mut blocks = 0;
    for part in guide.split("\n```").skip(1) {
        let (info, text) = part.split_once('\n').unwrap_or_default();
        let Some((_, file)) = info.split_once("file=") else {
            continue;
        };
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        blocks += 1;
    }
    assert_eq!(blocks, 9);
    for file in ["web/main.js", "web/style.css", "scripts/archive.mjs"] {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let reading = read_plugin_with_warnings(&root);
    assert_eq!(reading.warnings, []);
    let package = reading.outcome.unwrap();
    assert_eq!(
        (
            package.tools.len(),
            package.nodes.len(),
            package.hooks.len(),
            package.config.len()
        ),
        (3, 1, 1, 2)
    );
    assert!(package.permissions.has("net:archive.example.com"));
}

/// Text that is nearly a manifest: more of it gets past the reader than of noise.
fn nearly() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "name",
        "version",
        "tools",
        "hooks",
        "permissions",
        "configOptions",
        "services",
        "frontend",
        "entry",
        "key",
        "type",
        "id",
        "toolId",
        "handler",
        "implementation",
        "parameters",
        "command",
        "p",
        "1",
        "null",
        "true",
        ":",
        ": ",
        "\n",
        "\n  ",
        "\n- ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "\"",
        "'",
        "#",
        "&a ",
        "*a",
        "|\n",
        "%",
        "!!str ",
        "$ref",
        "../",
        "/",
        "string",
        "é",
    ]);
    prop::collection::vec(words, 0..60).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_manifest_gives_a_package_or_problems(
        bytes in prop_oneof![prop::collection::vec(any::<u8>(), 0..300), nearly().prop_map(String::into_bytes)],
    ) {
        let sample = Sample::empty().file("plugin.yaml", bytes);
        if let Err(problems) = sample.read().outcome {
            prop_assert!(!problems.is_empty());
        }
    }

    #[test]
    fn any_tool_file_gives_a_package_or_problems(
        bytes in prop_oneof![prop::collection::vec(any::<u8>(), 0..300), nearly().prop_map(String::into_bytes)],
    ) {
        let sample = Sample::new(WITH_TOOLS).file("tools/t.tool.json", bytes);
        match sample.read().outcome {
            Ok(package) => prop_assert_eq!(package.tools.len(), 1),
            Err(problems) => prop_assert!(!problems.is_empty()),
        }
    }
}
