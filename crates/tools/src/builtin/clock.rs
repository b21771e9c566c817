//! `system:get_current_time`: what time it is, here or anywhere. Zones come from the data built into the binary,
//! so that every machine gives the same answer.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use innkeeper_protocol::{Execution, ToolDefinition};
use jiff::civil::Weekday;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::Tool;
use super::declare::{arguments, declare, example, words};
use crate::limits::{MAX_TIME_ZONE_CHARS, MAX_TIME_ZONE_HINTS};
use crate::{Clock, Executor, Invocation, ToolError};

static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// `home` is the zone of an answer when nobody asks for one.
pub fn tools(clock: Arc<dyn Clock>, home: TimeZone) -> Vec<Tool> {
    let home = if home.is_unknown() {
        TimeZone::UTC
    } else {
        home
    };
    vec![(definition(), Arc::new(CurrentTime { clock, home }))]
}

pub fn definition() -> ToolDefinition {
    ToolDefinition {
        aliases: vec!["System.Time".into()],
        execution: Execution {
            parallel: true,
            ..Execution::default()
        },
        tags: words(&["system", "time", "read-only"]),
        examples: example(
            "What time is it in Tokyo",
            json!({"time_zone": "Asia/Tokyo"}),
        ),
        ..declare(
            "system:get_current_time",
            "Current time",
            "Get the current date, time and weekday. Without a time zone: the local time of the server.",
            json!({
                "type": "object",
                "properties": {
                    "time_zone": {
                        "type": "string",
                        "maxLength": MAX_TIME_ZONE_CHARS,
                        "description": "IANA name of the time zone, like 'Asia/Shanghai', 'Europe/Berlin' or 'UTC'"
                    }
                },
                "additionalProperties": false
            }),
            json!({
                "type": "object",
                "properties": {
                    "iso": {"type": "string", "description": "Date, time and distance to UTC (RFC 3339)"},
                    "unix": {"type": "integer", "description": "Seconds since 1970-01-01 UTC"},
                    "weekday": {"type": "string"},
                    "zone": {"type": "string"}
                },
                "required": ["iso", "unix", "weekday", "zone"],
                "additionalProperties": false
            }),
        )
    }
}

struct CurrentTime {
    clock: Arc<dyn Clock>,
    home: TimeZone,
}

#[derive(Deserialize)]
struct Arguments {
    time_zone: Option<String>,
}

#[async_trait]
impl Executor for CurrentTime {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let Arguments { time_zone } = arguments(call.arguments)?;
        let zone = match time_zone.as_deref().map(str::trim) {
            None | Some("") => self.home.clone(),
            Some(name) => ZONES.get(name).map_err(|_| unknown(name))?,
        };
        let now = self.clock.now().to_zoned(zone);
        let offset = now.strftime("%:z").to_string();
        Ok(json!({
            "iso": now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
            "unix": now.timestamp().as_second(),
            "weekday": weekday(now.weekday()),
            "zone": now.time_zone().iana_name().unwrap_or(&offset),
        }))
    }
}

const fn weekday(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
        Weekday::Sunday => "Sunday",
    }
}

fn unknown(name: &str) -> ToolError {
    let near = near(name);
    let hint = match near.is_empty() {
        true => "use an IANA name like 'Asia/Shanghai', 'Europe/Berlin' or 'UTC'".to_owned(),
        false => format!("did you mean {}?", near.join(" or ")),
    };
    ToolError::invalid(format!("There is no time zone '{name}'; {hint}"))
        .because("time.unknown_zone")
        .permanent()
}

/// Names that look alike, as a whole or in the part that names the place.
fn near(wrong: &str) -> Vec<String> {
    let fold = |name: &str| name.to_lowercase().replace([' ', '-'], "_");
    let wrong = fold(wrong);
    let place = wrong.rsplit('/').next().unwrap_or_default().to_owned();
    let mut found: Vec<(usize, String)> = ZONES
        .available()
        .filter_map(|name| {
            let name = name.to_string();
            let folded = fold(&name);
            let its_place = folded.rsplit('/').next().unwrap_or_default();
            let whole = strsim::osa_distance(&wrong, &folded);
            let part = strsim::osa_distance(&place, its_place);
            let distance = whole.min(part);
            (distance * 3 <= place.chars().count()).then_some((distance, name))
        })
        .collect();
    found.sort();
    let best = found.first().map_or(0, |(distance, _)| *distance);
    found.retain(|(distance, _)| *distance == best);
    let names = found.into_iter().map(|(_, name)| format!("'{name}'"));
    names.take(MAX_TIME_ZONE_HINTS).collect()
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
