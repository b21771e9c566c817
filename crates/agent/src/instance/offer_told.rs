//! What a run's model is told of its tools, from the first request to the last: chosen once, then only added to, so that what
//! providers keep of a conversation stays good. What was told is in the journal; nothing here remembers it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use innkeeper_protocol::{Extent, Outcome, Pattern, ToolDefinition, render_part};
use innkeeper_tools::builtin::search::SEARCH;
use innkeeper_tools::registry::Lookup;
use serde_json::Value as Json;

use super::binding;
use super::drive::{AgentInstance, Gone};
use super::offer::{Offer, Offered};
use super::offer_choice::{self, Always};
use crate::profile::Dialect;
use crate::run::{CallState, ToldTools, Turn};

/// The tools of the last request, made again only where others are told.
#[derive(Default)]
pub(crate) struct Telling(Mutex<Option<(Known, Offered)>>);

/// What the choice depends on: what was told, and whether something has given way.
type Known = (Option<Arc<ToldTools>>, bool);

impl AgentInstance {
    /// Those that the model has been told of.
    pub(super) async fn told(&self) -> Result<Offered, Gone> {
        let (told, pins) = self
            .log
            .read(|run| {
                (
                    (run.told().cloned(), !run.dropped().is_empty()),
                    is_search_pinned(&run.profile().agent.offer.pins),
                )
            })
            .await?;
        let known = self
            .telling
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some((same, tools)) = known
            && same == told
        {
            return Ok(tools);
        }
        let offer = self.offer();
        let tools: Offered = match &told.0 {
            Some(told) => {
                let tools = told.ids().filter_map(|id| offer.find(id).cloned());
                Arc::new(tools.collect())
            }
            None if pins => offer.usual().clone(),
            None => offer.whole().clone(),
        };
        let tools = match told.1 {
            true => {
                let new = offer.recall().iter();
                let new = new.filter(|tool| !tools.iter().any(|told| told.id == tool.id));
                Arc::new(tools.iter().chain(new).cloned().collect())
            }
            false => tools,
        };
        let mut known = self
            .telling
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *known = Some((told, tools.clone()));
        Ok(tools)
    }

    /// All that it may call.
    pub(super) fn offer(&self) -> Arc<Offer> {
        self.shared.offers.of(&self.tools, &self.descriptions)
    }

    /// Those that the model will be told of first, and how many it will not.
    pub(super) async fn choose_tools(&self) -> Result<(Offered, usize), Gone> {
        let (created, answers) = self
            .log
            .read(|run| (run.created().clone(), run.answers_in_text()))
            .await?;
        let rules = &created.profile.agent.offer;
        let offer = self.offer();
        let all = match is_search_pinned(&rules.pins) {
            true => offer.usual(),
            false => offer.whole(),
        };
        if offer_choice::is_all(offer.whole().len(), rules) {
            return Ok((all.clone(), 0));
        }
        let most = usize::try_from(rules.most).unwrap_or(usize::MAX);
        let always = Always::of(&created, answers);
        let snapshot = self.tools.snapshot();
        // One that the profile names by its very id, since it is found in no other way.
        let is_hidden = |tool: &ToolDefinition| {
            let found = snapshot.find(tool.id.as_str());
            matches!(found, Lookup::Found(tool) if tool.is_hidden())
        };
        let is_always = |tool: &ToolDefinition| always.has(tool) || is_hidden(tool);
        // Those that are told anyway take nobody's place.
        let anyway = offer.usual().iter().filter(|tool| is_always(tool)).count();
        let enough = most.saturating_add(anyway);
        let found = self
            .tools
            .search(&offer_choice::task(&created), enough)
            .await;
        let lately = self.tools.used_lately(most).await;
        let fitting = found.iter().map(|found| found.tool.id.as_str());
        let fitting = fitting.chain(lately.iter().map(|tool| tool.id.as_str()));
        let fitting = fitting.filter(|id| always.is_of_use(id));
        let chosen = offer_choice::choose(offer.usual(), rules, is_always, fitting);
        let left_out = offer.usual().len() - chosen.len();
        Ok((Arc::new(chosen), left_out))
    }

    /// What the last turn has brought up and the model has not been told of: tools that were found, and tools that were called
    /// although they were not told.
    pub(super) async fn newly_told(&self) -> Result<Vec<Arc<ToolDefinition>>, Gone> {
        let offer = self.offer();
        let read = self.log.read(|run| {
            let (told, turn) = (run.told()?, run.turn()?);
            let dialect = run.profile().agent.protocol;
            let meant = |written: &str| self.meant(&offer, dialect, written);
            Some(brought_up(turn, told, meant))
        });
        let ids = read.await?.unwrap_or_default();
        Ok(ids
            .iter()
            .filter_map(|id| offer.find(id).cloned())
            .collect())
    }

    /// The id of the tool that is meant by what the model wrote.
    pub(super) fn meant(&self, offer: &Offer, dialect: Dialect, written: &str) -> Option<String> {
        match self.tools.snapshot().find(written) {
            Lookup::Found(tool) => Some(tool.definition().id.to_string()),
            Lookup::Unknown { .. } if dialect == Dialect::Native => None,
            Lookup::Unknown { .. } => {
                let aliases = offer.aliases(&[], dialect);
                aliases.resolve(written).map(ToString::to_string)
            }
        }
    }

    /// For a prompt; nothing where tools are declared natively.
    pub(super) fn manifest(&self, tools: &Offered, dialect: Dialect) -> String {
        self.in_text(tools, dialect, Extent::Whole)
    }

    /// The same for tools that come later, to a model that knows how to call.
    pub(super) fn further(&self, tools: &[Arc<ToolDefinition>], dialect: Dialect) -> String {
        self.in_text(tools, dialect, Extent::List)
    }

    fn in_text(&self, tools: &[Arc<ToolDefinition>], dialect: Dialect, extent: Extent) -> String {
        if dialect == Dialect::Native {
            return String::new();
        }
        let aliases = self.offer().aliases(tools, dialect);
        let tools = tools.iter().map(AsRef::as_ref);
        let (protocol, locale) = (binding::protocol(dialect), self.shared.parts.locale);
        render_part(tools, &aliases, protocol, locale, extent)
    }

    /// As events tell of them. `told` are all that the model knows then.
    pub(super) fn specs(
        &self,
        tools: &[Arc<ToolDefinition>],
        told: &[Arc<ToolDefinition>],
        dialect: Dialect,
    ) -> Json {
        let aliases = self.offer().aliases(told, dialect);
        binding::specs(tools, &aliases)
    }
}

fn is_search_pinned(pins: &[String]) -> bool {
    pins.iter().any(|pin| Pattern::new(pin).matches(SEARCH))
}

/// Ids, each once, in the order of the calls.
fn brought_up(
    turn: &Turn,
    told: &ToldTools,
    meant: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for call in turn.calls() {
        let Some(id) = meant(&call.tool) else {
            continue;
        };
        let CallState::Ended { observation, .. } = &call.state else {
            continue;
        };
        match &observation.outcome {
            Outcome::Success { result, .. } if id == SEARCH => ids.extend(found(result)),
            _ => ids.push(id),
        }
    }
    let mut seen = HashSet::new();
    ids.retain(|id| !told.has(id) && seen.insert(id.clone()));
    ids
}

/// What `tools.search` gave.
fn found(result: &Json) -> impl Iterator<Item = String> {
    let tools = result.get("tools").and_then(Json::as_array);
    let tools = tools.into_iter().flatten();
    tools.filter_map(|tool| Some(tool.get("id")?.as_str()?.to_owned()))
}
