//! The tools of a run in the words of its profile, made once for all runs that have the same.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use async_trait::async_trait;
use innkeeper_engine::Kept;
use innkeeper_engine::port::{ToolListener, ToolPort};
use innkeeper_protocol::{Locale, Observation, Protocol, ToolCallRequest, ToolDefinition};
use innkeeper_tools::{Reach, Snapshot, ToolRun};
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use crate::limits::MAX_OFFERS;
use crate::profile::ToolDescription;

pub(crate) type Offered = Arc<Vec<Arc<ToolDefinition>>>;

/// Those that were made lately, the last one first.
#[derive(Default)]
pub(crate) struct Offers(Mutex<VecDeque<Offer>>);

struct Offer {
    /// Whoever holds no run of it any more is not kept from letting go of its tools.
    snapshot: Weak<Snapshot>,
    reach: Reach,
    descriptions: BTreeMap<String, ToolDescription>,
    tools: Offered,
}

impl Offers {
    pub(crate) fn of(
        &self,
        run: &ToolRun,
        descriptions: &BTreeMap<String, ToolDescription>,
    ) -> Offered {
        let snapshot = Arc::downgrade(run.snapshot());
        let reach = &run.caller().reach;
        let is_same = |offer: &Offer| {
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
                let tools = tools.map(|tool| described(tool, descriptions)).collect();
                Offer {
                    snapshot,
                    reach: reach.clone(),
                    descriptions: descriptions.clone(),
                    tools: Arc::new(tools),
                }
            }
        };
        let tools = offer.tools.clone();
        known.retain(|offer| offer.snapshot.strong_count() > 0);
        known.push_front(offer);
        known.truncate(MAX_OFFERS);
        tools
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
