//! How a node is run: tries, time, and what its results are kept under.

use sha2::{Digest, Sha256};

use crate::limits::{MAX_RETRIES, MAX_RETRY_DELAY};
use crate::node::NodeInfo;
use crate::workflow::WorkflowNode;

use super::Rules;
use super::scope::Placed;

pub(super) fn rules(
    node: &WorkflowNode,
    placed: &Placed,
    info: &NodeInfo,
    has_streams: bool,
) -> Rules {
    let execution = &node.execution;
    let most = u64::try_from(MAX_RETRY_DELAY.as_millis()).unwrap_or(u64::MAX);
    let kind = placed.kind.as_ref();
    let by_type = kind.is_some_and(|kind| kind.is_cached);
    let keeps_own = kind.is_some_and(|kind| kind.keeps_own);
    // Nobody can ask for what a node does to be left out.
    let may_be = !keeps_own && kind.is_some_and(|kind| kind.definition.deterministic);
    let is_cached = may_be && execution.cache.unwrap_or(by_type) && placed.structure.is_none();
    Rules {
        retry: execution.retry.min(MAX_RETRIES),
        retry_delay_ms: execution.retry_delay_ms.min(most),
        timeout_ms: execution.timeout_ms,
        cache_key: (is_cached && !has_streams).then(|| {
            let serial = kind.map_or(0, |kind| kind.serial);
            key(info, serial)
        }),
        lends_kept: keeps_own && execution.cache != Some(false),
    }
}

/// All but the inputs that decides what comes out.
fn key(info: &NodeInfo, serial: u64) -> std::sync::Arc<[u8]> {
    let config = serde_json::to_vec(&info.config).unwrap_or_default();
    let mut digest = Sha256::new();
    digest.update(serial.to_le_bytes());
    let mode = info.mode.as_deref().unwrap_or_default();
    for part in [info.full_type.as_bytes(), mode.as_bytes(), &config] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    for slot in info.inputs.iter().chain(&info.outputs) {
        digest.update(slot.key.as_bytes());
        digest.update([0]);
    }
    digest.finalize().to_vec().into()
}
