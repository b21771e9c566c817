//! Finding tools in a house: the words of its registry and the calls of its past, kept at hand; and what a caller can call.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use innkeeper_protocol::ToolDefinition;
use jiff::Timestamp;
use tokio::time::timeout;

use super::fusion::{Scorer, fuse};
use super::index::{Hit, Index, order, sort};
use super::{Past, Query};
use crate::builtin::search::SEARCH;
use crate::limits::{MAX_INDEXES, MAX_PASTS, PAST_FRESH, PAST_WAIT, SECOND_OPINION_WAIT};
use crate::manager::Shared;
use crate::registry::{Scope, Snapshot, Tool};
use crate::{Caller, ToolRun};

/// A tool that fits.
#[derive(Debug, Clone)]
pub struct Found {
    pub tool: Arc<ToolDefinition>,
    /// The higher, the better; comparable within one answer alone.
    pub score: f32,
}

/// What is kept between questions.
#[derive(Default)]
pub(crate) struct Finder {
    /// The last one used first. Whoever holds no run of a snapshot any more is not kept from letting go of its tools.
    indexes: Mutex<VecDeque<(Weak<Snapshot>, Arc<Index>)>>,
    pasts: Mutex<HashMap<Scope, (Timestamp, Arc<Past>)>>,
    second: Mutex<Option<Arc<dyn Scorer>>>,
}

impl Finder {
    pub(crate) fn set_second(&self, judge: Option<Arc<dyn Scorer>>) {
        *lock(&self.second) = judge;
    }

    async fn index(&self, snapshot: &Arc<Snapshot>) -> Arc<Index> {
        let own = Arc::downgrade(snapshot);
        let known = || {
            let mut known = lock(&self.indexes);
            known.retain(|(snapshot, _)| snapshot.strong_count() > 0);
            let at = known.iter().position(|(other, _)| other.ptr_eq(&own))?;
            let found = known.remove(at)?;
            let index = found.1.clone();
            known.push_front(found);
            Some(index)
        };
        if let Some(index) = known() {
            return index;
        }
        let of = snapshot.clone();
        let make = move || Index::of(of.tools().map(|tool| tool.definition()));
        // A thousand tools take milliseconds, in which nobody else should have to wait.
        let made = tokio::task::spawn_blocking(make).await.unwrap_or_default();
        let made = Arc::new(made);
        let mut known = lock(&self.indexes);
        known.push_front((own, made.clone()));
        known.truncate(MAX_INDEXES);
        made
    }

    /// What is known of a project's calls. What cannot be had soon is done without.
    async fn past(&self, shared: &Shared, caller: &Caller) -> Arc<Past> {
        let scope = Scope::of(caller);
        let now = shared.clock.now();
        let known = lock(&self.pasts).get(&scope).cloned();
        if let Some((read, past)) = &known
            && now.duration_since(*read).unsigned_abs() < PAST_FRESH
        {
            return past.clone();
        }
        let audit = shared.store.audit();
        let reading = audit.succeeded(scope.user.as_str(), scope.project.as_str());
        let Ok(Ok(calls)) = timeout(PAST_WAIT, reading).await else {
            return known.map(|(_, past)| past).unwrap_or_default();
        };
        let calls = calls.into_iter().map(|call| (call.tool, call.at));
        let past = Arc::new(Past::of(calls, now));
        let mut pasts = lock(&self.pasts);
        if pasts.len() >= MAX_PASTS {
            pasts.clear();
        }
        pasts.insert(scope, (now, past.clone()));
        past
    }

    async fn ask_second(&self, query: &Query, index: &Index) -> Option<Vec<Hit>> {
        let judge = lock(&self.second).clone()?;
        let asked = judge.score(query.text(), index.tools());
        let scores = timeout(SECOND_OPINION_WAIT, asked).await.ok()??;
        Some(order(&scores))
    }
}

impl ToolRun {
    /// The tools that fit a question, best first: of those that this caller can call, whatever rule of the house or of its
    /// profile there is. Hidden ones are not among them.
    pub async fn search(&self, query: &Query, most: usize) -> Vec<Found> {
        let finder = &self.shared.finder;
        let index = finder.index(&self.snapshot).await;
        let mut hits = index.rank(query);
        if let Some(second) = finder.ask_second(query, &index).await {
            hits = fuse(&[hits, second]);
        }
        if hits.is_empty() {
            return Vec::new();
        }
        let past = finder.past(&self.shared, &self.caller).await;
        if !past.is_empty() {
            for hit in &mut hits {
                if let Some(tool) = index.tools().get(hit.tool) {
                    hit.score *= past.lift(tool.id.as_str());
                }
            }
            sort(&mut hits);
        }
        let found = hits.into_iter().filter_map(|hit| {
            let tool = self.snapshot.tools().nth(hit.tool)?;
            self.can_call(tool).then(|| Found {
                tool: tool.definition().clone(),
                score: hit.score,
            })
        });
        found.take(most).collect()
    }

    /// The tools that served this person in this project lately, the most useful first; only those that it can call.
    pub async fn used_lately(&self, most: usize) -> Vec<Arc<ToolDefinition>> {
        let past = self.shared.finder.past(&self.shared, &self.caller).await;
        if past.is_empty() {
            return Vec::new();
        }
        let tools = self.snapshot.tools().map(|tool| {
            let id = tool.definition().id.as_str();
            (past.used(id), tool)
        });
        let mut used: Vec<_> = tools.filter(|(used, _)| *used > 0.0).collect();
        used.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let used = used.into_iter().filter(|(_, tool)| self.can_call(tool));
        used.take(most)
            .map(|(_, tool)| tool.definition().clone())
            .collect()
    }

    /// Whether a call of it can pass: the profile offers it, and no rule forbids all of its calls.
    fn can_call(&self, tool: &Tool) -> bool {
        let definition = tool.definition();
        let reach = &self.caller.reach;
        let beneath = tool.stands_on();
        if definition.id.as_str() == SEARCH
            || !reach.includes(definition)
            || beneath.is_some_and(|beneath| reach.denies(beneath))
        {
            return false;
        }
        let policy = self.shared.policy.load();
        let actor = self.caller.actor.to_string();
        let forbids = |tool: &ToolDefinition| policy.forbids(tool, &actor);
        !forbids(definition) && !beneath.is_some_and(|beneath| forbids(beneath))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing in here is ever left half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
