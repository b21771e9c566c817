//! What is waited for before a reply begins, as its channels tell, and the report when it is over.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use innkeeper_models::{CallReport, CallStep, ReportSink};

use crate::failure::message;
use crate::lang::Lang;
use crate::limits::WAITING_UNSAID;

/// Hears a call: its steps until the first piece, and its report.
pub(super) struct Heard {
    began: Instant,
    step: Mutex<Option<(CallStep, Instant)>>,
    report: Mutex<Option<CallReport>>,
}

impl Default for Heard {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            step: Mutex::default(),
            report: Mutex::default(),
        }
    }
}

impl Heard {
    pub(super) fn take(&self) -> Option<CallReport> {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.take()
    }

    /// What is waited for at that moment; nothing as long as nobody wonders.
    pub(super) fn waits_for(&self, now: Instant, lang: Lang) -> Option<String> {
        let waited = now.saturating_duration_since(self.began);
        let step = self.step.lock().unwrap_or_else(PoisonError::into_inner);
        let first = |seconds: u64| {
            lang.pick(
                format!("waiting for the first token… {seconds} s"),
                format!("等待首个词元……{seconds} 秒"),
            )
        };
        match &*step {
            Some((
                CallStep::Waits {
                    attempt,
                    pause,
                    why,
                    ..
                },
                since,
            )) => {
                let left = (*since + *pause).saturating_duration_since(now);
                let (seconds, why) = (rounded_up(left), message(why));
                Some(lang.pick(
                    format!("attempt {attempt} in {seconds} s: {why}"),
                    format!("{seconds} 秒后第 {attempt} 次尝试：{why}"),
                ))
            }
            Some((
                CallStep::Asks {
                    channel,
                    model,
                    attempt: attempt @ 2..,
                },
                _,
            )) => {
                let (who, waits) = (
                    message(&format!("{channel}/{model}")),
                    first(waited.as_secs()),
                );
                Some(lang.pick(
                    format!("attempt {attempt}, {who}: {waits}"),
                    format!("第 {attempt} 次尝试，{who}：{waits}"),
                ))
            }
            _ => (waited >= WAITING_UNSAID).then(|| first(waited.as_secs())),
        }
    }
}

fn rounded_up(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

impl ReportSink for Heard {
    fn report(&self, report: CallReport) {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
    }

    fn step(&self, step: CallStep) {
        let now = Instant::now();
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = Some((step, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_is_said_as_it_changes() {
        let began = Instant::now();
        let heard = Heard {
            began,
            ..Heard::default()
        };
        let at = |seconds: f64| began + Duration::from_secs_f64(seconds);
        let said = |seconds| heard.waits_for(at(seconds), Lang::En);
        let step = |step, seconds| *heard.step.lock().unwrap() = Some((step, at(seconds)));
        let asks = |attempt| CallStep::Asks {
            channel: "k2".into(),
            model: "m".into(),
            attempt,
        };
        assert_eq!(said(0.5), None);
        assert_eq!(said(5.2).unwrap(), "waiting for the first token… 5 s");
        step(asks(1), 0.1);
        assert_eq!(said(0.5), None);
        assert_eq!(said(2.0).unwrap(), "waiting for the first token… 2 s");
        let waits = CallStep::Waits {
            channel: "k2".into(),
            attempt: 2,
            pause: Duration::from_secs(5),
            why: "k2 answered 429\u{7}".into(),
        };
        step(waits, 3.0);
        assert_eq!(
            said(3.5).unwrap(),
            "attempt 2 in 5 s: k2 answered 429\\u{7}"
        );
        assert_eq!(
            said(9.0).unwrap(),
            "attempt 2 in 0 s: k2 answered 429\\u{7}"
        );
        assert_eq!(
            heard.waits_for(at(4.5), Lang::Zh).unwrap(),
            "4 秒后第 2 次尝试：k2 answered 429\\u{7}"
        );
        step(asks(2), 8.0);
        assert_eq!(
            said(8.5).unwrap(),
            "attempt 2, k2/m: waiting for the first token… 8 s"
        );
    }
}
