use super::super::fake::{PLANTED, Secrets};
use super::*;

#[test]
fn references_are_told_from_keys() {
    let env = |name: &str| Some(KeyRef::Env(name.to_owned()));
    let secret = |name: &str| Some(KeyRef::Secret(name.to_owned()));
    let rows = [
        ("${OPENAI_API_KEY}", env("OPENAI_API_KEY")),
        (" ${_x1} ", env("_x1")),
        ("secret:models.openai", secret("models.openai")),
        ("secret: a-b.c_d ", secret("a-b.c_d")),
        ("$OPENAI_API_KEY", None),
        ("${}", None),
        ("${1X}", None),
        ("${A} ", env("A")),
        ("x${A}", None),
        ("secret:", None),
        ("secret:a..b", None),
        ("secret:a/b", None),
        ("sk-1234", None),
        ("", None),
    ];
    for (text, expected) in rows {
        assert_eq!(KeyRef::read(text), expected, "{text}");
    }
}

#[test]
fn headers_hold_a_key_among_other_words() {
    let lookup = KeyLookup {
        secrets: &Secrets(&[("a.b", "s")]),
        env: &|name| (name == "A").then(|| format!(" {PLANTED} \n")),
    };
    let rows = [
        ("Bearer ${A}", Ok(format!("Bearer {PLANTED}"))),
        ("<${A}>", Ok(format!("<{PLANTED}>"))),
        ("secret:a.b", Ok(format!("{PLANTED}s"))),
        ("plain", Ok("plain".to_owned())),
        (
            "${B}",
            Err("the environment variable B is not set".to_owned()),
        ),
        ("secret:a.c", Err("secrets.toml has no `a.c`".to_owned())),
        (
            "secret:models.locked",
            Err("secrets.toml is no TOML: look at line 3".to_owned()),
        ),
    ];
    for (text, expected) in rows {
        let found = HeaderText::read(text).unwrap().resolve(&lookup);
        if let Ok((value, key)) = &found {
            let key = key.as_ref().map(Secret::expose);
            assert_eq!(key.is_some(), text != "plain", "{text}");
            assert!(value.expose().contains(key.unwrap_or_default()), "{text}");
        }
        let found = found.map(|(value, _)| value.expose().to_owned());
        assert_eq!(found, expected, "{text}");
    }
    for text in ["${A", "${A} ${B}", "${a b}"] {
        assert_eq!(HeaderText::read(text), None, "{text}");
    }
}
