//! `@{…}` in the calls of a block: keys of the block, its request id, and results of earlier steps
//! (`@{step_1.result.path}`). Filled in once, never again in what was filled in. A name that nobody knows stays.

use std::collections::HashMap;

use innkeeper_protocol::{Observation, Outcome, ToolCallRequest, key};
use serde_json::Value as Json;

use crate::Value;
use crate::limits::MAX_FILLED_CALL_BYTES;

/// What references of the block at hand can name.
pub(super) struct References {
    keys: HashMap<String, String>,
    /// `Err`: why there is nothing to refer to.
    steps: HashMap<u32, Result<Json, &'static str>>,
}

pub(super) enum Filled {
    Call(Box<ToolCallRequest<'static>>),
    /// Why it cannot run.
    Unresolved(String),
}

impl References {
    /// All calls of a block, whose keys may name each other whatever their order.
    pub(super) fn of<'r>(calls: impl Iterator<Item = &'r ToolCallRequest<'static>>) -> Self {
        let now = jiff::Timestamp::now();
        let now = jiff::fmt::strtime::format("%Y-%m-%dT%H:%M:%SZ", now);
        let mut references = Self {
            keys: HashMap::new(),
            steps: HashMap::new(),
        };
        for call in calls {
            if let Some(id) = &call.request_id {
                references.keys.insert("request_id".into(), id.to_string());
            }
            for argument in &call.arguments {
                let value = Value::from(argument.to_json()).to_text();
                let name = key::normalise(&argument.written).into_owned();
                references.keys.entry(name).or_insert(value);
            }
            references
                .steps
                .insert(call.index, Err("has not run before this one"));
        }
        let timestamp = now.unwrap_or_default();
        references.keys.insert("timestamp".into(), timestamp);
        references
    }

    pub(super) fn finish(&mut self, step: u32, seen: &Observation) {
        let result = match &seen.outcome {
            Outcome::Success { result, .. } => Ok(result.clone()),
            Outcome::AsyncStarted { .. } => Err("is still running in the background"),
            _ => Err("failed"),
        };
        self.steps.insert(step, result);
    }

    pub(super) fn fill(&self, call: &ToolCallRequest<'static>) -> Filled {
        let mut call = call.clone();
        let mut problem = None;
        let mut bytes = 0usize;
        for argument in &mut call.arguments {
            argument.value.map_text(&mut |text| {
                if !text.contains("@{") || problem.is_some() {
                    return None;
                }
                let filled = self.fill_text(text, &mut problem);
                bytes = bytes.saturating_add(filled.len());
                if bytes > MAX_FILLED_CALL_BYTES {
                    problem = Some(format!(
                        "with its references filled in the call is longer than {MAX_FILLED_CALL_BYTES} bytes"
                    ));
                    return None;
                }
                Some(filled)
            });
        }
        match problem {
            Some(why) => Filled::Unresolved(why),
            None => Filled::Call(Box::new(call)),
        }
    }

    fn fill_text(&self, text: &str, problem: &mut Option<String>) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("@{") {
            filled.push_str(before);
            let Some((name, after)) = behind.split_once('}') else {
                filled.push_str("@{");
                rest = behind;
                continue;
            };
            match self.value(name.trim()) {
                Ok(Some(value)) => filled.push_str(&value),
                Ok(None) => {
                    filled.push_str("@{");
                    filled.push_str(name);
                    filled.push('}');
                }
                Err(why) => *problem = Some(why),
            }
            if filled.len() > MAX_FILLED_CALL_BYTES {
                break;
            }
            rest = after;
        }
        filled.push_str(rest);
        filled
    }

    fn value(&self, name: &str) -> Result<Option<String>, String> {
        let Some((step, path)) = step_of(name) else {
            return Ok(self.keys.get(key::normalise(name).as_ref()).cloned());
        };
        match self.steps.get(&step) {
            Some(Ok(result)) => match walk(result, path) {
                Some(value) => Ok(Some(Value::from(value.clone()).to_text())),
                None => Err(format!(
                    "the result of step {step} has no '{path}', which @{{{name}}} asks for"
                )),
            },
            Some(Err(why)) => Err(format!("@{{{name}}} has no value: step {step} {why}")),
            None => Ok(None),
        }
    }
}

/// `step_1.result.path`, as models write it: any letter case, `step1` and `step-1` too.
fn step_of(name: &str) -> Option<(u32, &str)> {
    let (head, rest) = name.split_once('.')?;
    let head = head.trim();
    let number = match (head.get(..4), head.get(4..)) {
        (Some(word), Some(number)) if word.eq_ignore_ascii_case("step") => number,
        _ => return None,
    };
    let number = number.trim_start_matches(['_', '-', ' ']);
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (word, path) = rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()));
    let is_result = word.trim().eq_ignore_ascii_case("result");
    let path = path.strip_prefix('.').unwrap_or(path).trim();
    Some((number.parse().ok()?, path)).filter(|_| is_result)
}

/// `a.b.0`, `a.b[0]`
fn walk<'v>(value: &'v Json, path: &str) -> Option<&'v Json> {
    let mut at = value;
    for part in path.split(['.', '[']).filter(|part| !part.is_empty()) {
        let part = part.strip_suffix(']').unwrap_or(part).trim();
        at = match at {
            Json::Array(list) => list.get(part.parse::<usize>().ok()?)?,
            other => other.get(part)?,
        };
    }
    Some(at)
}
