//! Laws of what gives way: for all conversations, in all dialects, with any room.

use std::collections::BTreeSet;
use std::sync::Arc;

use innkeeper_protocol::Locale;
use innkeeper_protocol::event::Presentation;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::limits::MIN_SUMMARY_TOKENS;
use crate::run::testing::created;
use crate::run::{Created, Input};

fn begun(messages: Vec<Json>, keep_first: u32) -> Created {
    let changes = json!({"agent": {"compaction": {"keepFirst": keep_first}}});
    let Input::Created(first) = created(Presentation::Background, changes) else {
        panic!("no beginning");
    };
    Created {
        messages,
        is_snapshot: true,
        ..(*first).clone()
    }
}

/// Messages with numbers, so that each is known again.
struct Book {
    next: usize,
}

impl Book {
    fn text(&mut self, words: u8) -> String {
        self.next += 1;
        format!("#{} {}", self.next, "word ".repeat(usize::from(words)))
    }

    fn say(&mut self, role: &str, words: u8) -> Json {
        json!({"role": role, "content": self.text(words)})
    }

    /// What one round adds.
    fn round(&mut self, (kind, words, guided): (u8, u8, bool)) -> Vec<Json> {
        let mut added = match kind % 6 {
            0 | 1 => {
                let count = usize::from(kind / 6 % 3) + 1;
                let from = self.next;
                let ids: Vec<String> = (0..count).map(|at| format!("c{from}_{at}")).collect();
                let calls: Vec<Json> = ids
                    .iter()
                    .map(|id| json!({"id": id, "type": "function", "function": {"name": "t", "arguments": "{}"}}))
                    .collect();
                let mut all = vec![
                    json!({"role": "assistant", "content": self.text(1), "tool_calls": calls}),
                ];
                for id in ids {
                    let content = self.text(words);
                    all.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
                }
                if kind % 6 == 1 {
                    // What ended in the background.
                    all.push(self.say("user", 3));
                }
                all
            }
            2 => {
                let call = format!(
                    "{}<|[REQUEST_TOOL]|>\ncommand:»»»t«««\n<|[END_TOOL]|>",
                    self.text(2)
                );
                vec![
                    json!({"role": "assistant", "content": call}),
                    self.say("user", words),
                ]
            }
            3 => {
                let call = format!("{}<ACTION><t><n>1</n></t></ACTION>", self.text(2));
                vec![
                    json!({"role": "assistant", "content": call}),
                    self.say("user", words),
                ]
            }
            4 => vec![self.say("assistant", words)],
            _ => vec![self.say("assistant", words), self.say("user", 2)],
        };
        if guided {
            let text = self.text(4);
            added.push(guidance([text.as_str()]));
        }
        added
    }
}

fn number(message: &Json) -> usize {
    let text = message["content"].as_str().unwrap();
    let from = text.find('#').unwrap() + 1;
    let digits: String = text[from..]
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap()
}

fn has_text_call(message: &Json) -> bool {
    let text = message["content"].as_str().unwrap_or_default();
    message["role"] == "assistant" && (text.contains("REQUEST_TOOL") || text.contains("<ACTION>"))
}

/// Each native call has its result in the messages that follow it, each result its call before it, and each call in the text
/// its observation behind it.
fn check_pairs(messages: &[Arc<Json>], observed: &BTreeSet<(usize, usize)>) {
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap();
            let at = open.iter().position(|open| open == id);
            open.remove(at.unwrap_or_else(|| panic!("{id} answers nothing")));
            continue;
        }
        if message["role"] == "assistant" {
            assert!(open.is_empty(), "{open:?} are not answered");
            let calls = message["tool_calls"].as_array();
            let ids = calls.into_iter().flatten();
            open.extend(ids.map(|call| call["id"].as_str().unwrap().to_owned()));
        }
    }
    assert!(open.is_empty(), "{open:?} are not answered");
    let said: Vec<&Arc<Json>> = messages.iter().filter(|one| !is_summary(one)).collect();
    let there: BTreeSet<usize> = said.iter().map(|message| number(message)).collect();
    for (call, observation) in observed {
        assert_eq!(there.contains(call), there.contains(observation), "{call}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_torn_and_nothing_is_lost(
        history in proptest::collection::vec((any::<u8>(), 0..60u8, Just(false)), 0..8),
        rounds in proptest::collection::vec((any::<u8>(), 0..120u8, any::<bool>()), 0..40),
        budget in 120..2_000u64,
        keep_rounds in 1..4usize,
        keep_first in 0..3u32,
        beside in 0..60u64,
    ) {
        let mut book = Book { next: 0 };
        let mut opening = vec![book.say("system", 6)];
        for round in &history {
            opening.extend(book.round(*round));
        }
        opening.push(book.say("user", 8));
        let created = begun(opening.clone(), keep_first);
        let mut all: Vec<Arc<Json>> = opening.into_iter().map(Arc::new).collect();
        let mut sent = all.clone();
        let mut gone: Vec<Arc<Json>> = Vec::new();
        let mut observed = BTreeSet::new();
        let room = Room { budget, beside, summary: 30, least: 20, rounds: keep_rounds };
        let mut cuts = 0;
        for at in 0..=rounds.len() {
            if at > 0 {
                let added: Vec<_> = book.round(rounds[at - 1]).into_iter().map(Arc::new).collect();
                all.extend(added.iter().cloned());
                sent.extend(added);
            }
            for pair in all.windows(2).filter(|pair| has_text_call(&pair[0])) {
                observed.insert((number(&pair[0]), number(&pair[1])));
            }
            let before = sent.clone();
            let talk = Talk::of(&created, &before);
            if talk.tokens() + beside <= budget {
                continue;
            }
            let Some(cut) = talk.cut(&room) else {
                // Nothing but what must stay, and what a summary would not be shorter than.
                let last = talk.messages.iter().rposition(|one| one["role"] == "assistant");
                let asked = talk.asked.unwrap();
                let latest = last.filter(|last| *last > asked).unwrap_or(asked);
                let free: u64 = (0..latest).filter(|at| !talk.pins[*at]).map(|at| talk.weights[at]).sum();
                prop_assert!(free <= room.summary, "{free} could have given way");
                continue;
            };
            cuts += 1;
            let what = Dropping { first: 0, count: 1, tools: "", can_read: false, locale: Locale::En };
            // As long as a note of this size.
            let mut message = summary("short", &what);
            message["content"] = json!("<conversation_summary>\n\nx y z</conversation_summary>");
            let pinned: Vec<_> = (0..sent.len()).filter(|at| talk.pins[*at]).collect();
            let after = cut.tokens_after;
            sent = shortened(&before, cut.up_to, &cut.kept, &Arc::new(message));
            // What is pinned is there, word for word.
            for at in pinned {
                prop_assert!(sent.iter().any(|one| Arc::ptr_eq(one, &before[at])), "{at}");
            }
            prop_assert!(sent.contains(&all[0]) && sent.iter().any(|one| **one == *created.messages.last().unwrap()));
            let is_said = |one: &&Arc<Json>| one["content"].as_str().unwrap().contains("<user_guidance>");
            prop_assert_eq!(all.iter().filter(is_said).count(), sent.iter().filter(is_said).count());
            // It is as short as was said.
            let tokens: u64 = sent.iter().map(|one| tokens(one)).sum();
            prop_assert!(tokens + beside <= after, "{tokens} + {beside} are more than {after}");
            // In large steps: at least half is free, or nothing more could be done.
            prop_assert!(after < talk.tokens() + beside);
            gone.extend(before.iter().take(cut.up_to).enumerate()
                .filter(|(at, one)| !cut.kept.contains(at) && !is_summary(one))
                .map(|(_, one)| one.clone()));
            // The last round is whole.
            let last = before.iter().rposition(|one| one["role"] == "assistant");
            if let Some(last) = last.filter(|last| *last > talk.asked.unwrap()) {
                prop_assert!(cut.up_to <= last);
            }
            prop_assert_eq!(sent.iter().filter(|one| is_summary(one)).count(), 1);
        }
        check_pairs(&sent, &observed);
        // In their order.
        let numbers: Vec<_> = sent.iter().filter(|one| !is_summary(one)).map(|one| number(one)).collect();
        prop_assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
        // Each message is either sent or kept aside, once.
        let mut found: Vec<_> = numbers.into_iter().chain(gone.iter().map(|one| number(one))).collect();
        found.sort_unstable();
        let expected: Vec<_> = all.iter().map(|one| number(one)).collect();
        prop_assert_eq!(found, expected);
        prop_assert!(cuts <= rounds.len() + 1);
    }
}

/// What a request has at least: everything is tried.
fn least_of(talk: &Talk<'_>, room: &Room) -> u64 {
    let last = talk
        .messages
        .iter()
        .rposition(|one| one["role"] == "assistant");
    let asked = talk.asked.unwrap();
    let latest = last.filter(|last| *last > asked).unwrap_or(asked);
    let borders = (0..=latest).filter(|at| !talk.joined[*at]);
    let stays = borders.map(|border| {
        let is_there = |at: &usize| *at >= border || talk.pins[*at];
        let there = (0..talk.messages.len()).filter(is_there);
        there.map(|at| tokens(&talk.messages[at])).sum::<u64>()
    });
    stays.min().unwrap() + room.beside + room.least
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_can_fit_does(
        rounds in proptest::collection::vec((any::<u8>(), 0..120u8, any::<bool>()), 1..24),
        budget in 150..2_500u64,
        keep_rounds in 1..6usize,
        beside in 0..60u64,
        replies in proptest::collection::vec(0..600usize, 24),
        zh in any::<bool>(),
    ) {
        let locale = if zh { Locale::Zh } else { Locale::En };
        let mut book = Book { next: 0 };
        let opening = vec![book.say("system", 6), book.say("user", 8)];
        let created = begun(opening.clone(), 0);
        let mut sent: Vec<Arc<Json>> = opening.into_iter().map(Arc::new).collect();
        let mut observed = BTreeSet::new();
        let mut gone = 0;
        for (round, reply) in rounds.into_iter().zip(replies) {
            sent.extend(book.round(round).into_iter().map(Arc::new));
            for pair in sent.windows(2).filter(|pair| has_text_call(&pair[0]) && !is_summary(&pair[1])) {
                observed.insert((number(&pair[0]), number(&pair[1])));
            }
            let talk = Talk::of(&created, &sent);
            if talk.tokens() + beside <= budget {
                continue;
            }
            let what = |count: usize| Dropping { first: gone, count: count as u64, tools: "", can_read: true, locale };
            let around = tokens(&summary("", &what(sent.len())));
            let least = around + MIN_SUMMARY_TOKENS;
            let room = Room { budget, beside, summary: least.max(around + budget / 8), least, rounds: keep_rounds };
            let cut = talk.cut(&room);
            let must = least_of(&talk, &room);
            prop_assert_eq!(talk.must_stay(&room), must.min(talk.tokens() + beside));
            if must > budget {
                prop_assert!(cut.is_none_or(|cut| cut.tokens_after > budget));
                break;
            }
            let cut = cut.unwrap();
            prop_assert!(cut.summary >= least && cut.tokens_after <= budget, "{cut:?} in {budget}");
            // A model keeps to what it was asked for, or not.
            let words = "word, 字 ".repeat(reply);
            let count = cut.up_to - cut.kept.len();
            let fitting = cut_words(&words, &what(count), cut.at_most(budget));
            let message = summary(&fitting.unwrap_or(words), &what(count));
            gone += count as u64;
            let next = shortened(&sent, cut.up_to, &cut.kept, &Arc::new(message));
            let all: u64 = next.iter().map(|one| tokens(one)).sum();
            prop_assert!(all + beside <= budget, "{all} + {beside} are more than {budget}");
            check_pairs(&next, &observed);
            sent = next;
        }
    }
}

#[test]
fn a_summary_that_is_too_long_loses_its_middle() {
    for locale in [Locale::En, Locale::Zh] {
        let what = Dropping {
            first: 90,
            count: 10,
            tools: "",
            can_read: true,
            locale,
        };
        let around = tokens(&summary("", &what));
        let words = format!("BEGIN {} END", "word ".repeat(400));
        for room in [MIN_SUMMARY_TOKENS, 100, 300] {
            let cut = cut_words(&words, &what, around + room).unwrap();
            assert!(
                cut.starts_with("BEGIN") && cut.ends_with("END"),
                "{room} {cut}"
            );
            let long = tokens(&summary(&cut, &what));
            assert!(long <= around + room && long + 6 > around + room, "{room}");
        }
        assert_eq!(cut_words(&words, &what, around + 2_000), None);
        // Not even the mark would fit; nothing is shorter.
        assert!(cut_words(&words, &what, 1).unwrap().chars().count() < 50);
    }
}

#[test]
fn rounds_that_should_stay_give_way_one_by_one() {
    let page = "word ".repeat(100);
    let mut talk = said(&[("system", "rules"), ("user", "go")]);
    for _ in 0..6 {
        talk.extend(said(&[("assistant", "more"), ("user", &page)]));
    }
    let created = begun(vec![json!({"role": "user", "content": "go"})], 0);
    let talk = Talk::of(&created, &talk);
    let round = talk.weights[2] + talk.weights[3];
    let fixed = talk.weights[0] + talk.weights[1];
    let cut = |budget: u64| {
        let room = Room {
            budget,
            beside: 0,
            summary: 60,
            least: 50,
            rounds: 3,
        };
        let cut = talk.cut(&room).filter(|cut| cut.tokens_after <= budget);
        cut.map(|cut| ((talk.messages.len() - cut.up_to) / 2, cut.summary))
    };
    assert_eq!(cut(fixed + 3 * round + 60), Some((3, 60)));
    assert_eq!(cut(fixed + 3 * round + 59), Some((2, 60)));
    assert_eq!(cut(fixed + round + 60), Some((1, 60)));
    assert_eq!(cut(fixed + round + 55), Some((1, 55)));
    assert_eq!(cut(fixed + round + 49), None);
}

fn said(lines: &[(&str, &str)]) -> Vec<Arc<Json>> {
    let one = |(role, text): &(&str, &str)| Arc::new(json!({"role": role, "content": text}));
    lines.iter().map(one).collect()
}

#[test]
fn results_belong_to_their_calls() {
    let call = "<ACTION><t><n>1</n></t></ACTION>";
    let mut talk = said(&[
        ("system", "rules"),
        ("user", "go"),
        ("assistant", call),
        ("user", "Observation: one"),
        ("user", "<user_guidance>\nfaster\n</user_guidance>"),
        ("assistant", "hm"),
        ("user", "call a tool"),
        ("assistant", "calls"),
        ("tool", "two"),
        ("user", "Observation: three"),
        ("user", "four"),
    ]);
    let mut native = Json::clone(&talk[7]);
    native["tool_calls"] = json!([{"id": "a", "function": {"name": "t"}}]);
    talk[7] = Arc::new(native);
    let created = begun(vec![json!({"role": "user", "content": "go"})], 0);
    let talk = Talk::of(&created, &talk);
    let marks = |marks: &[bool]| -> String {
        marks
            .iter()
            .map(|mark| if *mark { '+' } else { '-' })
            .collect()
    };
    assert_eq!(marks(&talk.joined), "---+----++-");
    assert_eq!(marks(&talk.pins), "++--+------");
    assert_eq!(talk.asked, Some(1));
}

#[test]
fn a_note_says_what_is_known_without_a_model() {
    let mut talk = said(&[
        ("user", "go"),
        (
            "assistant",
            "<ACTION><file_read><path>a</path></file_read></ACTION>",
        ),
        ("user", "Observation: words"),
        ("assistant", "again"),
    ]);
    let mut native = Json::clone(&talk[3]);
    native["tool_calls"] =
        json!([{"id": "a", "function": {"name": "dice.roll", "arguments": "{}"}}]);
    talk[3] = Arc::new(native);
    let what = Dropping {
        first: 3,
        count: 4,
        tools: "",
        can_read: true,
        locale: Locale::En,
    };
    talk.insert(0, Arc::new(summary("Ann has the key.", &what)));
    let said = note(&talk, ["output/a.md"], 2_000, Locale::En);
    assert_eq!(
        said,
        "Ann has the key.\nTools that were called: dice.roll ×1, file_read ×1.\nFiles of the workspace: output/a.md."
    );
    let message = summary(&said, &what);
    assert!(is_summary(&message));
    let text = message["content"].as_str().unwrap();
    assert!(
        text.contains("7 earlier messages") && text.contains("numbers 0 to 6"),
        "{text}"
    );
    let short = note(&talk, ["output/a.md"], 20, Locale::Zh);
    assert!(short.chars().count() < 40, "{short}");
}

#[test]
fn what_is_summarised_fits_whoever_summarises() {
    let long = "word ".repeat(20_000);
    let talk = said(&[("user", "first"), ("assistant", &long), ("user", "last")]);
    for most in [500, 5_000, 100_000] {
        for locale in [Locale::En, Locale::Zh] {
            let asked = summary_request(&talk, 100, most, locale);
            assert!(
                asked[1]["content"].as_str().unwrap().contains("last"),
                "{most}"
            );
            let all: u64 = asked.iter().map(tokens).sum();
            assert!(all <= most, "{all} of {most}");
        }
    }
    let asked = summary_request(&talk, 100, 100_000, Locale::Zh);
    assert!(asked[0]["content"].as_str().unwrap().contains("100"));
}

#[test]
fn lengths_alone_tell_what_is_surely_short() {
    for message in [
        json!({"role": "user", "content": "0123456789 ".repeat(50)}),
        json!({"role": "user", "content": "银钥匙在哪里？".repeat(50)}),
        json!({"role": "user", "content": "🗝".repeat(50)}),
        json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "t", "arguments": "{\"n\": 123456789}"}}]}),
        json!({"role": "user", "content": [{"type": "text", "text": "x"},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}),
    ] {
        assert!(at_most([&message]) >= tokens(&message), "{message}");
    }
}
