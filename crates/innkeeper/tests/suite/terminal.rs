//! What only a person at a terminal meets: questions, unseen input, nothing that rewrites the screen, Ctrl-C.
#![cfg(unix)]

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::home::{House, Plugin, players};
use super::process::fed;

/// A command at a terminal of its own.
pub(crate) struct Terminal {
    child: Child,
    screen: File,
    seen: String,
}

impl Terminal {
    pub(crate) fn start(mut command: Command) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let path = name.to_str().unwrap();
        let theirs = File::options().read(true).write(true).open(path).unwrap();
        let side = || Stdio::from(OwnedFd::from(theirs.try_clone().unwrap()));
        let child = command
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn()
            .unwrap();
        Self {
            child,
            screen: File::from(ours),
            seen: String::new(),
        }
    }

    pub(crate) fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// Reads until the text is on the screen, and gives what came up to then.
    pub(crate) fn wait_for(&mut self, text: &str) -> &mut Self {
        let mut buffer = [0; 1024];
        while !self.seen.contains(text) {
            match self.screen.read(&mut buffer) {
                Ok(count) if count > 0 => self
                    .seen
                    .push_str(&String::from_utf8_lossy(&buffer[..count])),
                _ => panic!("no {text:?} in {}", self.seen),
            }
        }
        self
    }

    pub(crate) fn type_in(&mut self, text: &str) -> &mut Self {
        self.screen.write_all(text.as_bytes()).unwrap();
        self
    }

    /// To the end: exit code and all that was on the screen.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        let mut buffer = [0; 1024];
        // The terminal is gone with its last user: an error is its end.
        while let Ok(count @ 1..) = self.screen.read(&mut buffer) {
            self.seen
                .push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        (code, self.seen)
    }
}

const WRITE: &str = "<ACTION><File.Write><file_path>a.md</file_path><content>x\u{1b}[2J</content>\
                     </File.Write></ACTION>";

fn careful() -> House {
    let house = House::new();
    house.settings(
        "[[policy.rules]]\nname = \"careful\"\ntool = \"File.Write\"\ndecision = \"ask\"\n",
    );
    house.write("reply.txt", WRITE);
    house
}

fn call(house: &House, words: &[&str]) -> Terminal {
    let file = house.path().join("reply.txt");
    let words = [&["call", file.to_str().unwrap()][..], words].concat();
    Terminal::start(house.command(&words))
}

#[test]
fn a_person_is_asked_and_decides() {
    for (answer, code, said) in [
        ("y\n", 0, "executed successfully"),
        ("maybe\ny\n", 0, "executed successfully"),
        ("x\nx\nx\nx\nx\n", 1, "was denied"),
        ("n\n", 1, "was denied"),
        ("\n", 1, "was denied"),
        ("a\n", 0, "executed successfully"),
    ] {
        let house = careful();
        let mut terminal = call(&house, &[]);
        terminal.wait_for("[N]o: ").type_in(answer);
        let (ended, screen) = terminal.end();
        assert_eq!(ended, Some(code), "{answer:?}: {screen}");
        for part in [
            "agent:cli wants to call File.Write",
            "a.md",
            "careful",
            said,
        ] {
            assert!(screen.contains(part), "{answer:?}: no {part:?} in {screen}");
        }
        assert!(!screen.contains("\u{1b}[2J"), "{screen:?}");
        let grants = house.json(&["tools", "grants"]);
        let count = usize::from(answer == "a\n");
        assert_eq!(grants.as_array().unwrap().len(), count, "{answer:?}");
    }
}

#[test]
fn ctrl_c_at_a_question_ends_its_line() {
    let house = careful();
    let mut terminal = call(&house, &[]);
    let pid = terminal.wait_for("[N]o: ").pid();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(130), "{screen}");
    let (_, after) = screen.split_once("[N]o: ").unwrap();
    assert!(after.starts_with("\r\n"), "{screen:?}");
    assert!(after.contains("was cancelled"), "{screen:?}");
}

#[test]
fn always_lasts_until_it_is_taken_back() {
    let house = careful();
    let mut terminal = call(&house, &["--lang", "zh"]);
    terminal.wait_for("[N] 不允许：").type_in("a\n");
    assert_eq!(terminal.end().0, Some(0));
    house
        .run(&["tools", "grants"])
        .shows(&["File.Write", "agent:cli", "tool=File.Write"]);
    let grant = house.json(&["tools", "grants"])[0]["id"].to_string();
    let file = house.path().join("reply.txt");
    let words = ["call", file.to_str().unwrap()];
    assert_eq!(house.run(&words).code, Some(0), "nobody had to be asked");
    let revoked = house.run(&["tools", "grants", "--revoke", &grant]);
    assert_eq!(revoked.code, Some(0), "{}", revoked.stderr);
    assert_eq!(house.run(&words).code, Some(1));
}

#[test]
fn a_plugin_is_accepted_at_the_terminal() {
    for (answer, code, state) in [
        ("y\n", 0, "enabled"),
        ("n\n", 1, "pending"),
        ("\u{4}", 1, "pending"),
    ] {
        let house = House::new();
        house.put(&players());
        let mut terminal = Terminal::start(house.command(&["plugin", "enable", "players"]));
        terminal.wait_for("[y/N] ").type_in(answer);
        let (ended, screen) = terminal.end();
        assert_eq!(ended, Some(code), "{screen}");
        assert!(screen.contains("run the program"), "{screen}");
        assert_eq!(
            house.json(&["plugin", "list"])[0]["state"],
            state,
            "{answer:?}"
        );
    }
}

#[test]
fn a_secret_is_typed_unseen() {
    let house = House::new();
    house.put(&Plugin {
        manifest: "configOptions:\n  - { key: api_key, type: secret, label: Key }\n",
        ..players()
    });
    let words = ["plugin", "config", "players", "set", "api_key"];
    let mut terminal = Terminal::start(house.command(&words));
    terminal.wait_for("api_key: ").type_in("0123456789abcdef\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!screen.contains("0123456789abcdef"), "{screen}");
    let kept = std::fs::read_to_string(house.path().join("secrets.toml")).unwrap();
    assert!(kept.contains("0123456789abcdef"));
}

#[test]
fn foreign_text_cannot_rewrite_the_screen() {
    let house = House::new();
    house.plugin(&Plugin {
        script: r#"cat > /dev/null; printf '{"success": true, "outputData": "a\\u001b[2Jb"}'"#,
        ..players()
    });
    let words = ["tools", "call", "GetPlayerInfo", "player_id=1"];
    let (code, screen) = Terminal::start(house.command(&words)).end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!screen.contains('\u{1b}'), "{screen:?}");
    assert!(screen.contains("a\\u{1b}[2Jb"), "{screen:?}");
    // A program gets what was said, byte for byte.
    assert_eq!(house.run(&words).stdout, "a\u{1b}[2Jb\n");
}

#[test]
fn ctrl_c_stops_what_runs_and_tells_what_there_is() {
    stopped_by("-INT");
}

#[test]
fn so_does_the_system_when_it_wants_us_to_end() {
    stopped_by("-TERM");
}

fn stopped_by(signal: &str) {
    let house = House::new();
    let pipe = house.pipe("players");
    house.plugin(&Plugin {
        script: "read -r line; echo started > \"$INNKEEPER_DATA/pipe\"; exec sleep 600",
        ..players()
    });
    let reply = "<ACTION><dice.roll><formula>1d4</formula></dice.roll>\
                 <GetPlayerInfo><player_id>1</player_id></GetPlayerInfo></ACTION>";
    let file = house.write("reply.txt", reply);
    // Open at both ends, so that opening waits for nobody.
    let pipe_end = File::options().read(true).write(true).open(&pipe).unwrap();
    let mut command = house.command(&["call", "--yes", file.to_str().unwrap()]);
    let child = command.spawn().unwrap();
    let id = child.id().to_string();
    let waiting = thread::spawn(move || {
        let output = child.wait_with_output().unwrap();
        // Whoever still waits for the script is told that it will not come.
        writeln!(File::options().write(true).open(&pipe).unwrap(), "ended").unwrap();
        output
    });
    let mut said = String::new();
    let mut reader = BufReader::new(pipe_end);
    reader.read_line(&mut said).unwrap();
    if said == "started\n" {
        let killed = Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(killed.success());
    }
    let output = waiting.join().unwrap();
    drop(reader);
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stdout}");
    assert!(
        stdout.contains("dice.roll executed successfully"),
        "{stdout}"
    );
    assert!(stdout.contains("GetPlayerInfo was cancelled"), "{stdout}");
    let log = fed(
        house.command(&["tools", "audit", "--outcome", "cancelled"]),
        b"",
    );
    assert!(log.stdout.contains("GetPlayerInfo"), "{}", log.stdout);
}
