use std::time::{Duration, UNIX_EPOCH};

use super::*;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        for file in [
            "s.py",
            "run",
            "scripts/deep.mjs",
            "data.json",
            "lib.py",
            "node_modules/.package-lock.json",
            "node_modules/left/index.js",
            "scripts/node_modules/.package-lock.json",
            ".venv/pyvenv.cfg",
            ".venv/lib/python3.12/site-packages/six/__init__.py",
        ] {
            place.touch(file, 1);
        }
        place
    }

    /// A file that was last changed at that time.
    fn touch(&self, file: &str, at: u64) {
        let path = self.0.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let time = UNIX_EPOCH + Duration::from_secs(at);
        let file = fs::File::create(path).unwrap();
        file.set_modified(time).unwrap();
    }

    /// A folder whose entries last changed at that time.
    fn touch_folder(&self, folder: &str, at: u64) {
        let folder = fs::File::open(self.0.path().join(folder)).unwrap();
        let time = UNIX_EPOCH + Duration::from_secs(at);
        folder.set_modified(time).unwrap();
    }

    fn seen(&self, words: &[&str]) -> Revision {
        let command = ScriptCommand {
            program: words[0].to_owned(),
            arguments: words[1..].iter().map(|&word| word.to_owned()).collect(),
            ..ScriptCommand::default()
        };
        seen(self.0.path(), &command)
    }
}

#[test]
fn what_the_command_names_and_what_lies_beside_it_counts() {
    let python = &["python", "s.py"][..];
    let deep = &["node", "./scripts/deep.mjs"][..];
    for (words, file, counts) in [
        (python, "s.py", true),
        (python, "run", false),
        (python, "lib.py", false),
        (&["python", "other/../s.py"], "s.py", true),
        (&["python", "s.py", "--data=data.json"], "data.json", true),
        (&["./run"], "run", true),
        (&["run"], "run", false),
        (deep, "scripts/deep.mjs", true),
        (deep, "scripts/node_modules/.package-lock.json", true),
        (python, "scripts/node_modules/.package-lock.json", false),
        (python, "node_modules/.package-lock.json", true),
        (python, "node_modules/left/index.js", false),
        (python, ".venv/pyvenv.cfg", true),
        (
            python,
            ".venv/lib/python3.12/site-packages/six/__init__.py",
            false,
        ),
    ] {
        let place = Place::new();
        let before = place.seen(words);
        assert_eq!(place.seen(words), before);
        place.touch(file, 2);
        assert_eq!(place.seen(words) != before, counts, "{words:?} {file}");
    }
}

#[test]
fn a_package_that_comes_or_goes_counts() {
    for folder in [
        "node_modules",
        ".venv",
        ".venv/lib/python3.12/site-packages",
    ] {
        let place = Place::new();
        place.touch_folder(folder, 1);
        let before = place.seen(&["python", "s.py"]);
        place.touch_folder(folder, 2);
        assert_ne!(place.seen(&["python", "s.py"]), before, "{folder}");
    }
}

#[test]
fn nothing_outside_is_looked_at() {
    let place = Place::new();
    let root = place.0.path().join("scripts");
    for (word, expected) in [
        ("../s.py", None),
        ("a/../../s.py", None),
        ("/etc/passwd", None),
        (".", None),
        ("a/./b/../c", Some("a/c")),
    ] {
        assert_eq!(inside(&root, word).as_deref(), expected.map(Path::new));
    }
    let own = root.join("deep.mjs");
    let found = inside(&root, own.to_str().unwrap());
    assert_eq!(found.as_deref(), Some(Path::new("deep.mjs")));
}
