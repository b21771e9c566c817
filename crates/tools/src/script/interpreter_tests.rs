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
    fs::create_dir_all(first.join("perl")).unwrap();
    let search = std::env::join_paths([Path::new("relative"), &first, &second]).unwrap();
    let interpreters = Interpreters::on(Some(search));
    for (program, expected) in [
        ("python", Some(first.join("python3"))),
        ("python3", Some(first.join("python3"))),
        ("node", Some(second.join("nodejs"))),
        ("nodejs", Some(second.join("nodejs"))),
        ("ruby", Some(second.join("ruby"))),
        ("perl", None),
        ("deno", None),
    ] {
        assert_eq!(interpreters.search(program), expected, "{program}");
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
    // A shim that cannot say where it leads is used itself.
    put(&shims.join("node"), "#!/bin/sh\nexit 3\n", 0o755);
    let interpreters = Interpreters::on(Some(shims.clone().into()));
    for _ in 0..3 {
        let found = interpreters
            .clone()
            .find("python", folder.path())
            .await
            .unwrap();
        assert_eq!(found, real);
    }
    assert_eq!(fs::read_to_string(&count).unwrap(), "x\n");
    let node = interpreters.find("node", folder.path()).await.unwrap();
    assert_eq!(node, shims.join("node"));
    // Removed meanwhile, as version managers do: asked again.
    fs::remove_file(&real).unwrap();
    let found = interpreters.find("python", folder.path()).await.unwrap();
    assert_eq!(found, shims.join("python"));
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
            (Ok(path), None) => assert!(path.ends_with("plugin/bin/tool"), "{program}"),
            (Err(error), Some(problem)) => {
                assert!(error.to_string().contains(problem), "{program}: {error}");
            }
            (have, _) => panic!("{program}: {have:?}"),
        }
    }
}
