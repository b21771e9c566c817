//! Reading the block `agent`, which is the same beside every format.

use serde_json::{Map, Value as Json};

use super::fields::{Fields, expected, whole};
use super::problem::CONTRACT;
use super::read_sections::narrow;
use super::rules::{
    AfterCrash, AgentRules, Budget, CompactionRules, Dialect, OfferRules, TextTurn,
};
use crate::limits::{
    MAX_KEPT_FIRST, MAX_KEPT_ROUNDS, MAX_PROFILE_WAIT_MS, MAX_REQUEST_TOKENS, MAX_TOLD,
    MIN_REQUEST_TOKENS,
};

/// What the runtime itself says to a model; a profile that says it too would be at odds with the run.
const NOT_PARAMETERS: [&str; 5] = ["messages", "model", "stream", "tool_choice", "tools"];

pub(super) fn agent(mut at: Fields<'_>, default: AgentRules) -> AgentRules {
    let dialects = [
        ("tam", Dialect::Tam),
        ("action", Dialect::Action),
        ("native", Dialect::Native),
    ];
    let turns = [
        ("byPresentation", TextTurn::ByPresentation),
        ("answers", TextTurn::Answers),
        ("nudges", TextTurn::Nudges),
    ];
    let crashes = [
        ("continue", AfterCrash::Continue),
        ("pause", AfterCrash::Pause),
    ];
    let grammars = [("auto", "auto"), ("on", "on"), ("off", "off")];
    let grammar = at.has("grammar");
    let chosen = at.choice("grammar", "auto", CONTRACT, &grammars);
    let rules = AgentRules {
        protocol: at.choice("protocol", default.protocol, CONTRACT, &dialects),
        deliberation_workflow: at
            .name("deliberationWorkflow", CONTRACT)
            .or(default.deliberation_workflow),
        model: at.name("model", CONTRACT),
        text_turn: at.choice("textTurn", default.text_turn, CONTRACT, &turns),
        budget: budget(at.object("budget")),
        after_crash: at.choice("afterCrash", default.after_crash, CONTRACT, &crashes),
        grammar: grammar.then(|| chosen.to_owned()),
        parameters: parameters(&mut at),
        private_state: object(&mut at, "privateState").unwrap_or(default.private_state),
        private_state_schema: object(&mut at, "privateStateSchema")
            .unwrap_or(default.private_state_schema),
        offer: offer(at.object("offer")),
        compaction: compaction(at.object("compaction")),
        commit_timeout_ms: at.whole_if_any("commitTimeoutMs", 0..=MAX_PROFILE_WAIT_MS),
        format: default.format,
        kept: default.kept,
    };
    at.end();
    rules
}

fn budget(mut at: Fields<'_>) -> Budget {
    const COST: &str = "maxCost";
    let cost = at.raw(COST).filter(|value| !value.is_null());
    let max_cost = cost.and_then(|value| {
        let cost = dollars(value);
        if cost.is_none() {
            at.error(CONTRACT, COST, DOLLARS);
        }
        cost
    });
    let found = at.found();
    let budget = Budget {
        max_tokens: at.whole_if_any("maxTokens", 1..=i64::MAX.unsigned_abs()),
        max_cost,
        max_wall_time_ms: at.whole_if_any("maxWallTimeMs", 1..=i64::MAX.unsigned_abs()),
        max_tokens_per_tool: at.map("maxTokensPerTool", CONTRACT, |value, path| {
            whole(value, 1..=i64::MAX.unsigned_abs(), CONTRACT, path, found)
        }),
        max_cost_per_tool: at.map("maxCostPerTool", CONTRACT, |value, path| {
            let cost = dollars(value);
            if cost.is_none() {
                found.error(CONTRACT, path, DOLLARS);
            }
            cost
        }),
    };
    at.end();
    budget
}

const DOLLARS: &str = "must be a number of dollars above 0";

fn dollars(value: &Json) -> Option<f64> {
    let cost = value.as_f64();
    cost.filter(|cost| cost.is_finite() && *cost > 0.0)
}

fn offer(mut at: Fields<'_>) -> OfferRules {
    let usual = OfferRules::default();
    let all_up_to = at.whole("allUpTo", usual.all_up_to.into(), 0..=MAX_TOLD, CONTRACT);
    let most = at.whole("most", usual.most.into(), 0..=MAX_TOLD, CONTRACT);
    let rules = OfferRules {
        all_up_to: narrow(all_up_to),
        most: narrow(most),
        pins: at.names("pins").unwrap_or_default(),
    };
    at.end();
    rules
}

fn compaction(mut at: Fields<'_>) -> CompactionRules {
    let usual = CompactionRules::default();
    let rounds = usual.keep_rounds.into();
    let keep_rounds = at.whole("keepRounds", rounds, 1..=MAX_KEPT_ROUNDS, CONTRACT);
    let keep_first = at.whole("keepFirst", 0, 0..=MAX_KEPT_FIRST, CONTRACT);
    let tokens = MIN_REQUEST_TOKENS..=MAX_REQUEST_TOKENS;
    let rules = CompactionRules {
        enabled: at.flag("enabled", usual.enabled),
        max_request_tokens: at.whole_if_any("maxRequestTokens", tokens),
        keep_rounds: narrow(keep_rounds),
        keep_first: narrow(keep_first),
        model: at.name("model", CONTRACT),
    };
    at.end();
    rules
}

fn parameters(at: &mut Fields<'_>) -> Map<String, Json> {
    const KEY: &str = "parameters";
    let Some(Json::Object(map)) = object(at, KEY) else {
        return Map::new();
    };
    for key in NOT_PARAMETERS.iter().filter(|key| map.contains_key(**key)) {
        let message = format!("'{key}' is decided by the run: take it out");
        at.error(CONTRACT, KEY, message);
    }
    map
}

/// An object that is taken as it is; null is nothing.
pub(super) fn object(at: &mut Fields<'_>, key: &'static str) -> Option<Json> {
    match at.raw(key)? {
        Json::Null => None,
        object @ Json::Object(_) => Some(object.clone()),
        other => {
            at.error(CONTRACT, key, expected("an object", other));
            None
        }
    }
}
