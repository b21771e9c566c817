//! A question of a run at the terminal: what is shown of it, and how an answer is read.

use std::io;

use innkeeper_agent::instance::{ApproveToolCall, PendingApproval};
use innkeeper_agent::run::{Question, Remember};
use serde_json::{Map, Value as Json};

use crate::approve::{TURN, cut};
use crate::ask;
use crate::failure::shown;
use crate::lang::Lang;
use crate::limits::{MAX_INLINE_CHARS, MAX_WRONG_ANSWERS};
use crate::typed::{self, Lines};

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
        Some(complaint) => format!("{}\n{}", complaint, told(asked, name, lang)),
        None => told(asked, name, lang),
    });
    for _ in 0..MAX_WRONG_ANSWERS {
        prompted(text.take(), prompt).await?;
        let Some(said) = lines.next().await? else {
            return Ok(None);
        };
        match understand(&said, may_edit) {
            Understood::Answer(answer) => return Ok(Some(answer.of(asked, lang))),
            Understood::Edit => match edited(&mut lines, lang).await? {
                Ok(arguments) => {
                    let answer = approval(asked, true);
                    return Ok(Some(ApproveToolCall {
                        arguments: Some(arguments),
                        ..answer
                    }));
                }
                Err(why) => text = Some(why),
            },
            Understood::Nothing => {}
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

async fn edited(lines: &mut Lines, lang: Lang) -> io::Result<Result<Map<String, Json>, String>> {
    let prompt = lang.pick(
        "All arguments as one line of JSON (what you leave as it was shown stays as it is): ",
        "用一行 JSON 写出全部参数（保持显示原样的值不会改变）：",
    );
    prompted(None, prompt).await?;
    let line = lines.next().await?.unwrap_or_default();
    Ok(serde_json::from_str(&line).map_err(|error| {
        lang.pick(
            format!("That is no JSON object: {error}"),
            format!("不是 JSON 对象：{error}"),
        )
    }))
}

#[derive(Debug, PartialEq, Eq)]
enum Understood {
    Answer(Short),
    Edit,
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
        "e" | "edit" | "改" if may_edit && rest.is_empty() => Understood::Edit,
        "" | "n" | "no" | "否" => Understood::Answer(Short::No(rest.trim().to_owned())),
        _ => Understood::Nothing,
    }
}

/// All that one has to know to decide. Foreign words are made harmless where they are shown.
fn told(asked: &PendingApproval, name: &str, lang: Lang) -> String {
    let Some(question) = asked.question.as_deref() else {
        return lang.pick(
            format!("\n{name}{} waits for approval", shown(&asked.name)),
            format!("\n{name}{} 等待批准", shown(&asked.name)),
        );
    };
    let arguments = serde_json::to_string_pretty(&question.arguments).unwrap_or_default();
    let (tool, source) = (shown(&question.tool), shown(&question.source));
    let (actor, rule) = (shown(&question.actor), shown(&question.rule));
    let mut text = lang.pick(
        format!("\n{name}{actor} wants to call {tool} (from {source}) with\n"),
        format!("\n{name}{actor} 想调用 {tool}（来自 {source}），参数为\n"),
    );
    text.push_str(&cut(&arguments, lang));
    text.push_str(&lang.pick(
        format!("\nThe rule that asks: {rule}"),
        format!("\n要求询问的规则：{rule}"),
    ));
    if let Some(reason) = &asked.reason {
        text.push_str(&format!(" ({})", shown(reason)));
    }
    text
}

/// Arguments in a line of a table.
pub(super) fn in_short(question: &Question) -> String {
    let Json::Object(fields) = &question.arguments else {
        return String::new();
    };
    let one = |(name, value): (&String, &Json)| {
        let value = match value {
            Json::String(text) => text.replace(['\r', '\n', '\t'], " "),
            other => other.to_string(),
        };
        let mut shown: String = value.chars().take(MAX_INLINE_CHARS).collect();
        if shown.len() < value.len() {
            // What cannot be seen must not be taken for all there is.
            shown.push('…');
        }
        format!("{name}={shown}")
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
            ("e", Understood::Edit),
            ("y but not there", Understood::Nothing),
            ("maybe", Understood::Nothing),
        ] {
            assert_eq!(understand(said, true), expected, "{said:?}");
        }
        assert_eq!(understand("e", false), Understood::Nothing);
    }
}
