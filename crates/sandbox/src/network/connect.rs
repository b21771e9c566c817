//! The way out: a granted host's addresses, all of them judged, and a connection to one of those very addresses.

use std::net::{IpAddr, SocketAddr};

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::address::{hands_out_keys, judge};
use super::grant::{Grants, Permit};
use super::host::Host;
use super::refusal::{Refusal, Status};
use super::resolve::Resolver;
use crate::limits::{CONNECT_ATTEMPT, CONNECT_TIMEOUT, MAX_ADDRESSES};

/// Connects to a host if it was granted and leads nowhere it must not.
pub(super) async fn reach(
    host: &Host,
    port: u16,
    grants: &Grants,
    resolver: &dyn Resolver,
) -> Result<TcpStream, Refusal> {
    let permit = grants.permit(host, port)?;
    let reached = async {
        let addresses = addresses(host, permit, resolver).await?;
        connect(host, port, &addresses).await
    };
    timeout(CONNECT_TIMEOUT, reached)
        .await
        .unwrap_or_else(|_| Err(too_late(host)))
}

/// One bad address spoils the rest: a name that leads both outside and inside is what an attack by DNS looks like.
async fn addresses(
    host: &Host,
    permit: Permit,
    resolver: &dyn Resolver,
) -> Result<Vec<IpAddr>, Refusal> {
    let found = match host {
        Host::Address(address) => vec![*address],
        Host::Name(name) => resolver.resolve(name).await.map_err(|error| {
            Refusal::new(
                Status::Unreachable,
                format_args!("the address of {host} was not found: {error}"),
            )
        })?,
    };
    for address in &found {
        look_at(host, *address, permit)?;
    }
    match found.is_empty() {
        true => Err(Refusal::new(
            Status::Unreachable,
            format_args!("the name {host} has no address"),
        )),
        false => Ok(found),
    }
}

fn look_at(host: &Host, address: IpAddr, permit: Permit) -> Result<(), Refusal> {
    let Some(inside) = judge(address) else {
        return Ok(());
    };
    let kind = inside.kind;
    let why = if inside.never || hands_out_keys(address) {
        format!("{host} leads to {kind} address, which no program may reach: use another host")
    } else if !permit.private {
        format!(
            "{host} leads to {kind} address, which this program was not granted: grant the host as a private one to let it through"
        )
    } else {
        return Ok(());
    };
    Err(Refusal::new(Status::Forbidden, why))
}

async fn connect(host: &Host, port: u16, addresses: &[IpAddr]) -> Result<TcpStream, Refusal> {
    let mut refusal = too_late(host);
    for address in addresses.iter().take(MAX_ADDRESSES) {
        let attempt = TcpStream::connect(SocketAddr::new(*address, port));
        match timeout(CONNECT_ATTEMPT, attempt).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => {
                refusal = Refusal::new(
                    Status::Unreachable,
                    format_args!("no connection to port {port} of {host}: {error}"),
                );
            }
            Err(_) => refusal = too_late(host),
        }
    }
    Err(refusal)
}

fn too_late(host: &Host) -> Refusal {
    Refusal::new(
        Status::ConnectTimeout,
        format_args!("{host} did not answer in time: try again later"),
    )
}
