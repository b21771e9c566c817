//! The tools of a run in the words of its profile, made once for all runs that have the same.
//!
//! Which of them the model is told of is `offer_choice.rs`'s, how that is kept up over a run `offer_told.rs`'s.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use async_trait::async_trait;
use innkeeper_engine::Kept;
use innkeeper_engine::port::{ToolListener, ToolPort};
use innkeeper_protocol::{Aliases, Locale, Observation, Protocol, ToolCallRequest, ToolDefinition};
use innkeeper_tools::builtin::search::SEARCH;
use innkeeper_tools::{Reach, Snapshot, ToolRun};
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::binding;
use crate::limits::MAX_OFFERS;
use crate::profile::{Dialect, ToolDescription};

pub(crate) type Offered = Arc<Vec<Arc<ToolDefinition>>>;

/// Those that were made lately, the last one first.
#[derive(Default)]
pub(crate) struct Offers(Mutex<VecDeque<Arc<Offer>>>);

/// All that somebody may call.
pub(crate) struct Offer {
    /// Whoever holds no run of it any more is not kept from letting go of its tools.
    snapshot: Weak<Snapshot>,
    reach: Reach,
    descriptions: BTreeMap<String, ToolDescription>,
    /// In the order of their ids; hidden ones that the profile names come last.
    all: Offered,
    /// Without those that read what has given way: they are told when something has.
    usual: Offered,
    /// Without `tools.search` too: where all are told, there is nothing to look for.
    whole: Offered,
    /// Those that read what has given way.
    recall: Offered,
    /// Names of all of them in the dialects that are text.
    tam: OnceLock<Arc<Aliases>>,
    action: OnceLock<Arc<Aliases>>,
}

impl Offer {
    pub(super) fn usual(&self) -> &Offered {
        &self.usual
    }

    pub(super) fn recall(&self) -> &Offered {
        &self.recall
    }

    pub(super) fn whole(&self) -> &Offered {
        &self.whole
    }

    pub(super) fn find(&self, id: &str) -> Option<&Arc<ToolDefinition>> {
        self.all.iter().find(|tool| tool.id.as_str() == id)
    }

    /// What a part of them is told under; see [`innkeeper_protocol::render_part`]. Native names are settled with every
    /// request, by what is declared in it: `told`.
    pub(super) fn aliases(&self, told: &[Arc<ToolDefinition>], dialect: Dialect) -> Arc<Aliases> {
        let kept = match dialect {
            Dialect::Native => return Arc::new(binding::aliases(told, dialect)),
            Dialect::Tam => &self.tam,
            Dialect::Action => &self.action,
        };
        let make = || Arc::new(binding::aliases(&self.all, dialect));
        kept.get_or_init(make).clone()
    }
}

impl Offers {
    pub(crate) fn of(
        &self,
        run: &ToolRun,
        descriptions: &BTreeMap<String, ToolDescription>,
    ) -> Arc<Offer> {
        let snapshot = Arc::downgrade(run.snapshot());
        let reach = &run.caller().reach;
        let is_same = |offer: &Arc<Offer>| {
            Weak::ptr_eq(&offer.snapshot, &snapshot)
                && offer.reach == *reach
                && offer.descriptions == *descriptions
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = known.iter().position(is_same);
        let offer = match place.and_then(|place| known.remove(place)) {
            Some(offer) => offer,
            None => {
                let tools = run.snapshot().offered(reach);
                let all: Vec<_> = tools.map(|tool| described(tool, descriptions)).collect();
                let (recall, usual): (Vec<_>, Vec<_>) = all
                    .iter()
                    .cloned()
                    .partition(|tool| crate::recall::NAMES.contains(&tool.id.as_str()));
                let whole = usual.iter().filter(|tool| tool.id.as_str() != SEARCH);
                Arc::new(Offer {
                    snapshot,
                    reach: reach.clone(),
                    descriptions: descriptions.clone(),
                    whole: Arc::new(whole.cloned().collect()),
                    usual: Arc::new(usual),
                    recall: Arc::new(recall),
                    all: Arc::new(all),
                    tam: OnceLock::new(),
                    action: OnceLock::new(),
                })
            }
        };
        known.retain(|offer| offer.snapshot.strong_count() > 0);
        known.push_front(offer.clone());
        known.truncate(MAX_OFFERS);
        offer
    }
}

/// A tool in the words of the profile.
fn described(
    tool: &Arc<ToolDefinition>,
    descriptions: &BTreeMap<String, ToolDescription>,
) -> Arc<ToolDefinition> {
    let Some(told) = descriptions.get(tool.id.as_str()) else {
        return tool.clone();
    };
    let mut own = ToolDefinition::clone(tool);
    if let Some(description) = &told.description {
        own.description.clone_from(description);
    }
    for (parameter, text) in &told.properties {
        let place = own.parameters.get_mut("properties");
        if let Some(schema) = place
            .and_then(|all| all.get_mut(parameter))
            .and_then(Json::as_object_mut)
        {
            schema.insert("description".to_owned(), text.as_str().into());
        }
    }
    Arc::new(own)
}

/// The tools of a deliberation: called as always, told in the words of the profile.
pub(crate) struct Told {
    pub(crate) tools: Arc<dyn ToolPort>,
    pub(crate) offered: Offered,
}

#[async_trait]
impl ToolPort for Told {
    fn list(&self) -> Vec<Arc<ToolDefinition>> {
        self.offered.to_vec()
    }

    fn manifest(
        &self,
        tools: &[Arc<ToolDefinition>],
        protocol: Protocol,
        locale: Locale,
    ) -> String {
        self.tools.manifest(tools, protocol, locale)
    }

    async fn call(
        &self,
        request: ToolCallRequest<'static>,
        heard: Arc<dyn ToolListener>,
        cancel: CancellationToken,
    ) -> Observation {
        self.tools.call(request, heard, cancel).await
    }

    async fn call_kept(
        &self,
        request: ToolCallRequest<'static>,
        kept: Kept,
        heard: Arc<dyn ToolListener>,
        cancel: CancellationToken,
    ) -> Observation {
        self.tools.call_kept(request, kept, heard, cancel).await
    }
}
