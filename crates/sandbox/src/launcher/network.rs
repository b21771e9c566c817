//! The network of the room: nothing, or a loopback device with doors that somebody outside listens at.

use std::net::{SocketAddrV4, TcpListener};
use std::os::fd::AsFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::{Result, other, sys};

pub(super) fn open(doors: &[SocketAddrV4]) -> Result<Vec<TcpListener>> {
    if doors.is_empty() {
        return Ok(Vec::new());
    }
    let socket = rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(|error| other("opening the network", error))?;
    sys::loopback_up(socket.as_fd()).map_err(|error| other("switching loopback on", error))?;
    let open = |door: &SocketAddrV4| {
        TcpListener::bind(door).map_err(|error| other(&format!("opening the door {door}"), error))
    };
    doors.iter().map(open).collect()
}
