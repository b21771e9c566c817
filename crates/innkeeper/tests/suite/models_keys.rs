//! No key in anything that is written or kept, also where a server repeats it.

use std::path::Path;

use innkeeper_testkit::model_server::{Answer, Delivery, Format, ModelServer, Request, Say};

use super::home::House;
use super::process::{Run, fed};
use super::workflows::ask;

const KEPT: &str = "marker-kept-8f3a1c55";
const FOUND: &str = "marker-found-77d0e2b9";

/// What it was shown, in the words of a refusal or of a list.
fn shown_key(request: &Request) -> String {
    let names = ["authorization", "x-api-key", "x-goog-api-key", "x-extra"];
    let shown = names.iter().filter_map(|name| request.header(name));
    shown.collect::<Vec<_>>().join(" ")
}

fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

struct Watched {
    house: House,
    said: Vec<(String, Run)>,
}

impl Watched {
    fn run(&mut self, words: &[&str], input: &str) -> &Run {
        let mut command = self.house.command(words);
        command.env("MARKER_KEY", FOUND);
        let run = fed(command, input.as_bytes());
        self.said.push((words.join(" "), run));
        &self.said.last().unwrap().1
    }

    fn check(&self) {
        for marker in [KEPT, FOUND] {
            for (words, run) in &self.said {
                assert!(!run.stdout.contains(marker), "{words}: {}", run.stdout);
                assert!(!run.stderr.contains(marker), "{words}: {}", run.stderr);
            }
            let mut all = Vec::new();
            files(self.house.path(), &mut all);
            assert!(all.len() > 3, "{all:?}");
            for file in all {
                let is_home_of_keys = file.file_name().is_some_and(|name| name == "secrets.toml");
                let bytes = std::fs::read(&file).unwrap();
                assert!(
                    is_home_of_keys || !holds(&bytes, marker),
                    "{marker}: {}",
                    file.display()
                );
            }
        }
    }
}

/// With everything that is told while they run.
fn run_workflows(watched: &mut Watched, succeeds: bool) {
    for words in [
        &["workflow", "run", "ask", "--input", "messages=tea"][..],
        &[
            "workflow",
            "run",
            "ask",
            "--input",
            "messages=tea",
            "--events",
        ],
        &["tools", "call", "workflow:ask", "messages=tea"],
    ] {
        let run = watched.run(words, "");
        assert_eq!(run.code == Some(0), succeeds, "{}", run.stderr);
        assert!(!succeeds || run.stdout.contains("[key]"), "{}", run.stdout);
    }
}

#[tokio::test]
async fn no_key_is_ever_shown_or_kept_elsewhere() {
    for (provider, format) in [
        ("openai", Format::OpenAi),
        ("anthropic", Format::Anthropic),
        ("gemini", Format::Gemini),
    ] {
        let server = ModelServer::start().await;
        let base_url = server.base_url(format);
        let mut watched = Watched {
            house: House::new(),
            said: Vec::new(),
        };
        for (name, key) in [
            ("kept", &["--key-stdin"][..]),
            ("found", &["--key-env", "MARKER_KEY"]),
        ] {
            let words = [
                &[
                    "models",
                    "add",
                    provider,
                    "--name",
                    name,
                    "--base-url",
                    &base_url,
                    "--model",
                    "m",
                ][..],
                key,
            ]
            .concat();
            assert_eq!(watched.run(&words, KEPT).code, Some(0));
        }
        // A second key that is only in a header, and no pauses.
        let path = watched.house.path().join("innkeeper.toml");
        let settings = std::fs::read_to_string(&path).unwrap();
        let more =
            "\nretries = 0\nheaders = {\"x-extra\" = \"Token ${MARKER_KEY}\"}\n[[models.channels]]";
        std::fs::write(&path, settings.replacen("\n[[models.channels]]", more, 2)).unwrap();
        watched.house.workflow("library/workflows/ask.json", &ask());

        for status in [200, 401, 400] {
            server.otherwise(move |request| {
                let key = shown_key(request);
                assert!(key.contains("marker-"), "{request:?}");
                match status {
                    200 => Answer::say(Say::text(format!("you sent {key} ")).chop(3).usage(1, 2)),
                    status => Answer::error(status, &format!("bad key {key} in your request")),
                }
            });
            for name in ["kept/m", "found/m"] {
                let code = Some(i32::from(status != 200));
                assert_eq!(watched.run(&["models", "test", name], "").code, code);
                assert_eq!(
                    watched.run(&["models", "test", name, "--json"], "").code,
                    code
                );
            }
            watched.run(&["models", "list", "--remote"], "");
            watched.run(&["models", "list", "--remote", "--json"], "");
            if status == 401 {
                watched.run(&["models", "score", "--model", "kept/m"], "");
            }
            run_workflows(&mut watched, status == 200);
        }
        // The whole answer at once, and in the middle of it a break.
        let sent = |request: &Request| Say::text(format!("you sent {} ", shown_key(request)));
        server.otherwise(move |request| {
            Answer::say(sent(request).usage(1, 2)).delivery(Delivery::Whole)
        });
        run_workflows(&mut watched, true);
        server.otherwise(move |request| {
            Answer::say(sent(request).chop(3).then_error(500, &shown_key(request)))
        });
        run_workflows(&mut watched, false);
        server.otherwise(|request| {
            Answer::say(Say::text("hello").then_error(500, &shown_key(request)))
        });
        watched.run(&["models", "test", "kept/m"], "");
        watched.run(&["models", "test", "found/m"], "");
        watched.run(&["doctor"], "");
        watched.run(&["tools", "audit", "--json"], "");
        watched.check();
        assert_eq!(
            watched.run(&["models", "remove", "kept", "--yes"], "").code,
            Some(0)
        );
        watched.check();
    }
}
