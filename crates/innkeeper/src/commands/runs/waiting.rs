//! Which questions of runs wait, and which of them a person means.

use innkeeper_agent::AgentRuntime;
use innkeeper_agent::instance::{PendingApproval, asked_in, pending_at};
use innkeeper_agent::run::{Answer, AnsweredBy};
use innkeeper_protocol::event::{CallId, RunId};
use jiff::Timestamp;

use super::find::{find, reading};
use super::question::{self, About};
use super::words::moment;
use crate::commands::Ended;
use crate::failure::{Failure, RunFault, Said};
use crate::home::Home;
use crate::output::Screen;
use crate::table::Table;
use crate::visible::visible;

pub(super) fn list(run: Option<&str>, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let waiting = reading(home, async |reader| {
        let run = match run {
            Some(run) => Some(find(reader, run).await?),
            None => None,
        };
        let now = Timestamp::now();
        Ok(reader.pending_approvals(run.as_ref(), now).await?)
    })?;
    if screen.json {
        screen.document(&waiting)?;
        return Ok(Ended::Done);
    }
    if waiting.is_empty() {
        screen.note("Nothing waits for an answer", "没有等待回答的调用");
        return Ok(Ended::Done);
    }
    if run.is_some() {
        let all: Vec<String> = waiting.iter().map(|asked| whole(asked, screen)).collect();
        screen.text(&all.join("\n\n"))?;
        return Ok(Ended::Done);
    }
    screen.table(&table(&waiting, screen))?;
    screen.note(
        "innkeeper runs approve RUN --list shows those of a run in full",
        "innkeeper runs approve RUN --list 可完整显示一次运行的询问",
    );
    Ok(Ended::Done)
}

/// All that one has to know to answer.
fn whole(asked: &PendingApproval, screen: &Screen) -> String {
    let about = About {
        name: &asked.name,
        caller: Some(&asked.invocation_id),
        question: asked.question.as_deref(),
        reason: asked.reason.as_deref(),
    };
    let (run, place) = (&asked.run_id, question::place(asked));
    let (call, id) = (visible(asked.call_id.as_str()), &asked.approval_id);
    let since = moment(asked.asked_at);
    let until = match asked.expires_at.map(moment) {
        Some(until) => screen.pick(
            format!(", can be answered until {until}"),
            format!("，可回答至 {until}"),
        ),
        None => String::new(),
    };
    let told = about.told(screen.lang, |arguments| arguments);
    screen.pick(
        format!("{call}  {id}  asked {since}{until}\n{told}\n→ innkeeper runs approve {run} {place}, or --deny"),
        format!("{call}  {id}  询问于 {since}{until}\n{told}\n→ innkeeper runs approve {run} {place}，或加 --deny"),
    )
}

pub(super) fn table(waiting: &[PendingApproval], screen: &Screen) -> Table {
    let headings = screen.pick(
        ["RUN", "CALL", "TOOL", "WITH", "RULE", "UNTIL"],
        ["运行", "调用", "工具", "参数", "规则", "截止"],
    );
    let mut table = Table::new(&headings);
    for asked in waiting {
        let question = asked.question.as_deref();
        table.row([
            asked.run_id.as_str(),
            question::place(asked),
            &visible(question.map_or(asked.name.as_str(), |question| &question.tool)),
            &question.map(question::in_short).unwrap_or_default(),
            &visible(question.map_or("", |question| &question.rule)),
            &asked.expires_at.map(moment).unwrap_or_default(),
        ]);
    }
    table
}

/// The call, and the very question that it waits with. One that does not wait is named as it was given: the run says what
/// is to be said of it.
pub(super) async fn meant(
    runtime: &AgentRuntime,
    run: &RunId,
    given: Option<&str>,
) -> Result<(CallId, Option<String>), Failure> {
    if given.is_none() && runtime.record(run).await?.status.is_terminal() {
        return Err(RunFault::NothingWaits {
            run: run.to_string(),
            why: Some(Said::new("it is over", "它已经结束")),
        }
        .into());
    }
    let (state, now) = (runtime.reader().state(run).await?, Timestamp::now());
    let (waiting, asked) = (pending_at(&state, now), asked_in(&state));
    let found: Vec<&PendingApproval> = match given {
        None => waiting.iter().collect(),
        Some(given) => {
            let exact = |about: &&PendingApproval| {
                [about.call_id.as_str(), &about.approval_id].contains(&given)
            };
            let mut known = asked.iter().map(|(about, _)| about);
            match known.find(exact) {
                Some(found) => vec![found],
                None => waiting
                    .iter()
                    .filter(|asked| is_named(asked, given))
                    .collect(),
            }
        }
    };
    match (found.as_slice(), given) {
        ([only], _) => Ok((only.call_id.clone(), Some(only.approval_id.clone()))),
        ([], Some(given)) => Ok((CallId::new(given), None)),
        ([], None) => Err(RunFault::NothingWaits {
            run: run.to_string(),
            why: newest(&asked).and_then(|(about, answer)| became(about, answer.as_ref(), now)),
        }
        .into()),
        (several, _) => Err(RunFault::SeveralWait {
            run: run.to_string(),
            calls: several
                .iter()
                .map(|asked| format!("{} ({})", question::place(asked), asked.name))
                .collect(),
        }
        .into()),
    }
}

/// As people write it: in any letter case, its beginning, without what all have in common, or by the agent that calls.
fn is_named(asked: &PendingApproval, given: &str) -> bool {
    let given = given.trim().to_lowercase();
    let begins = |name: &str, common: &str| {
        let name = name.to_lowercase();
        let bare = name.strip_prefix(common).unwrap_or(&name);
        name.starts_with(&given) || bare.starts_with(&given)
    };
    let call = asked.call_id.as_str();
    let actor = asked.question.as_ref().map(|question| &question.actor);
    let is_agent = |actor: &str| {
        let actor = actor.to_lowercase();
        actor == given || actor.strip_prefix("agent:") == Some(&given)
    };
    !given.is_empty()
        && (begins(call, "call_")
            || visible(call).to_lowercase() == given
            || begins(&asked.approval_id, "approval_")
            || asked.invocation_id.as_str().to_lowercase() == given
            || actor.is_some_and(|actor| is_agent(actor)))
}

type Became = (PendingApproval, Option<Answer>);

fn newest(asked: &[Became]) -> Option<&Became> {
    asked.iter().max_by_key(|(about, _)| about.asked_at)
}

/// What has become of a question that does not wait; nothing where the run does not ask any more.
fn became(about: &PendingApproval, answer: Option<&Answer>, now: Timestamp) -> Option<Said> {
    let call = format!("{} ({})", question::place(about), visible(&about.name));
    let until = about.expires_at.map(moment).unwrap_or_default();
    let late = || {
        Said::new(
            format!("{call} could be answered until {until} and counts as denied"),
            format!("{call} 只能在 {until} 之前回答，按拒绝处理"),
        )
    };
    let Some(answer) = answer else {
        return about.is_expired(now).then(late);
    };
    Some(match (answer.by, answer.approved) {
        (AnsweredBy::Expiry, _) => late(),
        (AnsweredBy::Person, true) => Said::new(
            format!("{call} was approved before"),
            format!("{call} 此前已批准"),
        ),
        (AnsweredBy::Person, false) => Said::new(
            format!("{call} was denied before"),
            format!("{call} 此前已拒绝"),
        ),
        (AnsweredBy::Run | AnsweredBy::Always, _) => Said::new(
            format!("{call} was approved by an earlier answer"),
            format!("{call} 已由先前的回答批准"),
        ),
        (AnsweredBy::Rule, _) => Said::new(
            format!("a rule has decided about {call} by now"),
            format!("{call} 已由规则决定"),
        ),
        (AnsweredBy::Changed, _) => Said::new(
            format!("the question about {call} was withdrawn"),
            format!("关于 {call} 的询问已撤回"),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(call: &str, approval: &str, invocation: &str) -> PendingApproval {
        PendingApproval {
            run_id: "run_1".into(),
            call_id: call.into(),
            approval_id: approval.to_owned(),
            invocation_id: invocation.into(),
            name: "x".to_owned(),
            reason: None,
            asked_at: Timestamp::UNIX_EPOCH,
            expires_at: None,
            decisions: Vec::new(),
            question: Some(std::sync::Arc::new(
                serde_json::from_value(serde_json::json!({
                    "tool": "x", "source": "s", "arguments": {}, "rule": "r",
                    "user": "u", "actor": "agent:Helper", "project": "p",
                }))
                .unwrap(),
            )),
        }
    }

    #[test]
    fn a_question_is_known_however_it_is_written() {
        let one = asked("call_2_1", "approval_0a1b2c", "inv_002");
        for given in [
            "call_2_1",
            " CALL_2_1 ",
            "2_1",
            "approval_0a1b2c",
            "0A1B",
            "inv_002",
            "helper",
            "agent:Helper",
        ] {
            assert!(is_named(&one, given), "{given:?}");
        }
        for given in ["", " ", "call_3", "approval_1", "inv_00", "help", "x"] {
            assert!(!is_named(&one, given), "{given:?}");
        }
        let hidden = asked("a\u{200b}b", "approval_1", "inv_root");
        assert!(is_named(&hidden, "a\\u{200b}b"));
    }

    #[test]
    fn it_is_said_what_became_of_a_question() {
        use crate::lang::Lang;
        let now = Timestamp::from_second(100).unwrap();
        let about = PendingApproval {
            expires_at: Some(Timestamp::from_second(90).unwrap()),
            ..asked("call_1", "approval_1", "inv_root")
        };
        let answer = |by, approved| Answer {
            approved,
            reason: None,
            remember: Default::default(),
            edit: None,
            by,
        };
        for (given, english) in [
            (None, "until 1970-01-01T00:01:30Z and counts as denied"),
            (Some(answer(AnsweredBy::Expiry, false)), "counts as denied"),
            (
                Some(answer(AnsweredBy::Person, true)),
                "was approved before",
            ),
            (Some(answer(AnsweredBy::Person, false)), "was denied before"),
            (Some(answer(AnsweredBy::Run, true)), "by an earlier answer"),
            (Some(answer(AnsweredBy::Rule, true)), "a rule has decided"),
            (Some(answer(AnsweredBy::Changed, false)), "was withdrawn"),
        ] {
            let said = became(&about, given.as_ref(), now).unwrap();
            let said = said.shown(Lang::En);
            assert!(
                said.contains(english) && said.contains("call_1 (x)"),
                "{said}"
            );
        }
        let early = Timestamp::from_second(80).unwrap();
        assert!(became(&about, None, early).is_none());
    }
}
