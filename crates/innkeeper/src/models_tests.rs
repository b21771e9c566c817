use innkeeper_protocol::ErrorCode;

use super::*;
use crate::settings::Settings;

fn house(text: &str, secrets: &str) -> (tempfile::TempDir, Result<HouseModels, Failure>) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::of(Some(folder.path())).unwrap();
    if !secrets.is_empty() {
        let path = home.file("secrets.toml");
        std::fs::write(&path, secrets).unwrap();
        #[cfg(unix)]
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))
            .unwrap();
    }
    let settings = Settings::parse("innkeeper.toml", text).unwrap();
    let house = HouseModels::open(&home, &settings.models, None);
    (folder, house)
}

#[test]
fn the_default_is_chosen_or_the_first_that_is_ready_and_named_or_the_rehearsal() {
    const OPEN: &str = "[[models.channels]]\nname = \"ollama\"\n";
    const LACKING: &str = "[[models.channels]]\nname = \"openai\"\nkeys = \"secret:models.none\"\nmodels = [\"gpt-5\"]\n";
    const NAMED: &str = "[[models.channels]]\nname = \"vllm\"\nmodels = [\"q-*\", \"q-1\"]\n";
    for (text, expected) in [
        (String::new(), "rehearsal"),
        (OPEN.to_owned(), "rehearsal"),
        (format!("{LACKING}{OPEN}{NAMED}"), "vllm/q-1"),
        (format!("{NAMED}disabled = true\n"), "rehearsal"),
        (format!("[models]\ndefault = \"mine\"\n{NAMED}"), "mine"),
    ] {
        let (_folder, house) = house(&text, "");
        assert_eq!(
            house.unwrap().models.default_name(),
            Some(expected),
            "{text}"
        );
    }
}

#[test]
fn keys_are_found_by_their_names_and_hidden() {
    let text = "[[models.channels]]\nname = \"lab.one\"\nprovider = \"openai\"\n\
                [[models.channels]]\nname = \"two\"\nprovider = \"anthropic\"\nkeys = \"secret:elsewhere.key\"\n\
                [[models.channels]]\nname = \"three\"\nprovider = \"custom\"\nbase_url = \"http://127.0.0.1:1\"\n\
                headers = {\"x-key\" = \"${PATH}\"}\n";
    let secrets =
        "[models.lab]\none = \"marker-one-0123\"\n[elsewhere]\nkey = \"marker-two-0123\"\n";
    let (_folder, house) = house(text, secrets);
    let house = house.unwrap();
    for channel in house.channels() {
        assert_eq!(channel.ready(), Ok(()), "{}", channel.name());
    }
    let path = std::env::var("PATH").unwrap();
    let text = format!("a marker-one-0123 b marker-two-0123 c {}", path.trim());
    let hidden = house.redactor.redact_text(&text).into_owned();
    assert_eq!(
        hidden,
        "a [secret models.lab.one] b [secret elsewhere.key] c [secret PATH]"
    );
}

#[test]
fn what_does_not_fit_is_named_with_its_line() {
    let channel = "[[models.channels]]\nname = \"a\"\nprovider = \"ollama\"\n";
    for (text, line, said) in [
        (
            "\n[[models.channels]]\nname = \"opnai\"\n".to_owned(),
            "line 2",
            "did you mean \"openai\"?",
        ),
        (format!("{channel}{channel}"), "line 4", "two channels"),
        (
            format!("{channel}[[models.routes]]\nmodel = \"x\"\nto = [\"b\"]\n"),
            "line 4",
            "routes[0].to[0]",
        ),
        (
            format!("{channel}[models.aliases]\nx = \"x\"\n"),
            "line",
            "circle",
        ),
    ] {
        let (_folder, house) = house(&text, "");
        let failure = house.err().unwrap();
        let sentence = failure.sentence(crate::lang::Lang::En);
        assert_eq!(failure.code(), "settings.invalid");
        assert!(
            sentence.contains(line) && sentence.contains(said),
            "{sentence}"
        );
    }
}

#[test]
fn a_vendor_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::of(Some(folder.path())).unwrap();
    std::fs::create_dir(home.file(PROVIDERS)).unwrap();
    let file = home.file(PROVIDERS).join("acme.toml");
    std::fs::write(
        &file,
        "[acme]\nbase_url = \"http://127.0.0.1:1/v1\"\nauth = \"none\"\n",
    )
    .unwrap();
    let settings = Settings::parse("f", "[[models.channels]]\nname = \"acme\"\n").unwrap();
    let house = HouseModels::open(&home, &settings.models, None).unwrap();
    assert_eq!(house.channels()[0].ready(), Ok(()));
    let error = house.models.get("acme").err().unwrap();
    assert_eq!(error.code(), ErrorCode::ModelRequestFailed);
}
