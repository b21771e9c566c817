//! Who answers where a rule says to ask: the person at the terminal, somebody who has answered already, or nobody.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_tools::policy::{Answer, ApprovalRequest, Approver, Nobody};
use tokio::sync::Mutex;

use crate::ask;
use crate::failure::Said;
use crate::lang::Lang;
use crate::limits::{MAX_ASKED_CHARS, MAX_INLINE_CHARS, MAX_WRONG_ANSWERS};
use crate::output::Screen;
use crate::typed;
use crate::visible::{self, visible};

/// Calls may run side by side, and so may runs; a person reads one question after the other.
pub(crate) static TURN: Mutex<()> = Mutex::const_new(());

/// How questions of this command are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approve {
    /// `--yes`, or the person typed this very call.
    Answered,
    /// At the terminal, if there is one.
    Person,
    /// Standard input is taken.
    Nobody,
}

impl Approve {
    pub(crate) fn approver(self, screen: &Screen) -> Arc<dyn Approver> {
        match self {
            Self::Answered => Arc::new(Answered),
            Self::Person if ask::somebody_is_there() => Arc::new(AtTerminal { lang: screen.lang }),
            Self::Person | Self::Nobody => Arc::new(Nobody),
        }
    }
}

struct Answered;

#[async_trait]
impl Approver for Answered {
    async fn ask(&self, _: &ApprovalRequest) -> Answer {
        Answer::Once
    }
}

struct AtTerminal {
    lang: Lang,
}

#[async_trait]
impl Approver for AtTerminal {
    async fn ask(&self, request: &ApprovalRequest) -> Answer {
        let _turn = TURN.lock().await;
        let question = question(request, self.lang);
        let lang = self.lang;
        let asking = ask::Asking::begin();
        let answered = put(question, lang).await;
        asking.answered();
        answered.unwrap_or_else(|_| refusal(lang))
    }
}

/// Asks until there is an answer, but not for ever.
async fn put(question: String, lang: Lang) -> io::Result<Answer> {
    let prompt = lang.pick(
        "Allow? [y]es once, [r]un, [a]lways, [N]o: ",
        "允许吗？[y] 仅这次，[r] 本次运行，[a] 始终，[N] 不允许：",
    );
    ask::forget_typed();
    let mut lines = typed::answers()?;
    let mut shown = Some(question);
    for _ in 0..MAX_WRONG_ANSWERS {
        let question = shown.take();
        // A terminal that was stopped holds up whoever writes to it.
        let told = tokio::task::spawn_blocking(move || {
            if let Some(question) = question {
                ask::show(&question);
            }
            ask::prompt(prompt)
        });
        told.await.map_err(io::Error::other)??;
        match lines.next().await? {
            Some(said) => match understand(&said) {
                Some(answer) => return Ok(answer.unwrap_or_else(|| refusal(lang))),
                None => shown = Some(not_understood(&said, lang)),
            },
            None => break,
        }
    }
    Ok(refusal(lang))
}

/// What somebody has typed, as far as it is worth repeating. Nothing in it is hidden.
pub(crate) fn quoted(said: &str) -> String {
    let said = said.trim();
    let mut quoted: String = said.chars().take(MAX_INLINE_CHARS).collect();
    if quoted.len() < said.len() {
        quoted.push('…');
    }
    visible(&quoted)
}

/// What can be said instead.
fn not_understood(said: &str, lang: Lang) -> String {
    let said = quoted(said);
    lang.pick(
        format!("'{said}' is no answer: say y, r, a or n"),
        format!("“{said}”不是回答：请输入 y、r、a 或 n"),
    )
}

/// `None`: that was no answer. `Some(None)`: no.
fn understand(said: &str) -> Option<Option<Answer>> {
    Some(match said.trim().to_lowercase().as_str() {
        "y" | "yes" | "是" => Some(Answer::Once),
        "r" | "run" => Some(Answer::Run),
        "a" | "always" | "始终" => Some(Answer::Always),
        "" | "n" | "no" | "否" => None,
        _ => return None,
    })
}

/// The model reads this.
fn refusal(lang: Lang) -> Answer {
    Answer::Deny {
        reason: lang.pick("the person said no", "用户没有允许").to_owned(),
    }
}

/// All that one has to know to decide. Nothing in it is hidden.
fn question(request: &ApprovalRequest, lang: Lang) -> String {
    let arguments = visible::json(&request.arguments);
    let (tool, source) = (visible(&request.tool), visible(&request.source));
    let (actor, rule) = (visible(&request.caller.actor), visible(&request.rule));
    let mut text = lang.pick(
        format!("\n{actor} wants to call {tool} (from {source}) with\n"),
        format!("\n{actor} 想调用 {tool}（来自 {source}），参数为\n"),
    );
    text.push_str(&cut(&arguments, lang));
    text.push_str(&lang.pick(
        format!("\nThe rule that asks: {rule}"),
        format!("\n要求询问的规则：{rule}"),
    ));
    if let Some(reason) = &request.reason {
        let reason = visible(Said::of(reason).pick(lang));
        text.push_str(&lang.pick(format!(" ({reason})"), format!("（{reason}）")));
    }
    text
}

/// What is left out is said, so that nothing hides behind a long beginning.
pub(crate) fn cut(text: &str, lang: Lang) -> String {
    let Some((end, _)) = text.char_indices().nth(MAX_ASKED_CHARS) else {
        return text.to_owned();
    };
    let (beginning, rest) = text.split_at(end);
    let more = rest.chars().count();
    let note = lang.pick(
        format!("… and {more} more characters that are not shown"),
        format!("……另有 {more} 个字符未显示"),
    );
    format!("{beginning}\n{note}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_in_both_languages() {
        for (said, expected) in [
            ("y", Some(Some(Answer::Once))),
            (" YES ", Some(Some(Answer::Once))),
            ("是", Some(Some(Answer::Once))),
            ("r", Some(Some(Answer::Run))),
            ("A", Some(Some(Answer::Always))),
            ("始终", Some(Some(Answer::Always))),
            ("n", Some(None)),
            ("", Some(None)),
            ("maybe", None),
        ] {
            assert_eq!(understand(said), expected, "{said:?}");
        }
    }

    #[test]
    fn what_is_cut_is_counted() {
        let whole = "x".repeat(MAX_ASKED_CHARS);
        assert_eq!(cut(&whole, Lang::En), whole);
        let said = cut(&format!("{whole}yz"), Lang::En);
        assert!(said.contains("2 more characters"), "{said}");
    }
}
