use std::fs;
use std::path::Path;

use super::*;
use crate::limits::MAX_KEPT_FILE_BYTES;

fn name(text: &str) -> SecretName {
    SecretName::new(text.split('.'))
}

fn in_folder(text: Option<&str>) -> (tempfile::TempDir, Secrets) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secrets.toml");
    if let Some(text) = text {
        fs::write(&path, text).unwrap();
        set_mode(&path, 0o600);
    }
    (folder, Secrets::new(path))
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_secret_is_neither_printed_nor_serialised() {
    // Compiles only while `Secret` has neither trait: with one of them there are two answers for `_`.
    trait IsNot<A> {
        fn holds() {}
    }
    struct Printable;
    struct Serialisable;
    impl<T> IsNot<()> for T {}
    impl<T: fmt::Display> IsNot<Printable> for T {}
    impl<T: serde::Serialize> IsNot<Serialisable> for T {}
    <Secret as IsNot<_>>::holds();

    let secret = Secret::new("hunter2");
    assert_eq!(format!("{secret:?}"), "[secret]");
    assert_eq!(format!("{:?}", Some(secret.clone())), "Some([secret])");
    assert_eq!(secret.expose(), "hunter2");
}

#[test]
fn what_is_set_can_be_had_listed_and_removed() {
    let (folder, secrets) = in_folder(None);
    let (all, alice) = (
        SecretName::of_plugin("signet", "key"),
        SecretName::of_user(&UserId::try_from("alice").unwrap(), "signet", "key"),
    );
    assert!(secrets.get(&all).unwrap().is_none());
    assert!(!secrets.remove(&all).unwrap());
    assert!(!folder.path().join("secrets.toml").exists());

    secrets.set(&all, &Secret::new("for everybody")).unwrap();
    secrets
        .set(&alice, &Secret::new("for \"alice\"\n"))
        .unwrap();
    assert_eq!(
        secrets.get(&all).unwrap().unwrap().expose(),
        "for everybody"
    );
    assert_eq!(
        secrets.get(&alice).unwrap().unwrap().expose(),
        "for \"alice\"\n"
    );
    assert_eq!(secrets.names().unwrap(), [all.clone(), alice.clone()]);
    assert_eq!(alice.to_string(), "users.alice.plugins.signet.key");

    secrets.set(&all, &Secret::new("another one")).unwrap();
    assert_eq!(secrets.get(&all).unwrap().unwrap().expose(), "another one");
    assert!(secrets.remove(&all).unwrap());
    assert!(secrets.get(&all).unwrap().is_none());
    assert_eq!(secrets.names().unwrap(), [alice]);
}

#[test]
fn what_people_wrote_survives() {
    let text = "# mine\n[models.openai]\napi_key = \"sk-1234\" # work account\n\n[plugins.\"a.b\"]\nport = 7\nkey = \"old value\" # rotate in May\n";
    let (folder, secrets) = in_folder(Some(text));
    let key = SecretName::new(["plugins", "a.b", "key"]);
    secrets.set(&key, &Secret::new("new value")).unwrap();
    let now = fs::read_to_string(folder.path().join("secrets.toml")).unwrap();
    assert_eq!(now, text.replace("old value", "new value"));
}

#[test]
fn every_way_of_writing_tables_is_understood() {
    for text in [
        "plugins = { a = { key = \"old value\" } }\n",
        "plugins.a.key = \"old value\"\n",
        "[plugins]\na = { key = \"old value\" }\n",
        "[plugins]\na.key = \"old value\"\n",
        "[plugins.a]\nkey = \"old value\"\n[other]\n",
    ] {
        let (folder, secrets) = in_folder(Some(text));
        assert_eq!(secrets.names().unwrap(), [name("plugins.a.key")], "{text}");
        for key in [
            "plugins.a.key",
            "plugins.a.more",
            "plugins.b.key",
            "users.u.plugins.a.key",
        ] {
            secrets.set(&name(key), &Secret::new("new value")).unwrap();
        }
        for key in [
            "plugins.a.key",
            "plugins.a.more",
            "plugins.b.key",
            "users.u.plugins.a.key",
        ] {
            let now = fs::read_to_string(folder.path().join("secrets.toml")).unwrap();
            let found = secrets.get(&name(key)).unwrap();
            assert_eq!(found.unwrap().expose(), "new value", "{key} in {now}");
            assert!(secrets.remove(&name(key)).unwrap(), "{key} in {now}");
        }
        assert!(secrets.names().unwrap().is_empty());
    }
}

#[test]
fn a_name_that_others_go_on_from_holds_no_secret_and_takes_none_away() {
    let (_folder, secrets) = in_folder(None);
    let (short, long) = (name("models.a"), name("models.a.b"));
    secrets.set(&long, &Secret::new("the long one")).unwrap();
    assert!(secrets.get(&short).unwrap().is_none());
    assert!(!secrets.remove(&short).unwrap());
    let error = secrets.set(&short, &Secret::new("the short one"));
    assert!(matches!(error, Err(SecretsError::IsTable(_))), "{error:?}");
    assert_eq!(
        secrets.get(&long).unwrap().unwrap().expose(),
        "the long one"
    );
    // What is left of the table stands in nobody's way.
    assert!(secrets.remove(&long).unwrap());
    secrets.set(&short, &Secret::new("the short one")).unwrap();
    assert_eq!(secrets.names().unwrap(), [short]);
}

#[test]
fn the_file_stays_tidy_over_its_life() {
    let (folder, secrets) = in_folder(None);
    let text = || fs::read_to_string(folder.path().join("secrets.toml")).unwrap();
    let set = |key: &str| secrets.set(&name(key), &Secret::new("some value"));
    set("models.one").unwrap();
    let first = format!("{HEADER}[models]\none = \"some value\"\n");
    assert_eq!(text(), first);
    set("plugins.a.key").unwrap();
    assert_eq!(
        text(),
        format!("{first}\n[plugins.a]\nkey = \"some value\"\n")
    );
    // Whoever is gone leaves nothing behind, and takes nothing of the file's with it.
    assert!(secrets.remove(&name("models.one")).unwrap());
    assert_eq!(
        text(),
        format!("{HEADER}[plugins.a]\nkey = \"some value\"\n")
    );
    assert!(secrets.remove(&name("plugins.a.key")).unwrap());
    assert_eq!(text(), HEADER);
    set("models.one").unwrap();
    assert_eq!(text(), first);
}

#[test]
fn tables_that_somebody_wrote_about_stay() {
    for (before, after) in [
        (
            "# mine\n[models]\nx = \"some value\"\n",
            "# mine\n[models]\n",
        ),
        ("[models] # paid\nx = \"some value\"\n", "[models] # paid\n"),
        (
            "[models.a]\nx = \"some value\"\n[models]\ny = \"some value\"\n",
            "[models]\ny = \"some value\"\n",
        ),
        (
            "# a\n\n# b\n[models]\nx = \"some value\"\ny = \"some value\"\n",
            "# a\n\n# b\n[models]\ny = \"some value\"\n",
        ),
        (
            "# a\r\n\r\n[models]\r\nx = \"some value\"\r\n",
            "# a\r\n\r\n",
        ),
    ] {
        let (folder, secrets) = in_folder(Some(before));
        let gone = secrets.remove(&name("models.x")).unwrap()
            || secrets.remove(&name("models.a.x")).unwrap();
        assert!(gone, "{before}");
        let now = fs::read_to_string(folder.path().join("secrets.toml")).unwrap();
        assert_eq!(now, after);
    }
    let (folder, secrets) = in_folder(Some("# only words"));
    secrets
        .set(&name("models.x"), &Secret::new("some value"))
        .unwrap();
    let now = fs::read_to_string(folder.path().join("secrets.toml")).unwrap();
    assert!(now.starts_with("# only words\n"), "{now}");
    assert_eq!(secrets.names().unwrap(), [name("models.x")]);
    let (_folder, secrets) = in_folder(Some("# a\n\n[models]\nx = oops\n"));
    let error = secrets.set(&name("models.y"), &Secret::new("some value"));
    assert!(error.unwrap_err().to_string().contains("line 4"));
}

#[test]
fn the_file_is_for_its_owner_alone() {
    let (folder, secrets) = in_folder(None);
    let path = folder.path().join("secrets.toml");
    let key = name("plugins.a.key");
    secrets.set(&key, &Secret::new("abcd")).unwrap();
    assert_eq!(mode(&path), 0o600);
    for entry in fs::read_dir(folder.path()).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    for loose in [0o640, 0o604, 0o644, 0o622] {
        set_mode(&path, loose);
        for error in [
            secrets.get(&key).unwrap_err(),
            secrets.set(&key, &Secret::new("efgh")).unwrap_err(),
            secrets.names().unwrap_err(),
        ] {
            let message = error.to_string();
            assert!(message.contains("chmod 600"), "{message}");
            assert!(message.contains(&format!("{loose:03o}")), "{message}");
        }
    }
}

#[test]
fn what_cannot_be_kept_secret_is_refused() {
    let (_folder, secrets) = in_folder(None);
    let key = name("plugins.a.key");
    for (value, good) in [
        ("abc", false),
        ("四字以下", true),
        ("三字内", false),
        ("abcd", true),
        ("a\0bcd", false),
    ] {
        assert_eq!(
            secrets.set(&key, &Secret::new(value)).is_ok(),
            good,
            "{value}"
        );
    }
    assert!(
        secrets
            .set(&key, &Secret::new("x".repeat(MAX_SECRET_BYTES)))
            .is_ok()
    );
    assert!(
        secrets
            .set(&key, &Secret::new("x".repeat(MAX_SECRET_BYTES + 1)))
            .is_err()
    );
    for bad in ["", "a..b", "1.2.3.4.5.6.7.8.9"] {
        assert!(
            secrets.set(&name(bad), &Secret::new("abcd")).is_err(),
            "{bad}"
        );
    }
}

#[test]
fn what_was_written_badly_by_hand_is_named_and_never_quoted() {
    for (text, asked, expected) in [
        ("[plugins.a]\nkey = 1234567\n", "plugins.a.key", "in quotes"),
        (
            "[plugins.a]\nkey = \"ab\"\n",
            "plugins.a.key",
            "shorter than 4",
        ),
        ("plugins = \"hunter22\"\n", "plugins.a.key", "not a table"),
        ("\n[plugins.a]\nkey = hunter22\n", "plugins.a.key", "line 3"),
        ("[plugins.a]\nkey = \"hunter22\n", "plugins.a.key", "line 2"),
    ] {
        let (_folder, secrets) = in_folder(Some(text));
        let message = secrets.get(&name(asked)).unwrap_err().to_string();
        assert!(message.contains(expected), "{text:?}: {message}");
        assert!(!message.contains("hunter"), "{message}");
        assert!(!message.contains("1234567"), "{message}");
    }
    let (_folder, secrets) = in_folder(Some("[plugins.a]\nkey = 1234\nother = \"good one\"\n"));
    assert_eq!(secrets.names().unwrap(), [name("plugins.a.other")]);
}

#[test]
fn a_file_without_end_is_not_read() {
    let (_folder, secrets) = in_folder(Some(&"#".repeat(MAX_KEPT_FILE_BYTES as usize + 1)));
    assert!(secrets.names().unwrap_err().to_string().contains("larger"));
}

#[test]
fn writers_do_not_lose_each_others_keys() {
    let (_folder, secrets) = in_folder(None);
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let secrets = &secrets;
            scope.spawn(move || {
                for number in 0..8 {
                    let name = name(&format!("plugins.p{writer}.k{number}"));
                    secrets.set(&name, &Secret::new("some value")).unwrap();
                }
            });
        }
    });
    assert_eq!(secrets.names().unwrap().len(), 64);
}

#[test]
fn a_linked_file_stays_linked() {
    let (folder, secrets) = in_folder(None);
    let real = folder.path().join("elsewhere.toml");
    fs::write(&real, "").unwrap();
    set_mode(&real, 0o600);
    std::os::unix::fs::symlink(&real, folder.path().join("secrets.toml")).unwrap();
    secrets
        .set(&name("plugins.a.key"), &Secret::new("abcd"))
        .unwrap();
    assert!(fs::read_to_string(&real).unwrap().contains("abcd"));
    assert_eq!(secrets.names().unwrap().len(), 1);
}
