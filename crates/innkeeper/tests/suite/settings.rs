//! `--home`, INNKEEPER_HOME and `innkeeper.toml`: where things are, and what holds when they are wrong.

use super::home::House;
use super::process::{fed, innkeeper};

#[test]
fn the_option_beats_the_variable_and_folders_are_private() {
    let (one, other) = (House::new(), House::new());
    let inner = other.path().join("deep/home");
    let run = one.run(&["tools", "list", "--home", inner.to_str().unwrap()]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(inner.join("innkeeper.db").exists());
    assert_eq!(std::fs::read_dir(one.path()).unwrap().count(), 0);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&inner).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}

#[test]
fn without_either_it_is_the_data_folder_of_the_platform() {
    let house = House::new();
    let mut command = innkeeper(&["tools", "list"]);
    command
        .env_remove("INNKEEPER_HOME")
        .env("HOME", house.path())
        .env_remove("XDG_DATA_HOME");
    let run = fed(command, b"");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let found = |folder: &str| {
        house
            .path()
            .join(folder)
            .join("innkeeper/innkeeper.db")
            .exists()
    };
    assert!(found(".local/share") || found("Library/Application Support"));
}

#[test]
fn a_home_that_cannot_be_one() {
    let house = House::new();
    let file = house.write("file", "x");
    let run = house.run(&["tools", "list", "--home", file.to_str().unwrap()]);
    run.is_refused(
        2,
        &[
            "file: cannot hold settings and data",
            "--home DIR",
            "[home.unusable]",
        ],
    );
}

#[test]
fn settings_that_cannot_be_taken_stop_everything_that_runs() {
    let call = "<ACTION><dice.roll><formula>1d4</formula></dice.roll></ACTION>";
    for (text, fragments) in [
        (
            "[polciy]\n",
            &[
                "line 1, column 2",
                "did you mean 'policy'?",
                "[settings.unknown_key]",
            ][..],
        ),
        (
            "[scripts]\nsandbox = \"off\"\n",
            &["line 2, column 1", "remove this line", "[settings.invalid]"],
        ),
        (
            "[[policy.rules]]\ndecision = \"allow\"\n",
            &["line 1", "rule 1", "[settings.invalid]"],
        ),
        (
            "[[policy.rules]]\ntool = \"*\"\ndecison = \"deny\"\n",
            &["line 3, column 1", "'decision'"],
        ),
        ("x = [\n", &["line 1, column 6", "[settings.invalid]"]),
    ] {
        let house = House::new();
        house.settings(text);
        for words in [
            &["call", "--yes"][..],
            &["tools", "call", "dice.roll", "formula=1d4"],
            &["tools", "list"],
            &["plugin", "list"],
        ] {
            let run = house.fed(words, call);
            run.is_refused(2, fragments);
            run.is_refused(2, &["innkeeper.toml"]);
        }
    }
    let house = House::new();
    house.settings("[polciy]\n");
    house
        .fed(&["--lang", "zh", "call"], call)
        .is_refused(2, &["第 1 行第 2 列", "未知的键“polciy”"]);
}

#[test]
fn secrets_that_others_can_read_stop_everything_too() {
    let house = House::new();
    house.write("secrets.toml", "key = \"0123456789abcdef\"\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let path = house.path().join("secrets.toml");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let run = house.run(&["tools", "list"]);
        run.is_refused(2, &["secrets.toml", "[home.unusable]"]);
    }
}

#[test]
fn further_folders_with_plugins() {
    let (house, elsewhere) = (House::new(), House::new());
    elsewhere.put(&super::home::players());
    house.settings(&format!(
        "[plugins]\npaths = [{:?}]\n",
        elsewhere.path().join("plugins")
    ));
    assert_eq!(house.json(&["plugin", "list"])[0]["name"], "players");
}
