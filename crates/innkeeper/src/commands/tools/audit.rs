//! `innkeeper tools audit`: what was called, and whether the log can be trusted.

use innkeeper_store::{AuditFilter, AuditOutcome, AuditRecord, Tampering, Verification};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use super::Ended;
use crate::cli::AuditArgs;
use crate::failure::{Expected, Failure, ToolFault};
use crate::home::Home;
use crate::output::Screen;
use crate::platform::open_store;
use crate::runtime::block_on;
use crate::table::Table;

pub(super) fn run(args: &AuditArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    match args.verify {
        true => verify(home, screen),
        false => list(args, home, screen),
    }
}

fn list(args: &AuditArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let filter = filter(args, Timestamp::now(), TimeZone::system())?;
    let records = block_on(async {
        let store = open_store(home).await?;
        let records = store.audit().query(filter).await?;
        store.close().await?;
        Ok(records)
    })?;
    if screen.json {
        screen.document(&records)?;
        return Ok(Ended::Done);
    }
    if records.is_empty() {
        screen.note("No calls to show", "没有可显示的调用");
        return Ok(Ended::Done);
    }
    screen.table(&table(&records, screen))?;
    Ok(Ended::Done)
}

fn table(records: &[AuditRecord], screen: &Screen) -> Table {
    let headings = screen.pick(
        [
            "ID", "TIME", "TOOL", "BY", "OUTCOME", "RULE", "MS", "MESSAGE",
        ],
        [
            "编号",
            "时间",
            "工具",
            "调用者",
            "结果",
            "规则",
            "毫秒",
            "说明",
        ],
    );
    let mut table = Table::new(&headings);
    for record in records {
        let entry = &record.entry;
        let at = entry.at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        table.row([
            record.id.to_string().as_str(),
            &at,
            &entry.tool,
            &entry.actor,
            entry.outcome.as_str(),
            entry.rule.as_deref().unwrap_or_default(),
            &(entry.duration_us / 1000).to_string(),
            entry.message.as_deref().unwrap_or_default(),
        ]);
    }
    table
}

fn filter(args: &AuditArgs, now: Timestamp, zone: TimeZone) -> Result<AuditFilter, Failure> {
    let since = match &args.since {
        None => None,
        Some(given) => Some(time(given, now, zone).ok_or_else(|| ToolFault::Value {
            of: "--since",
            given: given.clone(),
            expected: Expected::Time,
        })?),
    };
    let outcome = args.outcome.as_deref().and_then(|given| {
        let mut all = AuditOutcome::ALL.iter().copied();
        all.find(|outcome| outcome.as_str().eq_ignore_ascii_case(given))
    });
    Ok(AuditFilter {
        tool: args.tool.clone(),
        run: args.run.clone(),
        outcome,
        since,
        limit: Some(args.limit),
        ..AuditFilter::default()
    })
}

/// A moment, the beginning of a day here, or so long before now.
fn time(given: &str, now: Timestamp, zone: TimeZone) -> Option<Timestamp> {
    if let Ok(moment) = given.parse::<Timestamp>() {
        return Some(moment);
    }
    if let Ok(day) = given.parse::<Date>() {
        return Some(day.to_zoned(zone).ok()?.timestamp());
    }
    let long: Span = given.parse().ok()?;
    let before = now.to_zoned(zone).checked_sub(long.abs()).ok()?;
    Some(before.timestamp())
}

fn verify(home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let found = block_on(async {
        let store = open_store(home).await?;
        let found = store.audit().verify().await?;
        store.close().await?;
        Ok(found)
    })?;
    let ended = match found.is_intact() {
        true => Ended::Done,
        false => Ended::Failed,
    };
    match screen.json {
        true => screen.document(&found)?,
        false => screen.text(&verdict(&found, screen))?,
    }
    Ok(ended)
}

fn verdict(found: &Verification, screen: &Screen) -> String {
    let Verification {
        records,
        head,
        broken,
    } = found;
    match broken {
        None => screen.pick(
            format!("Intact: {records} records, the last with the hash {head}"),
            format!("完好：共 {records} 条记录，最后一条的哈希为 {head}"),
        ),
        Some(link) => {
            let (english, chinese) = match link.what {
                Tampering::Missing => ("is missing", "缺失"),
                Tampering::Changed => ("or the one before it was changed", "或它的前一条被改动"),
            };
            screen.pick(
                format!(
                    "Broken: record {} {english}; the {records} records before it are as they were written",
                    link.id
                ),
                format!("已被改动：第 {} 条记录{chinese}；之前的 {records} 条保持原样", link.id),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_write_them() {
        let now: Timestamp = "2026-05-10T12:00:00Z".parse().unwrap();
        for (given, expected) in [
            ("2026-05-01T08:00:00Z", Some("2026-05-01T08:00:00Z")),
            ("2026-05-01T08:00:00+02:00", Some("2026-05-01T06:00:00Z")),
            ("2026-05-01", Some("2026-05-01T00:00:00Z")),
            ("2h", Some("2026-05-10T10:00:00Z")),
            ("7d", Some("2026-05-03T12:00:00Z")),
            ("90m", Some("2026-05-10T10:30:00Z")),
            ("yesterday", None),
            ("", None),
            ("2026-13-01", None),
        ] {
            let found = time(given, now, TimeZone::UTC).map(|time| time.to_string());
            assert_eq!(found.as_deref(), expected, "{given}");
        }
    }
}
