//! `innkeeper tools grants`: what was answered with "always".

use serde_json::json;

use super::Ended;
use crate::cli::GrantsArgs;
use crate::failure::{Failure, ToolFault};
use crate::home::Home;
use crate::output::Screen;
use crate::platform::open_store;
use crate::runtime::block_on;
use crate::table::Table;

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
    if screen.json {
        screen.document(&grants)?;
        return Ok(Ended::Done);
    }
    if grants.is_empty() {
        screen.note("Nothing was allowed for always", "没有“始终允许”的许可");
        return Ok(Ended::Done);
    }
    let headings = screen.pick(
        ["ID", "TOOL", "SOURCE", "FOR", "RULE", "SINCE"],
        ["编号", "工具", "来源", "对象", "规则", "时间"],
    );
    let mut table = Table::new(&headings);
    for grant in grants {
        table.row([
            grant.id.to_string().as_str(),
            &grant.key.tool,
            &grant.key.source,
            &grant.key.actor,
            &grant.key.rule,
            &grant.at.to_string(),
        ]);
    }
    screen.table(&table)?;
    Ok(Ended::Done)
}
