use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn put(path: &Path, text: &str, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn bare_names_are_looked_up_under_all_their_spellings() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("a"), folder.path().join("b"));
    put(&first.join("python3"), "", 0o755);
    put(&first.join("ruby"), "", 0o644);
    put(&second.join("ruby"), "", 0o755);
    put(&second.join("nodejs"), "", 0o755);
    put(&second.join("python"), "", 0o755);
    fs::create_dir_all(first.join("perl")).unwrap();
    let search = std::env::join_paths([Path::new("relative"), &first, &second]).unwrap();
    let interpreters = Interpreters::on(Some(search));
    for (program, expected) in [
        ("python", vec![first.join("python3"), second.join("python")]),
        ("python3", vec![first.join("python3")]),
        ("node", vec![second.join("nodejs")]),
        ("nodejs", vec![second.join("nodejs")]),
        ("ruby", vec![second.join("ruby")]),
        ("perl", vec![]),
        ("deno", vec![]),
    ] {
        assert_eq!(interpreters.candidates(program), expected, "{program}");
    }
}

#[tokio::test]
async fn a_missing_interpreter_comes_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let interpreters = Interpreters::on(Some(folder.path().into()));
    for (program, remedy) in [
        ("python", "python.org"),
        ("nodejs", "nodejs.org"),
        ("frob", "install it"),
    ] {
        let error = interpreters.find(program, folder.path()).await.unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains(remedy) && message.contains(program),
            "{message}"
        );
    }
}

/// A program that answers every question with `answer`.
fn speaker(path: &Path, answer: &str) {
    put(path, &format!("#!/bin/sh\necho '{answer}'\n"), 0o755);
}

#[tokio::test]
async fn the_real_interpreter_is_asked_for_once() {
    let folder = tempfile::tempdir().unwrap();
    let shims = folder.path().join("shims");
    let real = folder.path().join("real/python3");
    let count = folder.path().join("count");
    put(&real, "", 0o755);
    let shim = format!(
        "#!/bin/sh\necho x >>{}\necho {}\n",
        count.display(),
        real.display()
    );
    put(&shims.join("python"), &shim, 0o755);
    let interpreters = Interpreters::on(Some(shims.clone().into()));
    for _ in 0..3 {
        let found = interpreters.clone().locate("python").await.unwrap();
        assert_eq!(found.path, real);
        assert_eq!(found.read, std::slice::from_ref(&real));
    }
    assert_eq!(fs::read_to_string(&count).unwrap(), "x\n");
    // Removed meanwhile, as version managers do: asked again.
    fs::remove_file(&real).unwrap();
    let other = folder.path().join("other/python3");
    put(&other, "", 0o755);
    speaker(&shims.join("python"), other.to_str().unwrap());
    let found = interpreters.locate("python").await.unwrap();
    assert_eq!(found.path, other);
}

/// A stand-in is never started itself: what comes after it on the PATH is, or nothing.
#[tokio::test]
async fn a_stand_in_that_does_not_say_where_it_leads_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let (shims, plain) = (folder.path().join("shims"), folder.path().join("bin"));
    let dumb = "#!/bin/sh\necho 'no version is set' >&2\nexit 127\n";
    for name in ["python3", "node", "frob", "ruby"] {
        put(&shims.join(name), dumb, 0o755);
    }
    speaker(&shims.join("perl"), "perl");
    let node = plain.join("node");
    speaker(&node, node.to_str().unwrap());
    put(&plain.join("frob"), "", 0o755);
    let search = std::env::join_paths([&shims, &plain]).unwrap();
    let interpreters = Interpreters::on(Some(search));
    for (program, expected) in [
        ("node", Ok(node.clone())),
        ("frob", Ok(plain.join("frob"))),
        ("python", Err("no version is set")),
        ("ruby", Err("no version is set")),
        ("perl", Err("does not say where it is")),
    ] {
        match (interpreters.locate(program).await, expected) {
            (Ok(found), Ok(path)) => assert_eq!(found.path, path),
            (Err(error), Err(why)) => {
                let error = error.to_string();
                assert!(error.contains(why) && error.contains("shims"), "{error}");
            }
            (have, _) => panic!("{program}: {have:?}"),
        }
    }
    fs::remove_file(plain.join("frob")).unwrap();
    let error = interpreters.locate("frob").await.unwrap_err().to_string();
    assert!(error.contains("stand-in of a version manager"), "{error}");
}

/// What is started and what it needs, as this very machine has it.
#[tokio::test]
async fn what_is_found_runs_without_the_persons_environment() {
    for (program, arguments) in [
        ("python", ["-c", "print('hi')"]),
        ("node", ["-e", "console.log('hi')"]),
        ("bash", ["-c", "echo hi"]),
    ] {
        let found = for_tests().locate(program).await.unwrap();
        let command = std::process::Command::new(&found.path)
            .args(arguments)
            .env_clear()
            .output();
        assert_eq!(command.unwrap().stdout, b"hi\n", "{program}: {found:?}");
        let home = std::env::home_dir().unwrap();
        assert!(
            !found
                .path
                .components()
                .any(|part| part.as_os_str() == "shims")
        );
        assert!(
            found.read.iter().all(|path| !home.starts_with(path)),
            "{found:?}"
        );
        assert!(
            is_of_the_system(&found.path) == found.read.is_empty(),
            "{found:?}"
        );
    }
}

#[tokio::test]
async fn a_virtual_environment_needs_its_own_folders_and_those_it_leans_on() {
    let python = for_tests().locate("python3").await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let made = std::process::Command::new(&python.path)
        .args(["-m", "venv", "--without-pip"])
        .arg(root.join("venv"))
        .status();
    assert!(made.unwrap().success());
    let search = root.join("venv/bin");
    let found = Interpreters::on(Some(search.into()))
        .locate("python")
        .await
        .unwrap();
    assert_eq!(found.path, root.join("venv/bin/python3"));
    for needed in ["venv/bin", "venv/lib", "venv/pyvenv.cfg"] {
        assert!(found.read.contains(&root.join(needed)), "{found:?}");
    }
    assert!(
        python.read.iter().all(|path| found.read.contains(path)),
        "{found:?} {python:?}"
    );
}

#[tokio::test]
async fn the_first_line_of_a_plugins_program_names_its_interpreter() {
    let folder = tempfile::tempdir().unwrap();
    let python = folder.path().join("x/bin/python3");
    speaker(&python, python.to_str().unwrap());
    let interpreters = Interpreters::on(Some(python.parent().unwrap().into()));
    let plugin = folder.path().join("plugin");
    for (line, expected) in [
        ("#!/usr/bin/env python3", Some(&python)),
        ("#! /usr/bin/env -S python3 -u", Some(&python)),
        ("#!/usr/bin/env A=b python3", Some(&python)),
        ("#!/bin/sh", None),
        ("#!/usr/bin/env /home/me/python3", None),
        ("# /usr/bin/env python3", None),
        ("#!", None),
        ("", None),
    ] {
        put(&plugin.join("run"), line, 0o755);
        let found = interpreters.find("./run", &plugin).await.unwrap();
        assert_eq!(found.path, plugin.join("run"));
        let interpreter = found.interpreter.map(|interpreter| interpreter.path);
        assert_eq!(interpreter.as_ref(), expected, "{line}");
    }
    put(&plugin.join("run"), "#!/usr/bin/env frob\n", 0o755);
    let error = interpreters.find("./run", &plugin).await.unwrap_err();
    assert!(matches!(error, ScriptError::InterpreterMissing { .. }));
}

#[tokio::test]
async fn a_program_with_a_slash_is_a_file_of_the_plugin() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("plugin");
    put(&plugin.join("bin/tool"), "", 0o755);
    put(&plugin.join("bin/text"), "", 0o644);
    put(&folder.path().join("outside"), "", 0o755);
    symlink(folder.path().join("outside"), plugin.join("bin/link")).unwrap();
    let interpreters = Interpreters::default();
    for (program, problem) in [
        ("bin/tool", None),
        ("./bin/tool", None),
        ("./bin/text", Some("chmod +x")),
        ("./bin/none", Some("no such file")),
        ("./bin", Some("not executable")),
        ("./bin/link", Some("leads out")),
        ("../outside", Some("inside the plugin")),
        ("bin/../../outside", Some("inside the plugin")),
        ("/bin/sh", Some("inside the plugin")),
        ("bin\\tool", Some("inside the plugin")),
    ] {
        match (interpreters.find(program, &plugin).await, problem) {
            (Ok(found), None) => assert!(found.path.ends_with("plugin/bin/tool"), "{program}"),
            (Err(error), Some(problem)) => {
                assert!(error.to_string().contains(problem), "{program}: {error}");
            }
            (have, _) => panic!("{program}: {have:?}"),
        }
    }
}

#[tokio::test]
async fn another_program_in_its_place_is_another_revision() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("python3");
    put(&path, "", 0o755);
    let interpreter = Interpreter {
        path: path.clone(),
        read: Vec::new(),
    };
    let before = interpreter.revision().await.unwrap();
    assert_eq!(interpreter.revision().await, Some(before));
    put(&path, "newer", 0o755);
    let after = interpreter.revision().await.unwrap();
    assert_ne!(after, before);
    fs::remove_file(&path).unwrap();
    assert_eq!(interpreter.revision().await, None);
}
