//! Settling a verdict: what a rule decides stands; where it asks, an earlier answer counts or a person is asked.
//!
//! A refusal by a rule is final: no answer, stored or given, is looked at for it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use innkeeper_protocol::event::RunId;
use innkeeper_store::{GrantKey, Grants};
use tokio::sync::{OnceCell, watch};

use super::approval::{Answer, ApprovalRequest, ApprovedBy, Approver, Settled};
use super::decide::Verdict;
use super::rule::Decision;
use crate::limits::{
    APPROVAL_TIMEOUT, MAX_APPROVAL_REASON_CHARS, MAX_GRANTS_PER_RUN, MAX_OPEN_QUESTIONS,
    MAX_RUNS_WITH_GRANTS,
};

pub struct Approvals {
    approver: Arc<dyn Approver>,
    grants: Option<Grants>,
    timeout: Duration,
    memory: Mutex<Memory>,
    /// Counts the answers that cover more than one call, so that open questions look again.
    granted: watch::Sender<u64>,
}

#[derive(Default)]
struct Memory {
    runs: HashMap<RunId, HashSet<GrantKey>>,
    /// Questions that somebody waits for; the same question is asked once.
    open: HashMap<Identity, Weak<OnceCell<Settled>>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Identity {
    run: RunId,
    key: GrantKey,
    fingerprint: [u8; 32],
}

impl Approvals {
    /// Without a store, "always" lasts no longer than the call.
    pub fn new(approver: Arc<dyn Approver>, grants: Option<Grants>) -> Self {
        Self {
            approver,
            grants,
            timeout: APPROVAL_TIMEOUT,
            memory: Mutex::default(),
            granted: watch::Sender::new(0),
        }
    }

    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    pub async fn settle(&self, verdict: &Verdict, request: ApprovalRequest) -> Settled {
        match verdict.decision {
            Decision::Allow => allowed(ApprovedBy::Rule, None),
            Decision::Deny => Settled {
                allowed: false,
                by: ApprovedBy::Rule,
                reason: Some(refusal(verdict)),
            },
            Decision::Ask => self.settle_question(&request).await,
        }
    }

    /// By an earlier answer of a person, here or in the store.
    pub async fn remembered(&self, run: &RunId, key: &GrantKey) -> Option<ApprovedBy> {
        self.granted(run, key).await
    }

    /// Keeps it for good. Where that fails, the answer is good for its call only, and says why.
    pub async fn remember_for_good(&self, key: &GrantKey) -> Settled {
        self.grant_for_good(key).await
    }

    /// Changes with every answer that covers more than one call.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.granted.subscribe()
    }

    /// Forgets the answers that were given for this run.
    pub fn end_run(&self, run: &RunId) {
        self.memory().runs.remove(run);
    }

    async fn settle_question(&self, request: &ApprovalRequest) -> Settled {
        // From before looking: an answer that comes in between is not missed.
        let granted = self.granted.subscribe();
        let key = request.key();
        if let Some(by) = self.granted(&request.run, &key).await {
            return allowed(by, None);
        }
        let identity = Identity {
            run: request.run.clone(),
            key: key.clone(),
            fingerprint: request.fingerprint(),
        };
        loop {
            let Some(question) = self.open(&identity) else {
                return nobody(format!(
                    "{MAX_OPEN_QUESTIONS} questions wait for an answer already; answer some, then try again"
                ));
            };
            // Whoever comes second waits here; should the first go away, the second asks.
            let mut asked = false;
            let settled = question
                .get_or_init(|| {
                    asked = true;
                    self.ask(request, &key, granted.clone())
                })
                .await;
            let settled = settled.clone();
            // The next one who asks the same asks anew: an answer for one call is no answer for the next.
            self.close(&identity, &question);
            if asked || settled.by != ApprovedBy::Once {
                return settled;
            }
        }
    }

    async fn ask(
        &self,
        request: &ApprovalRequest,
        key: &GrantKey,
        mut granted: watch::Receiver<u64>,
    ) -> Settled {
        let limit = request.expires.unwrap_or(self.timeout).min(self.timeout);
        let answer = tokio::time::timeout(limit, self.approver.ask(request));
        let mut answer = std::pin::pin!(answer);
        let answer = loop {
            tokio::select! {
                answer = &mut answer => break answer,
                // An answer to another call of the same tool may settle this one too.
                _ = granted.changed() => if let Some(by) = self.granted(&request.run, key).await {
                    return allowed(by, None);
                }
            }
        };
        match answer {
            Err(_) => nobody(format!(
                "nobody answered within {} whether {} may be called",
                spoken(limit),
                request.tool
            )),
            Ok(Answer::Once) => allowed(ApprovedBy::Once, None),
            Ok(Answer::Run) => self.grant_for_run(&request.run, key),
            Ok(Answer::Always) => self.grant_for_good(key).await,
            Ok(Answer::Deny { reason }) => Settled {
                allowed: false,
                by: match self.approver.is_present() {
                    true => ApprovedBy::Person,
                    false => ApprovedBy::Nobody,
                },
                reason: Some(said(&reason)),
            },
        }
    }

    /// By an earlier answer.
    async fn granted(&self, run: &RunId, key: &GrantKey) -> Option<ApprovedBy> {
        if self.is_granted_for_run(run, key) {
            return Some(ApprovedBy::Run);
        }
        let for_good = self.is_granted_for_good(key).await;
        for_good.then_some(ApprovedBy::Always)
    }

    fn is_granted_for_run(&self, run: &RunId, key: &GrantKey) -> bool {
        let memory = self.memory();
        memory.runs.get(run).is_some_and(|keys| keys.contains(key))
    }

    /// A store that cannot be read holds no grants: then a person is asked.
    async fn is_granted_for_good(&self, key: &GrantKey) -> bool {
        match &self.grants {
            Some(grants) => matches!(grants.find(key).await, Ok(Some(_))),
            None => false,
        }
    }

    fn grant_for_run(&self, run: &RunId, key: &GrantKey) -> Settled {
        match self.remember(run, key) {
            true => allowed(ApprovedBy::Run, None),
            false => allowed(
                ApprovedBy::Once,
                Some("allowed for this call only: too many answers are remembered".to_owned()),
            ),
        }
    }

    async fn grant_for_good(&self, key: &GrantKey) -> Settled {
        let kept = match &self.grants {
            Some(grants) => grants
                .add(key.clone(), None)
                .await
                .map_err(|e| e.to_string()),
            None => Err("there is no store".to_owned()),
        };
        match kept {
            Ok(_) => {
                self.tell();
                allowed(ApprovedBy::Always, None)
            }
            Err(why) => allowed(
                ApprovedBy::Once,
                Some(format!("allowed for this call only: {why}")),
            ),
        }
    }

    /// Says whether there was room.
    fn remember(&self, run: &RunId, key: &GrantKey) -> bool {
        let mut memory = self.memory();
        let runs = memory.runs.len();
        if runs >= MAX_RUNS_WITH_GRANTS && !memory.runs.contains_key(run) {
            return false;
        }
        let keys = memory.runs.entry(run.clone()).or_default();
        if keys.len() >= MAX_GRANTS_PER_RUN && !keys.contains(key) {
            return false;
        }
        keys.insert(key.clone());
        drop(memory);
        self.tell();
        true
    }

    fn tell(&self) {
        self.granted
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    fn open(&self, identity: &Identity) -> Option<Arc<OnceCell<Settled>>> {
        let mut memory = self.memory();
        if let Some(question) = memory.open.get(identity).and_then(Weak::upgrade) {
            return Some(question);
        }
        if memory.open.len() >= MAX_OPEN_QUESTIONS {
            memory
                .open
                .retain(|_, question| question.strong_count() > 0);
            if memory.open.len() >= MAX_OPEN_QUESTIONS {
                return None;
            }
        }
        let question = Arc::new(OnceCell::new());
        memory
            .open
            .insert(identity.clone(), Arc::downgrade(&question));
        Some(question)
    }

    fn close(&self, identity: &Identity, question: &Arc<OnceCell<Settled>>) {
        let mut memory = self.memory();
        let same = |open: &Weak<_>| std::ptr::eq(open.as_ptr(), Arc::as_ptr(question));
        if memory.open.get(identity).is_some_and(same) {
            memory.open.remove(identity);
        }
    }

    /// Every change to it is whole, so a panic elsewhere leaves it in order.
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn allowed(by: ApprovedBy, reason: Option<String>) -> Settled {
    Settled {
        allowed: true,
        by,
        reason,
    }
}

fn nobody(reason: String) -> Settled {
    Settled {
        allowed: false,
        by: ApprovedBy::Nobody,
        reason: Some(reason),
    }
}

fn refusal(verdict: &Verdict) -> String {
    match &verdict.reason {
        Some(reason) => reason.clone(),
        None => format!("the rule '{}' forbids it", verdict.rule),
    }
}

fn said(reason: &str) -> String {
    let reason: String = reason
        .trim()
        .chars()
        .take(MAX_APPROVAL_REASON_CHARS)
        .collect();
    match reason.is_empty() {
        true => "a person refused this call".to_owned(),
        false => reason,
    }
}

fn spoken(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}
