use super::*;

/// What somebody might name something to trick whoever reads a message.
pub(super) const NASTY: &str = "a\nb\r\u{1b}[2J\u{2028}\u{202e}c";

fn one_of_each() -> Vec<Failure> {
    let mut all = of_input();
    all.extend(settings::one_of_each().into_iter().map(Failure::Settings));
    all.extend(tools::one_of_each().into_iter().map(Failure::Tool));
    all.extend(plugin::one_of_each().into_iter().map(Failure::Plugin));
    all.extend(models::one_of_each().into_iter().map(Failure::Model));
    all.extend(workflow::one_of_each().into_iter().map(Failure::Workflow));
    all.extend(runs::one_of_each().into_iter().map(Failure::Run));
    all.extend(of_store().into_iter().map(Failure::Store));
    all
}

fn of_store() -> Vec<StoreError> {
    let path = std::path::PathBuf::from(NASTY);
    let cause = || NASTY.to_owned();
    vec![
        StoreError::Open {
            path: path.clone(),
            cause: cause(),
        },
        StoreError::Newer {
            path: path.clone(),
            found: 9,
            known: 2,
        },
        StoreError::Foreign { path: path.clone() },
        StoreError::Corrupt {
            path,
            cause: cause(),
        },
        StoreError::Busy,
        StoreError::Write { cause: cause() },
        StoreError::Read { cause: cause() },
        StoreError::QueueFull,
        StoreError::Closed,
        StoreError::Full {
            what: "grants",
            limit: 9,
        },
        StoreError::TooLarge {
            what: "it",
            size: 9,
            limit: 8,
        },
        StoreError::TooDeep { what: "it" },
        StoreError::ClaimLost,
        StoreError::DiskFull { cause: cause() },
        StoreError::Gap { last: 1, found: 3 },
        StoreError::RunOver,
        StoreError::NoRun(cause()),
        StoreError::RunExists(cause()),
        StoreError::ContentMissing { id: cause() },
        StoreError::ContentDamaged {
            id: cause(),
            cause: cause(),
        },
        StoreError::InUse {
            home: NASTY.into(),
            pid: Some(7),
            since: None,
        },
    ]
}

fn of_input() -> Vec<Failure> {
    let nasty = || Place::file(Path::new(NASTY));
    let io = || io::Error::other("broken\ncable");
    let json = serde_json::from_str::<String>("\"a").unwrap_err();
    vec![
        Failure::Usage("usage".into()),
        Failure::NoInput("parse"),
        Failure::NotFound(nasty()),
        Failure::NothingThere(nasty()),
        Failure::NoSuchFolder(nasty()),
        Failure::IsDirectory(nasty()),
        Failure::NotAFolder(nasty()),
        Failure::Unreadable(nasty(), io()),
        Failure::TooLarge(nasty(), MIB),
        Failure::TooLarge(nasty(), MAX_REPLY_BYTES),
        Failure::NotText(Place::Stdin, 7),
        Failure::Line(nasty(), 3, LineProblem::Blank),
        Failure::Line(nasty(), 3, LineProblem::TooLong(MIB)),
        Failure::Line(nasty(), 3, LineProblem::NotUtf8(4)),
        Failure::Line(nasty(), 3, LineProblem::NotAString(JsonKind::Number)),
        Failure::Line(nasty(), 3, LineProblem::NotJson(json)),
        Failure::NotJson(nasty(), "oops".into()),
        Failure::Home(HomeFault::Unknown),
        Failure::Home(HomeFault::unusable(Path::new(NASTY), &io())),
        Failure::System(io()),
        Failure::Unwritable(io()),
        Failure::ReaderGone,
    ]
}

#[test]
fn every_failure_is_one_printable_line_in_both_languages() {
    for failure in one_of_each() {
        for lang in [Lang::En, Lang::Zh] {
            let line = failure.line(lang);
            assert!(!line.contains(char::is_control), "{line:?}");
            assert!(!line.contains(is_line_or_direction_mark), "{line:?}");
            assert!(line.ends_with(&format!("[{}]", failure.code())), "{line:?}");
        }
    }
}

#[test]
fn every_code_is_documented() {
    let page = include_str!("../../../docs/command-line.md");
    for failure in one_of_each() {
        let row = format!("\n| `{}` |", failure.code());
        // What comes of a call has a code of the platform.
        let platform = innkeeper_protocol::ErrorCode::ALL;
        let elsewhere = platform.iter().any(|code| code.as_str() == failure.code());
        assert!(
            elsewhere || page.contains(&row),
            "{} is missing",
            failure.code()
        );
    }
}

#[test]
fn long_names_are_cut() {
    let name = "é".repeat(MAX_SHOWN_CHARS);
    assert_eq!(shown(&name), name);
    assert_eq!(shown(&format!("{name}x")), format!("{name}…"));
    let sentence = "é".repeat(MAX_SHOWN_MESSAGE_CHARS);
    assert_eq!(message(&sentence), sentence);
    assert_eq!(message(&format!("{sentence}x")), format!("{sentence}…"));
}

#[test]
fn line_breaks_of_sentences_are_blanks_and_those_of_names_are_shown() {
    for (text, expected) in [
        ("unless your\nrules", "unless your rules"),
        ("a  \r\n\n\t  b \n", "a b"),
        ("\n a", "a"),
        ("a\rb", "a\\u{d}b"),
        ("a  b", "a  b"),
    ] {
        assert_eq!(message(text), expected, "{text:?}");
        assert_eq!(told(text), expected, "{text:?}");
    }
    assert_eq!(shown("a\nb"), "a\\u{a}b");
}

#[test]
fn system_causes_lose_their_numbers() {
    let error = io::Error::from_raw_os_error(13);
    assert!(!cause(&error).contains("os error"), "{}", cause(&error));
}

#[test]
fn a_call_that_was_stopped_ends_like_every_stopped_command() {
    use innkeeper_protocol::{Observation, Outcome};

    let reason = || "the run was stopped".to_owned();
    for (outcome, code) in [
        (Outcome::Cancelled { reason: reason() }, 130),
        (Outcome::Denied { reason: reason() }, 1),
    ] {
        let fault = ToolFault::Failed(Box::new(Observation::new("X", outcome)));
        assert_eq!(Failure::Tool(fault).exit_code(), code);
    }
}
