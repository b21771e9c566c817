//! What the models of one command have used: calls, tokens and money, as their channels tell when a call is over.
//!
//! Attempts that failed count too: they are paid for. The rehearsal has no channel and uses nothing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use innkeeper_models::{CallOutcome, CallReport, ReportSink, Usage};
use serde_json::{Value as Json, json};

use crate::limits::MAX_COUNTED_MODELS;

#[derive(Default)]
pub(crate) struct Tally {
    used: Mutex<Used>,
    rehearsed: AtomicBool,
}

/// The sum over some calls.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Used {
    pub(crate) calls: u64,
    pub(crate) failed: u64,
    pub(crate) attempts: u64,
    /// Calls of which nobody has told any tokens.
    pub(crate) uncounted: u64,
    /// Calls whose tokens are known and whose cost is not.
    pub(crate) unpriced: u64,
    pub(crate) usage: Usage,
    /// The same by channel and model.
    models: BTreeMap<String, Used>,
}

impl Tally {
    pub(crate) fn used(&self) -> Used {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.clone()
    }

    /// The rehearsal has answered where no model was named.
    pub(crate) fn rehearses(&self) {
        self.rehearsed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn rehearsed(&self) -> bool {
        self.rehearsed.load(Ordering::Relaxed)
    }
}

impl ReportSink for Tally {
    fn report(&self, report: CallReport) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.add(&report);
        let name = match (&report.channel, &report.model) {
            (Some(channel), Some(model)) => format!("{channel}/{model}"),
            _ => return,
        };
        let models = &mut used.models;
        if models.contains_key(&name) || models.len() < MAX_COUNTED_MODELS {
            models.entry(name).or_default().add(&report);
        }
    }
}

impl Used {
    fn add(&mut self, report: &CallReport) {
        self.calls += 1;
        self.attempts += u64::from(report.attempts);
        self.failed += u64::from(matches!(report.outcome, CallOutcome::Failed(_)));
        match report.usage {
            Some(usage) => {
                self.unpriced += u64::from(usage.cost.is_none());
                self.usage = self.usage.plus(usage);
            }
            None => self.uncounted += 1,
        }
    }

    /// Nothing where nobody was asked.
    pub(crate) fn json(&self) -> Option<Json> {
        if self.calls == 0 {
            return None;
        }
        let mut told = json!(self.usage);
        told["calls"] = self.calls.into();
        told["failed"] = self.failed.into();
        told["attempts"] = self.attempts.into();
        told["uncounted"] = self.uncounted.into();
        if self.is_partly_priced() {
            told["unpriced"] = self.unpriced.into();
        }
        if !self.models.is_empty() {
            let models = self.models.iter();
            told["models"] = models
                .filter_map(|(name, used)| Some((name.clone(), used.json()?)))
                .collect();
        }
        Some(told)
    }

    /// The cost is that of some calls only. Where none has a price there is no cost that could mislead.
    const fn is_partly_priced(&self) -> bool {
        self.unpriced > 0 && self.usage.cost.is_some()
    }

    /// In one line, in English and in Chinese; nothing where nobody has counted anything.
    pub(crate) fn line(&self) -> Option<[String; 2]> {
        let usage = &self.usage;
        if usage.total_tokens().is_none() && usage.cost.is_none() {
            return None;
        }
        let sent = usage.prompt_tokens.unwrap_or_default();
        let received = usage.completion_tokens.unwrap_or_default();
        let cost = usage.cost.map(|cost| format!("${:.6}", cost.dollars()));
        let (mut english, mut chinese) = (Vec::new(), Vec::new());
        english.push(match self.calls {
            1 => "1 call".to_owned(),
            calls => format!("{calls} calls"),
        });
        chinese.push(format!("调用 {} 次", self.calls));
        if self.failed > 0 {
            english.push(format!("{} failed", self.failed));
            chinese.push(format!("失败 {} 次", self.failed));
        }
        english.push(format!("{sent} tokens sent, {received} received"));
        chinese.push(format!("发送 {sent} 个词元，收到 {received} 个"));
        if self.uncounted > 0 {
            english.push(format!("{} not counted by the server", self.uncounted));
            chinese.push(format!("{} 次服务器没有计数", self.uncounted));
        }
        match cost {
            None => {}
            Some(cost) if self.is_partly_priced() => {
                let unpriced = self.unpriced;
                let calls = if unpriced == 1 {
                    "call has"
                } else {
                    "calls have"
                };
                english.push(format!(
                    "at least {cost} ({unpriced} {calls} no known price)"
                ));
                chinese.push(format!("至少 {cost}（{unpriced} 次调用价格未知）"));
            }
            Some(cost) => {
                english.push(cost.clone());
                chinese.push(cost);
            }
        }
        Some([
            format!("Models: {}", english.join(", ")),
            format!("模型：{}", chinese.join("，")),
        ])
    }
}

#[cfg(test)]
#[path = "tally_tests.rs"]
mod tests;
