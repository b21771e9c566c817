//! `innkeeper serve`: the doors to the network, until somebody stops it.

use std::net::SocketAddr;
use std::sync::Arc;

use innkeeper_server::auth::Doorkeeper;
use innkeeper_server::limits::CODE_LIFE;
use innkeeper_server::{Clients, OneHouse, Server, ServerOptions};
use innkeeper_store::Scope;
use jiff::Timestamp;
use serde_json::json;

use super::Ended;
use super::runs::House;
use crate::approve::Approve;
use crate::cli::ServeArgs;
use crate::failure::{Failure, ServeFault};
use crate::home::Home;
use crate::output::Screen;
use crate::runtime::{Stop, block_on};

/// Whose the house is, where there is one person.
pub(super) const OWNER: &str = "default";

pub(crate) fn run(args: &ServeArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let options = options(args);
    options.check().map_err(ServeFault::from)?;
    block_on(async {
        let stop = Stop::default();
        stop.listen();
        let clients = Clients::default();
        let approver = Approve::Nobody.approver(screen);
        let house = House::open_for(&clients, home, approver, screen).await?;
        let served = serve(&house, clients, options, &stop, screen).await;
        let closed = house.close(screen).await;
        served?;
        closed?;
        Ok(Ended::Done)
    })
}

async fn serve(
    house: &House,
    clients: Clients,
    options: ServerOptions,
    stop: &Stop,
    screen: &Screen,
) -> Result<(), Failure> {
    let doorkeeper = Doorkeeper::new(house.store().access().clone());
    let served = innkeeper_server::House::open(house.served(clients));
    let houses = Arc::new(OneHouse(served.clone()));
    let wanted = options.address;
    let server = Server::bind(options, houses, doorkeeper.clone(), stop.asked.clone());
    let server = server.await.map_err(|why| ServeFault::Bind {
        address: wanted,
        why,
    })?;
    house.runtime.recover().await?;
    tell(server.address(), &doorkeeper, screen).await?;
    tokio::select! {
        () = server.run() => {}
        () = stop.urged.cancelled() => {}
    }
    served.close().await;
    Ok(())
}

async fn tell(
    address: SocketAddr,
    doorkeeper: &Doorkeeper,
    screen: &Screen,
) -> Result<(), Failure> {
    let code = doorkeeper.code(
        "start-up link",
        OWNER,
        Scope::Admin,
        CODE_LIFE,
        Timestamp::now(),
    );
    let code = code.await.map_err(ServeFault::from)?;
    let url = format!("http://{address}");
    // Behind the `#` it is neither sent nor logged by anybody.
    let link = format!("{url}/#pair={}", code.text().expose());
    if screen.json {
        return screen.document(&json!({ "url": url, "link": link }));
    }
    let minutes = CODE_LIFE.as_secs() / 60;
    screen.text(&screen.pick(
        format!(
            "Innkeeper listens at {url}\nOpen this link, once, within {minutes} minutes: {link}\nCtrl-C stops it."
        ),
        format!(
            "Innkeeper 正在监听 {url}\n请在 {minutes} 分钟内打开这个链接，只能用一次：{link}\n按 Ctrl-C 停止。"
        ),
    ))
}

fn options(args: &ServeArgs) -> ServerOptions {
    let mut options = ServerOptions::local(args.port);
    options.address = SocketAddr::new(args.address, args.port);
    options.beyond_this_machine = args.beyond_this_machine;
    options.hosts.clone_from(&args.host_name);
    options.origins.clone_from(&args.allow_origin);
    options
}
