use innkeeper_protocol::ErrorCode;

use super::*;
use crate::lang::Lang;
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
            "line 2, column 1",
            "did you mean \"openai\"?",
        ),
        (
            format!("{channel}{channel}"),
            "line 5, column 8",
            "two channels",
        ),
        (
            format!("{channel}[[models.routes]]\nmodel = \"x\"\nto = [\"b\"]\n"),
            "line 6, column 7",
            "routes[0].to[0]",
        ),
        (
            "[[models.channels]]\nname = \"a\"\nprovider = \"opnai\"\n".to_owned(),
            "line 3, column 12",
            "did you mean \"openai\"?",
        ),
        (
            "[models]\nrehearsal = \"nope.yaml\"\n".to_owned(),
            "line 2, column 13",
            "nope.yaml' cannot be read",
        ),
        (
            format!("{channel}[models.aliases]\nx = \"x\"\n"),
            "line 5, column 1",
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
        assert!(!sentence.contains("?;"), "{sentence}");
        assert!(!sentence.contains("\\u{"), "{sentence}");
        assert_eq!(
            sentence.matches("cannot be read").count() / 2,
            0,
            "{sentence}"
        );
        let chinese = failure.sentence(Lang::Zh);
        assert!(chinese.contains("行第"), "{chinese}");
    }
}

/// What channels of every broken kind lack, said once and in both languages.
#[test]
fn what_a_channel_lacks_is_told_in_both_languages() {
    const CUSTOM: &str = "[[models.channels]]\nname = \"lab\"\nprovider = \"custom\"\n";
    const THERE: &str = "base_url = \"http://127.0.0.1:1/v1\"\n";
    for more in [
        "keys = [\"${NO_SUCH_VARIABLE_1}\", \"secret:models.none\"]\n".to_owned(),
        String::new(),
        format!("{THERE}headers = {{\"x-a\" = \"${{NO_SUCH_VARIABLE_1}}\"}}\n"),
        format!("{THERE}headers = {{\"x-a\" = \"line\\nbreak\"}}\n"),
        format!("{THERE}headers = {{\"a b\" = \"x\"}}\n"),
        format!("{THERE}headers = {{connection = \"x\"}}\n"),
        format!("{THERE}timeouts = {{idle_ms = 0}}\n"),
        "base_url = \"http://a.example/v1\"\nheaders = {\"x-key\" = \"${PATH}\"}\n".to_owned(),
    ] {
        let (_folder, house) = house(&format!("{CUSTOM}{more}"), "");
        let house = house.unwrap();
        let why = house.channels()[0].ready().unwrap_err();
        let said = Said::lack(why);
        let chinese = said.pick(Lang::Zh);
        assert!(
            !chinese.contains(" the ") && !chinese.contains(" is "),
            "{why}: {chinese}"
        );
        assert_ne!(chinese, why);
        let [english, chinese] = house.not_ready_note().unwrap();
        assert!(english.contains("lab is not ready"), "{english}");
        assert!(chinese.contains("lab 未就绪"), "{chinese}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_read_is_complained_of_once() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::of(Some(folder.path())).unwrap();
    std::fs::write(home.file("secrets.toml"), "x = \"some value\"\n").unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(home.file("secrets.toml"), open).unwrap();
    let text = "[[models.channels]]\nname = \"openai\"\nkeys = [\"secret:a\", \"secret:b\", \"secret:c\"]\n";
    let settings = Settings::parse("f", text).unwrap();
    let house = HouseModels::open(&home, &settings.models, None).unwrap();
    let said = Said::lack(house.channels()[0].ready().unwrap_err());
    for lang in [Lang::En, Lang::Zh] {
        assert_eq!(said.pick(lang).matches("chmod").count(), 1, "{said:?}");
    }
}

/// Settings, and what is told of them.
#[test]
fn what_leads_nowhere_is_told() {
    const OLLAMA: &str = "[[models.channels]]\nname = \"ollama\"\nmodels = [\"q\"]\n";
    const LACKING: &str = "[[models.channels]]\nname = \"openai\"\nkeys = \"secret:models.none\"\nmodels = [\"gpt-5\"]\n";
    const CLOSED: &str = "[[models.channels]]\nname = \"vllm\"\ndisabled = true\n";
    for (text, expected) in [
        (String::new(), &[][..]),
        (OLLAMA.to_owned(), &[]),
        (CLOSED.to_owned(), &[]),
        (format!("[models]\ndefault = \"rehearsal\"\n{OLLAMA}"), &[]),
        (
            "[models]\ndefault = \"zzz\"\n".to_owned(),
            &["the default zzz leads to no model"],
        ),
        (
            format!("[models]\ndefault = \"zzz\"\n{OLLAMA}"),
            &["the default zzz"],
        ),
        (
            format!("[models]\ndefault = \"openai/gpt-5\"\n{LACKING}{OLLAMA}"),
            &["the default openai/gpt-5 cannot answer"],
        ),
        (
            format!("[models]\ndefault = \"best\"\n{OLLAMA}[models.aliases]\nbest = \"gone/m\"\n"),
            &[
                "the default best",
                "the alias best leads to no model: change gone/m",
            ],
        ),
        (
            format!("{OLLAMA}{CLOSED}[[models.routes]]\nmodel = \"x-*\"\nto = [\"vllm\"]\n"),
            &["the route x-* leads to disabled channels alone"],
        ),
        (
            LACKING.to_owned(),
            &["the rehearsal model answers, since openai is not ready: no key: "],
        ),
        (format!("{LACKING}{OLLAMA}"), &[]),
        (
            "[[models.channels]]\nname = \"ollama\"\n".to_owned(),
            &["since no default is chosen"],
        ),
    ] {
        let (_folder, house) = house(&text, "");
        let doubts = house.unwrap().doubts();
        assert_eq!(doubts.len(), expected.len(), "{text}: {doubts:?}");
        for (doubt, expected) in doubts.iter().zip(expected) {
            assert!(doubt.pick(Lang::En).contains(expected), "{text}: {doubt:?}");
            assert_ne!(doubt.pick(Lang::Zh), doubt.pick(Lang::En));
        }
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
