//! A house of its own for each test: a temporary folder as `--home`, and plugins to put into it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::process::{Run, fed, innkeeper};

pub(crate) struct House(TempDir);

impl House {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn settings(&self, text: &str) {
        self.write("innkeeper.toml", text);
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = innkeeper(words);
        command.env("INNKEEPER_HOME", self.path());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Run {
        self.fed(words, "")
    }

    pub(crate) fn fed(&self, words: &[&str], input: &str) -> Run {
        fed(self.command(words), input.as_bytes())
    }

    /// A run that ends with exit code 0, as JSON.
    #[track_caller]
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let mut words = words.to_vec();
        words.push("--json");
        let run = self.run(&words);
        assert_eq!(run.code, Some(0), "{words:?}: {}", run.stderr);
        run.json()
    }

    /// A plugin of one tool that is a shell script; switched on.
    #[track_caller]
    pub(crate) fn plugin(&self, plugin: &Plugin<'_>) {
        self.put(plugin);
        let run = self.run(&["plugin", "enable", plugin.name, "--accept"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }

    /// A pipe in the folder that the plugin may change, where its script finds it as `$INNKEEPER_DATA/pipe`.
    pub(crate) fn pipe(&self, plugin: &str) -> PathBuf {
        let folder = self.path().join("plugin-data").join(plugin);
        fs::create_dir_all(&folder).unwrap();
        let pipe = folder.join("pipe");
        let made = Command::new("mkfifo").arg("-m666").arg(&pipe).status();
        assert!(made.unwrap().success());
        pipe
    }

    /// The same, not yet switched on.
    pub(crate) fn put(&self, plugin: &Plugin<'_>) {
        let name = plugin.name;
        let folder = format!("plugins/{name}");
        let manifest = format!(
            "name: {name}\nversion: \"1.0.0\"\ndescription: For tests.\ntools:\n  entry: ./tools\n{}",
            plugin.manifest
        );
        self.write(&format!("{folder}/plugin.yaml"), &manifest);
        let tool = serde_json::json!({
            "id": plugin.tool,
            "description": "A tool for tests.",
            "implementation": { "type": "script", "command": "./run.sh" },
            "parameters": plugin.parameters,
            "execution": { "mode": plugin.mode },
        });
        self.write(&format!("{folder}/tools/it.tool.json"), &tool.to_string());
        let script = self.write(
            &format!("{folder}/run.sh"),
            &format!("#!/bin/sh\n{}\n", plugin.script),
        );
        make_executable(&script);
    }
}

pub(crate) struct Plugin<'a> {
    pub(crate) name: &'a str,
    pub(crate) tool: &'a str,
    pub(crate) parameters: Value,
    pub(crate) mode: &'a str,
    pub(crate) script: &'a str,
    /// Further lines of its `plugin.yaml`.
    pub(crate) manifest: &'a str,
}

/// A tool whose one parameter is easily misspelt.
pub(crate) fn players() -> Plugin<'static> {
    Plugin {
        name: "players",
        tool: "GetPlayerInfo",
        parameters: serde_json::json!({
            "type": "object",
            "properties": { "player_id": { "type": "string" } },
            "required": ["player_id"],
            "additionalProperties": false,
        }),
        mode: "sync",
        script: r#"cat > /dev/null; echo '{"success": true, "outputData": {"name": "Hero"}}'"#,
        manifest: "",
    }
}

#[cfg(unix)]
fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;

    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(not(unix))]
fn make_executable(_: &Path) {}

impl Run {
    /// Standard output as one JSON document on one line.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{}", self.stdout);
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// Ended with that code and exactly one line that has these parts, and no result.
    #[track_caller]
    pub(crate) fn is_refused(&self, code: i32, fragments: &[&str]) {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        assert_eq!(self.stdout, "");
        assert_eq!(self.stderr.lines().count(), 1, "{:?}", self.stderr);
        assert!(self.stderr.starts_with("innkeeper: "), "{}", self.stderr);
        for fragment in fragments {
            assert!(
                self.stderr.contains(fragment),
                "no {fragment:?} in {}",
                self.stderr
            );
        }
    }

    #[track_caller]
    pub(crate) fn shows(&self, fragments: &[&str]) {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        for fragment in fragments {
            assert!(
                self.stdout.contains(fragment),
                "no {fragment:?} in {}",
                self.stdout
            );
        }
    }
}
