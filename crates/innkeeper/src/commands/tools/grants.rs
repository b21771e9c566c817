//! `innkeeper tools grants`: what was answered with "always".

use std::collections::BTreeSet;

use innkeeper_store::Grant;
use innkeeper_tools::policy::Decision;
use serde::Serialize;
use serde_json::json;

use super::Ended;
use crate::cli::GrantsArgs;
use crate::failure::{Failure, ToolFault};
use crate::home::Home;
use crate::output::Screen;
use crate::platform::open_store;
use crate::runtime::block_on;
use crate::settings::{self, Settings};
use crate::table::Table;

/// A grant as it is listed.
#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    grant: Grant,
    /// A rule asks what it answers.
    used: bool,
}

pub(super) fn run(args: &GrantsArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    match args.revoke {
        Some(id) => revoke(id, home, screen),
        None => list(home, screen),
    }
}

fn revoke(id: i64, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let was_there = block_on(async {
        let store = open_store(home).await?;
        let was_there = store.grants().revoke(id).await?;
        store.close().await?;
        Ok(was_there)
    })?;
    if !was_there {
        return Err(ToolFault::UnknownGrant(id).into());
    }
    match screen.json {
        true => screen.document(&json!({ "revoked": id }))?,
        false => screen.note(
            &format!("Grant {id} is revoked: it will be asked again"),
            &format!("许可 {id} 已收回：今后会重新询问"),
        ),
    }
    Ok(Ended::Done)
}

fn list(home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let grants = block_on(async {
        let store = open_store(home).await?;
        let grants = store.grants().list().await?;
        store.close().await?;
        Ok(grants)
    })?;
    let settings = Settings::read(&home.file(settings::FILE))?;
    let rules = settings.policy.rules();
    let asked: BTreeSet<String> = rules
        .filter(|rule| rule.decision == Decision::Ask)
        .map(|rule| rule.says())
        .collect();
    let grants: Vec<Listed> = grants
        .into_iter()
        .map(|grant| Listed {
            used: asked.contains(&grant.key.rule),
            grant,
        })
        .collect();
    if screen.json {
        screen.document(&grants)?;
        return Ok(Ended::Done);
    }
    if grants.is_empty() {
        screen.note("Nothing was allowed for always", "没有“始终允许”的许可");
        return Ok(Ended::Done);
    }
    let headings = screen.pick(
        ["ID", "TOOL", "SOURCE", "FOR", "RULE", "SINCE", "USED"],
        ["编号", "工具", "来源", "对象", "规则", "时间", "有效"],
    );
    let mut table = Table::new(&headings);
    for Listed { grant, used } in &grants {
        table.row([
            grant.id.to_string().as_str(),
            &grant.key.tool,
            &grant.key.source,
            &grant.key.actor,
            &grant.key.rule,
            &grant.at.to_string(),
            match used {
                true => screen.pick("yes", "是"),
                false => screen.pick("no", "否"),
            },
        ]);
    }
    screen.table(&table)?;
    if let Some(Listed { grant, .. }) = grants.iter().find(|listed| !listed.used) {
        let id = grant.id;
        screen.note(
            &format!("What is not used answers what no rule asks any more: innkeeper tools grants --revoke {id} removes it"),
            &format!("“否”表示已没有规则询问这件事：innkeeper tools grants --revoke {id} 可删除"),
        );
    }
    Ok(Ended::Done)
}
