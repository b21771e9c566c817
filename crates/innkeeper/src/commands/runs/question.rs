//! A question of a run: what is shown of it wherever somebody answers, and how an answer is read at the terminal.

use std::io;

use innkeeper_agent::instance::{ApproveToolCall, PendingApproval};
use innkeeper_agent::run::{Question, Remember};
use innkeeper_protocol::event::InvocationId;
use serde_json::{Map, Value as Json};

use crate::approve::{TURN, cut, quoted};
use crate::ask;
use crate::failure;
use crate::lang::Lang;
use crate::limits::{MAX_INLINE_CHARS, MAX_WRONG_ANSWERS};
use crate::typed::{self, Lines};
use crate::visible::{self, visible};

/// What the person wants. Nothing: they are gone, or have not said anything that could be understood.
pub(super) type Said = Option<ApproveToolCall>;

/// Asks, one question at a time in this process. Dropped, the question is withdrawn.
pub(super) async fn ask(
    asked: PendingApproval,
    name: String,
    complaint: Option<String>,
    lang: Lang,
) -> Said {
    let _turn = TURN.lock().await;
    let asking = ask::Asking::begin();
    let said = put(&asked, &name, complaint, lang).await;
    asking.answered();
    said.ok().flatten()
}

async fn put(
    asked: &PendingApproval,
    name: &str,
    complaint: Option<String>,
    lang: Lang,
) -> io::Result<Said> {
    let may_edit = asked.decisions.contains(&"edit");
    let prompt = match may_edit {
        true => lang.pick(
            "Allow? [y]es once, [r]un, [a]lways, [e]dit, [N]o, or n and why: ",
            "允许吗？[y] 仅这次，[r] 本次运行，[a] 始终，[e] 修改参数，[N] 不允许（可在 n 后写明原因）：",
        ),
        false => lang.pick(
            "Allow? [y]es once, [r]un, [a]lways, [N]o, or n and why: ",
            "允许吗？[y] 仅这次，[r] 本次运行，[a] 始终，[N] 不允许（可在 n 后写明原因）：",
        ),
    };
    ask::forget_typed();
    let mut lines = typed::answers()?;
    let mut text = Some(match complaint {
        Some(complaint) => format!("{complaint}\n\n{}", told(asked, name, lang)),
        None => format!("\n{}", told(asked, name, lang)),
    });
    for _ in 0..MAX_WRONG_ANSWERS {
        prompted(text.take(), prompt).await?;
        let Some(said) = lines.next().await? else {
            return Ok(None);
        };
        match understand(&said, may_edit) {
            Understood::Answer(answer) => return Ok(Some(answer.of(asked, lang))),
            Understood::Edit(given) => match edited(&given, &mut lines, lang).await? {
                Ok(arguments) => {
                    let answer = approval(asked, true);
                    return Ok(Some(ApproveToolCall {
                        arguments: Some(arguments),
                        ..answer
                    }));
                }
                Err(why) => text = Some(why),
            },
            Understood::Nothing => text = Some(not_understood(&said, may_edit, lang)),
        }
    }
    Ok(None)
}

/// A terminal that was stopped holds up whoever writes to it.
async fn prompted(text: Option<String>, prompt: &'static str) -> io::Result<()> {
    let told = tokio::task::spawn_blocking(move || {
        if let Some(text) = text {
            ask::show(&text);
        }
        ask::prompt(prompt)
    });
    told.await.map_err(io::Error::other)?
}

/// `given`: what stood behind the word; asked for where nothing did.
async fn edited(
    given: &str,
    lines: &mut Lines,
    lang: Lang,
) -> io::Result<Result<Map<String, Json>, String>> {
    if !given.is_empty() {
        return Ok(arguments(given, lang));
    }
    let prompt = lang.pick(
        "All arguments as one line of JSON (what you leave as it was shown stays as it is): ",
        "用一行 JSON 写出全部参数（保持显示原样的值不会改变）：",
    );
    prompted(None, prompt).await?;
    let line = lines.next().await?.unwrap_or_default();
    Ok(arguments(&line, lang))
}

fn arguments(text: &str, lang: Lang) -> Result<Map<String, Json>, String> {
    serde_json::from_str(text).map_err(|error| {
        lang.pick(
            format!("That is no JSON object: {error}"),
            format!("不是 JSON 对象：{error}"),
        )
    })
}

/// What can be said instead.
fn not_understood(said: &str, may_edit: bool, lang: Lang) -> String {
    let said = quoted(said);
    match may_edit {
        true => lang.pick(
            format!("'{said}' is no answer: y, r and a stand alone; e may be followed by all arguments as JSON, n by why"),
            format!("“{said}”不是回答：y、r、a 须单独写；e 之后可写 JSON 形式的全部参数，n 之后可写原因"),
        ),
        false => lang.pick(
            format!("'{said}' is no answer: y, r and a stand alone; n may be followed by why"),
            format!("“{said}”不是回答：y、r、a 须单独写；n 之后可写原因"),
        ),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Understood {
    Answer(Short),
    /// With what was said behind it.
    Edit(String),
    Nothing,
}

#[derive(Debug, PartialEq, Eq)]
enum Short {
    Yes(Remember),
    No(String),
}

impl Short {
    fn of(self, asked: &PendingApproval, lang: Lang) -> ApproveToolCall {
        match self {
            Self::Yes(remember) => ApproveToolCall {
                remember,
                ..approval(asked, true)
            },
            Self::No(why) => ApproveToolCall {
                reason: Some(match why.is_empty() {
                    // The model reads this.
                    true => lang.pick("the person said no", "用户没有允许").to_owned(),
                    false => why,
                }),
                ..approval(asked, false)
            },
        }
    }
}

pub(super) fn approval(asked: &PendingApproval, approved: bool) -> ApproveToolCall {
    ApproveToolCall {
        approval_id: Some(asked.approval_id.clone()),
        ..ApproveToolCall::new(asked.run_id.clone(), asked.call_id.clone(), approved)
    }
}

fn understand(said: &str, may_edit: bool) -> Understood {
    let said = said.trim();
    let (word, rest) = said.split_once(char::is_whitespace).unwrap_or((said, ""));
    let yes = |remember| match rest.is_empty() {
        true => Understood::Answer(Short::Yes(remember)),
        // Whoever says yes and more may mean anything.
        false => Understood::Nothing,
    };
    match word.to_lowercase().as_str() {
        "y" | "yes" | "是" => yes(Remember::Once),
        "r" | "run" => yes(Remember::Run),
        "a" | "always" | "始终" => yes(Remember::Always),
        "e" | "edit" | "改" if may_edit => Understood::Edit(rest.trim().to_owned()),
        "" | "n" | "no" | "否" => Understood::Answer(Short::No(rest.trim().to_owned())),
        _ => Understood::Nothing,
    }
}

/// All that one has to know to decide, as much as fits on a screen.
fn told(asked: &PendingApproval, name: &str, lang: Lang) -> String {
    let about = About {
        name: &asked.name,
        caller: Some(&asked.invocation_id),
        question: asked.question.as_deref(),
        reason: asked.reason.as_deref(),
    };
    format!(
        "{name}{}",
        about.told(lang, |arguments| cut(&arguments, lang))
    )
}

/// What a question is about.
pub(super) struct About<'a> {
    /// The tool as the model called it.
    pub(super) name: &'a str,
    pub(super) caller: Option<&'a InvocationId>,
    pub(super) question: Option<&'a Question>,
    pub(super) reason: Option<&'a str>,
}

impl About<'_> {
    /// Nothing in it is hidden.
    pub(super) fn told(&self, lang: Lang, as_shown: impl FnOnce(String) -> String) -> String {
        let Some(question) = self.question else {
            let name = visible(self.name);
            return lang.pick(
                format!("{name} waits for approval; what it was called with is not known"),
                format!("{name} 等待批准；不知道它的参数"),
            );
        };
        let (tool, source) = (visible(&question.tool), visible(&question.source));
        let (actor, rule) = (self.who(&question.actor), visible(&question.rule));
        let mut text = lang.pick(
            format!("{actor} wants to call {tool} (from {source}) with\n"),
            format!("{actor} 想调用 {tool}（来自 {source}），参数为\n"),
        );
        text.push_str(&as_shown(visible::json(&question.arguments)));
        text.push_str(&lang.pick(
            format!("\nThe rule that asks: {rule}"),
            format!("\n要求询问的规则：{rule}"),
        ));
        if let Some(reason) = self.reason {
            let reason = visible(failure::Said::of(reason).pick(lang));
            text.push_str(&lang.pick(format!(" ({reason})"), format!("（{reason}）")));
        }
        text
    }

    /// Several agents of a run may have one profile: then it is said which.
    fn who(&self, actor: &str) -> String {
        let of_task = self
            .caller
            .filter(|caller| **caller != InvocationId::root());
        match of_task {
            Some(caller) => format!("{} ({})", visible(actor), visible(caller.as_str())),
            None => visible(actor),
        }
    }
}

/// By which an answer names the question: the call where that can be typed as it stands, or else the question itself.
pub(super) fn place(asked: &PendingApproval) -> &str {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let call = asked.call_id.as_str();
    let is_name = call.starts_with(|c: char| c.is_ascii_alphanumeric());
    match is_name && call.chars().all(is_plain) {
        true => call,
        false => &asked.approval_id,
    }
}

/// Arguments in a line of a table.
pub(super) fn in_short(question: &Question) -> String {
    let Json::Object(fields) = &question.arguments else {
        return String::new();
    };
    let one = |(name, value): (&String, &Json)| {
        let (text, is_text) = match value {
            Json::String(text) => (text.clone(), true),
            other => (other.to_string(), false),
        };
        let beginning: String = text.chars().take(MAX_INLINE_CHARS).collect();
        let mut shown = match is_text {
            true => visible::word(&beginning),
            false => visible(&beginning),
        };
        if beginning.len() < text.len() {
            // What cannot be seen must not be taken for all there is.
            shown.push('…');
        }
        format!("{}={shown}", visible::word(name))
    };
    fields.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_in_both_languages() {
        let yes = |remember| Understood::Answer(Short::Yes(remember));
        let no = |why: &str| Understood::Answer(Short::No(why.to_owned()));
        for (said, expected) in [
            ("y", yes(Remember::Once)),
            (" YES ", yes(Remember::Once)),
            ("是", yes(Remember::Once)),
            ("r", yes(Remember::Run)),
            ("A", yes(Remember::Always)),
            ("始终", yes(Remember::Always)),
            ("n", no("")),
            ("", no("")),
            ("n it is late", no("it is late")),
            ("No  not now ", no("not now")),
            ("e", Understood::Edit(String::new())),
            (
                r#"e  {"formula": "1d1"} "#,
                Understood::Edit(r#"{"formula": "1d1"}"#.to_owned()),
            ),
            ("y but not there", Understood::Nothing),
            ("maybe", Understood::Nothing),
        ] {
            assert_eq!(understand(said, true), expected, "{said:?}");
        }
        assert_eq!(understand("e", false), Understood::Nothing);
    }

    #[test]
    fn whoever_says_something_else_is_told_what_is_understood() {
        for (may_edit, lang, parts) in [
            (
                true,
                Lang::En,
                ["'bogus\\u{202e}' is no answer", "e may be"],
            ),
            (false, Lang::En, ["is no answer: y, r", "n may be"]),
            (true, Lang::Zh, ["“bogus\\u{202e}”不是回答", "e 之后"]),
            (false, Lang::Zh, ["不是回答：y", "n 之后"]),
        ] {
            let told = not_understood(" bogus\u{202e} ", may_edit, lang);
            for part in parts {
                assert!(told.contains(part), "no {part:?} in {told}");
            }
            let speaks_of_edit = told.contains("e may") || told.contains("e 之后");
            assert_eq!(speaks_of_edit, may_edit, "{told}");
        }
    }

    #[test]
    fn arguments_may_stand_behind_the_word() {
        assert_eq!(arguments(r#"{"a": 1}"#, Lang::En).unwrap()["a"], 1);
        for (text, lang, told) in [
            ("[1]", Lang::En, "no JSON object"),
            ("{", Lang::Zh, "不是 JSON 对象"),
        ] {
            let error = arguments(text, lang).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }

    fn question(arguments: Json) -> Question {
        serde_json::from_value(serde_json::json!({
            "tool": "File.Delete", "source": "builtin", "arguments": arguments, "rule": "careful",
            "user": "default", "actor": "agent:a", "project": "default",
        }))
        .unwrap()
    }

    #[test]
    fn nothing_is_hidden_in_what_is_asked() {
        let asked = question(serde_json::json!({
            "file_path": "notes/\u{202e}dm.a\u{200b} x=1\n", "count": 5,
        }));
        assert_eq!(
            in_short(&asked),
            r#"file_path="notes/\u202edm.a\u200b x=1\n" count=5"#
        );
        let about = About {
            name: "File.Delete",
            caller: None,
            question: Some(&asked),
            reason: Some("new\u{2066}"),
        };
        let told = about.told(Lang::En, |arguments| arguments);
        assert!(told.contains(r#""notes/\u202edm.a\u200b x=1\n""#), "{told}");
        assert!(told.contains("(new\\u{2066})"), "{told}");
        let hidden = |c: char| c != '\n' && visible::is_hidden(c);
        assert!(!told.contains(hidden), "{told}");
    }

    #[test]
    fn a_call_is_named_by_what_can_be_typed() {
        let asked = |call: &str| PendingApproval {
            run_id: "run_1".into(),
            call_id: call.into(),
            approval_id: "approval_1".to_owned(),
            invocation_id: InvocationId::root(),
            name: "x".to_owned(),
            reason: None,
            asked_at: jiff::Timestamp::UNIX_EPOCH,
            expires_at: None,
            decisions: Vec::new(),
            question: None,
        };
        for (call, named) in [
            ("call_1_1", "call_1_1"),
            ("toolu_01AB-c.2:3", "toolu_01AB-c.2:3"),
            ("x; rm -rf ~", "approval_1"),
            ("--deny", "approval_1"),
            ("a\u{200b}", "approval_1"),
            ("", "approval_1"),
        ] {
            assert_eq!(place(&asked(call)), named, "{call:?}");
        }
    }
}
