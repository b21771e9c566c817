use std::sync::mpsc::channel;
use std::time::Duration;

use notify::event::{AccessKind, CreateKind, EventKind, Flag};

use super::*;

/// Only how long a failing test waits.
const PATIENCE: Duration = Duration::from_secs(20);

/// Does something after each change was told; every one must be told.
fn check(folder: &Path, steps: &[&dyn Fn()]) {
    let (tell, told) = channel();
    let watch = PluginWatch::start(vec![folder.to_owned()], move || {
        let _ = tell.send(());
    })
    .unwrap();
    for (index, step) in steps.iter().enumerate() {
        step();
        told.recv_timeout(PATIENCE)
            .unwrap_or_else(|_| panic!("step {index} went unnoticed"));
    }
    drop(watch);
    // The thread lets go of the callback, and with it of the sender.
    while told.recv_timeout(PATIENCE).is_ok() {}
    assert_eq!(
        told.try_recv(),
        Err(std::sync::mpsc::TryRecvError::Disconnected)
    );
}

#[test]
fn adding_changing_and_removing_is_noticed() {
    let home = tempfile::tempdir().unwrap();
    let plugin = home.path().join("p");
    let tool = plugin.join("tools/t.tool.json");
    check(
        home.path(),
        &[
            &|| {
                fs::create_dir_all(plugin.join("tools")).unwrap();
                fs::write(plugin.join("plugin.yaml"), "name: p").unwrap();
            },
            // In a folder that did not exist when the watch began.
            &|| fs::write(&tool, "{}").unwrap(),
            &|| fs::write(&tool, "{ }").unwrap(),
            &|| fs::rename(&plugin, home.path().join("q")).unwrap(),
            &|| fs::write(home.path().join("q/tools/t.tool.json"), "{  }").unwrap(),
            &|| fs::remove_dir_all(home.path().join("q")).unwrap(),
            // The same name once more: the old watch is gone with the old folder.
            &|| fs::create_dir(&plugin).unwrap(),
            &|| fs::write(plugin.join("plugin.yaml"), "name: p").unwrap(),
        ],
    );
}

#[test]
fn a_folder_that_comes_later_is_noticed() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("data/plugins");
    check(
        &folder,
        &[
            &|| fs::create_dir(home.path().join("data")).unwrap(),
            &|| fs::create_dir(&folder).unwrap(),
            &|| fs::create_dir(folder.join("p")).unwrap(),
            &|| fs::remove_dir_all(home.path().join("data")).unwrap(),
            &|| fs::create_dir_all(folder.join("p")).unwrap(),
            &|| fs::write(folder.join("p/plugin.yaml"), "").unwrap(),
        ],
    );
}

#[cfg(unix)]
#[test]
fn a_plugin_that_is_a_link_is_watched_where_it_is() {
    let (home, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(work.path().join("tools")).unwrap();
    std::os::unix::fs::symlink(work.path(), home.path().join("p")).unwrap();
    check(
        home.path(),
        &[&|| fs::write(work.path().join("tools/x.tool.json"), "").unwrap()],
    );
}

#[test]
fn many_changes_are_told_once_they_rest() {
    let home = tempfile::tempdir().unwrap();
    let (tell, told) = channel();
    let inner = home.path().to_owned();
    let watch = PluginWatch::start(vec![home.path().to_owned()], move || {
        let _ = tell.send(fs::read_dir(&inner).unwrap().count());
    })
    .unwrap();
    for index in 0..100 {
        fs::write(home.path().join(index.to_string()), "").unwrap();
    }
    let mut calls = 1;
    while told.recv_timeout(PATIENCE).unwrap() < 100 {
        calls += 1;
    }
    assert!(calls < 100, "{calls}");
    drop(watch);
}

#[test]
fn noise_is_not_told() {
    let folders = [PathBuf::from("/home/plugins")];
    let created = EventKind::Create(CreateKind::Any);
    for (kind, path, expected) in [
        (created, "/home/plugins/p/plugin.yaml", true),
        (created, "/home/plugins", true),
        (created, "/home", true),
        (created, "/home/other", false),
        (created, "/home/plugins-old/p", false),
        (created, "/home/plugins/p/node_modules/x/y.js", false),
        (created, "/home/plugins/p/.git/index", false),
        (created, "/home/plugins/p/scripts/__pycache__/s.pyc", false),
        (
            EventKind::Access(AccessKind::Any),
            "/home/plugins/p/plugin.yaml",
            false,
        ),
    ] {
        let event = Event::new(kind).add_path(path.into());
        assert_eq!(concerns(&folders, &event), expected, "{kind:?} {path}");
    }
    assert!(concerns(
        &folders,
        &Event::new(EventKind::Other).set_flag(Flag::Rescan)
    ));
}
