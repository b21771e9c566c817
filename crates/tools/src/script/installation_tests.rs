use std::fs;
use std::os::unix::fs::symlink;

use super::*;

/// A tree in a temporary folder: `a/b` is a file, `a/` a folder, `a -> b` a link.
struct Tree {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Tree {
    fn new(entries: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for entry in entries {
            let (name, target) = match entry.split_once(" -> ") {
                Some((name, target)) => (name, Some(target)),
                None => (*entry, None),
            };
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match target {
                Some(target) => {
                    symlink(target.replace("ROOT", root.to_str().unwrap()), path).unwrap()
                }
                None if name.ends_with('/') => fs::create_dir_all(path).unwrap(),
                None => fs::write(path, "").unwrap(),
            }
        }
        Self {
            _folder: folder,
            root,
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn needs(
        &self,
        executable: &str,
        prefixes: &[&str],
        named: &[&str],
        closed: &[&str],
    ) -> Vec<String> {
        let all = |names: &[&str]| names.iter().map(|name| self.at(name)).collect::<Vec<_>>();
        let installation = Installation {
            executable: self.at(executable),
            prefixes: all(prefixes),
            named: all(named),
        };
        let needed = installation.needs(&all(closed));
        let relative = |path: &PathBuf| {
            path.strip_prefix(&self.root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        };
        needed.iter().map(relative).collect()
    }
}

#[test]
fn an_installation_of_its_own_gives_its_parts() {
    let tree = Tree::new(&[
        "py/bin/python3 -> python3.11",
        "py/bin/python3.11",
        "py/lib/python3.11/os.py",
        "py/lib64 -> lib",
        "py/ssl/cert.pem",
        "py/ssl/certs/one.pem",
        "py/ssl/openssl.cnf",
        "py/ssl/private/key.pem",
        "py/share/secret",
        "py/share/zoneinfo/UTC",
        "py/.env",
    ]);
    assert_eq!(
        tree.needs(
            "py/bin/python3",
            &["py", "py"],
            &["py/lib/python3.11"],
            &["home"]
        ),
        [
            "py/bin",
            "py/lib",
            "py/lib64",
            "py/share/zoneinfo",
            "py/ssl/cert.pem",
            "py/ssl/certs",
            "py/ssl/openssl.cnf",
        ]
    );
    // Without being told: the `lib` beside `bin`.
    assert_eq!(tree.needs("py/bin/python3", &[], &[], &[]).len(), 7);
}

#[test]
fn a_program_outside_of_a_bin_folder_is_a_file() {
    let tree = Tree::new(&["opt/node", "opt/lib/", "lib/"]);
    assert_eq!(tree.needs("opt/node", &[], &[], &[]), ["opt/node"]);
}

/// Closed folders, and what is still given of a prefix that is one of them, or above one.
#[test]
fn what_is_a_persons_own_is_never_given_whole() {
    let tree = Tree::new(&[
        "home/me/bin/python3",
        "home/me/lib/python3.11/os.py",
        "home/me/lib/libpython3.11.so",
        "home/me/lib/letters",
        "home/me/.local/bin/node",
        "home/me/.local/lib/",
        "home/me/.local/share/innkeeper/",
        "home/me/.pyenv/bin/python3",
        "home/me/.pyenv/lib/",
        "link -> home/me",
    ]);
    let named = &["home/me/lib/python3.11", "home/me/lib/libpython3.11.so"][..];
    let (home, local) = ("home/me", "home/me/.local");
    let narrow = &[
        "home/me/bin/python3",
        "home/me/lib/libpython3.11.so",
        "home/me/lib/python3.11",
    ][..];
    for (executable, prefixes, named, closed, expected) in [
        (
            "home/me/bin/python3",
            &["home/me"][..],
            named,
            &[home][..],
            narrow,
        ),
        ("home/me/bin/python3", &["home", ""], named, &[home], narrow),
        // Named themselves, they are not given either.
        (
            "home/me/bin/python3",
            &[],
            &["home/me", "home"],
            &[home],
            &["home/me/bin/python3"],
        ),
        (
            "home/me/bin/python3",
            &[],
            &["link"],
            &[home],
            &["home/me/bin/python3"],
        ),
        // By way of a link it is the same folder.
        (
            "link/bin/python3",
            &["link"],
            &[],
            &[home],
            &["home/me/bin/python3", "link/bin/python3"],
        ),
        (
            "home/me/bin/python3",
            &["home/me"],
            &[],
            &["link"],
            &["home/me/bin/python3"],
        ),
        // Where Innkeeper keeps its keys.
        (
            "home/me/.local/bin/node",
            &[],
            &[],
            &["home/me/.local/share/innkeeper"],
            &["home/me/.local/bin/node"],
        ),
        (
            "home/me/.local/bin/node",
            &[],
            &[],
            &[home, local],
            &["home/me/.local/bin/node"],
        ),
        // What is installed in a folder of its own in there is as good as elsewhere.
        (
            "home/me/.pyenv/bin/python3",
            &["home/me/.pyenv"],
            &[],
            &[home, local],
            &["home/me/.pyenv/bin", "home/me/.pyenv/lib"],
        ),
    ] {
        let needed = tree.needs(executable, prefixes, named, closed);
        assert_eq!(needed, expected, "{executable} {prefixes:?} {closed:?}");
    }
    let root = Installation {
        prefixes: vec![PathBuf::from("/")],
        named: vec![PathBuf::from("/"), PathBuf::from("relative")],
        executable: tree.at("home/me/bin/python3"),
    };
    assert_eq!(
        root.needs(&[tree.at("home/me")]),
        [tree.at("home/me/bin/python3")]
    );
}

/// A virtual environment of a Python whose folder is itself reached by a link, as uv lays them out.
#[test]
fn every_link_on_the_way_can_be_followed() {
    let tree = Tree::new(&[
        "venv/bin/python -> python3",
        "venv/bin/python3 -> ROOT/uv/cpython-3.12/bin/python3.12",
        "venv/pyvenv.cfg",
        "venv/lib/",
        "uv/cpython-3.12 -> cpython-3.12.4",
        "uv/cpython-3.12.4/bin/python3.12",
        "uv/cpython-3.12.4/lib/",
        "etc/alternatives/node -> ROOT/opt/node",
        "bin/node -> ../etc/alternatives/node",
        "opt/node",
    ]);
    assert_eq!(
        tree.needs("venv/bin/python", &["venv", "uv/cpython-3.12"], &[], &[]),
        [
            "uv/cpython-3.12/bin",
            "uv/cpython-3.12/lib",
            "uv/cpython-3.12.4/bin",
            "uv/cpython-3.12.4/lib",
            "venv/bin",
            "venv/lib",
            "venv/pyvenv.cfg",
        ]
    );
    assert_eq!(
        tree.needs("bin/node", &[], &[], &[]),
        ["bin", "etc/alternatives/node", "opt/node"]
    );
    let round = Tree::new(&["a -> b", "b -> a"]);
    assert!(round.needs("a", &[], &[], &[]).is_empty());
}

#[test]
fn the_system_is_there_anyway() {
    for (path, expected) in [
        ("/bin/sh", true),
        ("/usr/local/bin/nothing", true),
        ("/usrlocal/bin/sh", false),
        ("/opt/bin/sh", false),
    ] {
        assert_eq!(is_of_the_system(Path::new(path)), expected, "{path}");
    }
    let shell = Installation {
        executable: "/bin/sh".into(),
        prefixes: vec!["/usr".into(), "/".into()],
        named: vec!["/usr/lib".into()],
    };
    assert!(shell.needs(&[]).is_empty());
    assert_eq!(without_dots(Path::new("/a/./b/../../c")), Path::new("/c"));
    assert_eq!(without_dots(Path::new("/../../c")), Path::new("/c"));
}
