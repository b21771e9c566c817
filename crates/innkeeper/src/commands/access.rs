//! `innkeeper access …`: who may come in over the network.

use std::time::Duration;

use innkeeper_server::auth::Doorkeeper;
use innkeeper_server::limits::CODE_LIFE;
use innkeeper_store::AccessToken;
use innkeeper_store::limits::MAX_ACCESS_NAME_CHARS;
use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::Ended;
use super::serve::OWNER;
use crate::cli::{AccessCommand, AccessPairArgs, AccessTokenArgs};
use crate::failure::{Failure, ServeFault};
use crate::home::Home;
use crate::output::Screen;
use crate::platform::open_store;
use crate::runtime::block_on;
use crate::table::Table;

pub(crate) fn run(command: &AccessCommand, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    block_on(async {
        let store = open_store(home).await?;
        let doorkeeper = Doorkeeper::new(store.access().clone());
        let done = match command {
            AccessCommand::Pair(args) => pair(args, &doorkeeper, screen).await,
            AccessCommand::Token(args) => token(args, &doorkeeper, screen).await,
            AccessCommand::List => list(&doorkeeper, screen).await,
            AccessCommand::Revoke(args) => revoke(&args.id, &doorkeeper, screen).await,
        };
        store.close().await?;
        done.map(|()| Ended::Done)
    })
}

async fn pair(
    args: &AccessPairArgs,
    doorkeeper: &Doorkeeper,
    screen: &Screen,
) -> Result<(), Failure> {
    let name = named(&args.name)?;
    let code = doorkeeper.code(name, OWNER, args.scope.into(), CODE_LIFE, Timestamp::now());
    let code = code.await.map_err(ServeFault::from)?.text();
    let code = code.expose();
    if screen.json {
        let seconds = CODE_LIFE.as_secs();
        return screen.document(&json!({ "code": code, "expiresInSeconds": seconds }));
    }
    screen.text(code)?;
    let minutes = CODE_LIFE.as_secs() / 60;
    screen.note(
        &format!("Type it on the page of the server within {minutes} minutes; it works once"),
        &format!("请在 {minutes} 分钟内在服务器的网页上输入；只能用一次"),
    );
    Ok(())
}

async fn token(
    args: &AccessTokenArgs,
    doorkeeper: &Doorkeeper,
    screen: &Screen,
) -> Result<(), Failure> {
    let name = named(&args.name)?;
    let life = args
        .days
        .map(|days| Duration::from_secs(u64::from(days) * 24 * 3600));
    let issued = doorkeeper.issue(name, OWNER, args.scope.into(), life, Timestamp::now());
    let issued = issued.await.map_err(ServeFault::from)?;
    if screen.json {
        let mut told = shown(&issued.kept);
        if let Json::Object(fields) = &mut told {
            fields.insert("token".to_owned(), issued.token.expose().into());
        }
        return screen.document(&told);
    }
    screen.text(issued.token.expose())?;
    screen.note(
        "It is shown this once; innkeeper access revoke takes it back",
        "只显示这一次；innkeeper access revoke 可以收回",
    );
    Ok(())
}

async fn list(doorkeeper: &Doorkeeper, screen: &Screen) -> Result<(), Failure> {
    let tokens = doorkeeper.access().tokens().await?;
    if screen.json {
        let tokens: Vec<Json> = tokens.iter().map(shown).collect();
        return screen.document(&json!({ "tokens": tokens }));
    }
    if tokens.is_empty() {
        screen.note("Nobody may come in yet", "还没有人可以进来");
        return Ok(());
    }
    let headings = screen.pick(
        ["ID", "NAME", "SCOPE", "SINCE", "EXPIRES", "LAST USED"],
        ["ID", "名称", "范围", "创建时间", "失效时间", "最近使用"],
    );
    let now = Timestamp::now();
    let mut table = Table::new(&headings);
    for token in &tokens {
        let expires = match token.expires_at {
            Some(_) if token.has_expired(now) => screen.pick("expired", "已失效").to_owned(),
            Some(end) => end.to_string(),
            None => screen.pick("never", "永不").to_owned(),
        };
        let used = token.used_at.map(|used| used.to_string());
        table.row([
            token.id.as_str(),
            &token.name,
            token.scope.as_str(),
            &token.created_at.to_string(),
            &expires,
            used.as_deref().unwrap_or("-"),
        ]);
    }
    screen.table(&table)
}

async fn revoke(id: &str, doorkeeper: &Doorkeeper, screen: &Screen) -> Result<(), Failure> {
    if !doorkeeper.access().revoke_token(id).await? {
        return Err(ServeFault::UnknownToken(id.to_owned()).into());
    }
    match screen.json {
        true => screen.document(&json!({ "revoked": id }))?,
        false => screen.note(
            &format!("The token {id} opens nothing any more"),
            &format!("令牌 {id} 已失效"),
        ),
    }
    Ok(())
}

fn shown(token: &AccessToken) -> Json {
    json!(token)
}

fn named(name: &str) -> Result<&str, ServeFault> {
    let name = name.trim();
    let is_fine = !name.is_empty()
        && name.chars().count() <= MAX_ACCESS_NAME_CHARS
        && !name.chars().any(char::is_control);
    is_fine.then_some(name).ok_or(ServeFault::Name)
}
