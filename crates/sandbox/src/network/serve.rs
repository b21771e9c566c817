//! Waiting at the doors.

use std::io;
use std::net::TcpListener as StdListener;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::grant::Grants;
use super::proxy::{direct, proxied};
use super::resolve::Resolver;
use super::{Door, DoorKind};
use crate::HostGrant;
use crate::limits::{ACCEPT_PAUSE, MAX_CONNECTIONS};

/// While it lives, the doors are served. With it all connections end.
#[derive(Debug)]
pub(crate) struct NetworkGuard {
    _doors: JoinSet<()>,
}

/// Serves the doors of one program, from within a tokio runtime.
pub(crate) fn serve(
    doors: Vec<(Door, StdListener)>,
    grants: Vec<HostGrant>,
    resolver: Arc<dyn Resolver>,
) -> io::Result<NetworkGuard> {
    let runtime = Handle::try_current().map_err(io::Error::other)?;
    let grants = Grants::new(&grants).map_err(io::Error::other)?;
    let house = Arc::new(House {
        grants,
        resolver,
        places: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
    });
    let mut served = JoinSet::new();
    for (door, listener) in doors {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        served.spawn_on(wait(listener, door.kind, Arc::clone(&house)), &runtime);
    }
    Ok(NetworkGuard { _doors: served })
}

struct House {
    grants: Grants,
    resolver: Arc<dyn Resolver>,
    places: Arc<Semaphore>,
}

/// Its connections belong to it, and end with it.
async fn wait(listener: TcpListener, kind: DoorKind, house: Arc<House>) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((program, _)) = accepted else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&house.places).acquire_owned().await else {
            return;
        };
        let (kind, house) = (kind.clone(), Arc::clone(&house));
        connections.spawn(async move {
            let resolver = house.resolver.as_ref();
            // How it ended is seen at both ends; there is nobody else to tell.
            let _ = match &kind {
                DoorKind::Proxy => proxied(program, &house.grants, resolver).await,
                DoorKind::Host { host, port } => {
                    direct(program, host, *port, &house.grants, resolver).await
                }
            };
            drop(place);
        });
    }
}

#[cfg(test)]
#[path = "serve_tests.rs"]
mod tests;
