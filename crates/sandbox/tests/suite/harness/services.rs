//! Services of the host that no program may reach, and whether one did.

use std::io::{self, ErrorKind};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;

pub(crate) struct Services {
    tcp: TcpListener,
    udp: UdpSocket,
    named: Vec<UnixListener>,
    datagrams: Vec<UnixDatagram>,
}

impl Services {
    pub(crate) fn start(token: &str, places: &[&Path], datagrams: &Path) -> io::Result<Self> {
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        let udp = UdpSocket::bind("127.0.0.1:0")?;
        tcp.set_nonblocking(true)?;
        udp.set_nonblocking(true)?;
        let mut named = vec![UnixListener::bind_addr(&SocketAddr::from_abstract_name(
            token,
        )?)?];
        for place in places {
            named.push(UnixListener::bind(place)?);
            // Only the sandbox stands between a program and this socket.
            std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o777))?;
        }
        let abstract_name = SocketAddr::from_abstract_name(format!("{token}-datagram"))?;
        let datagrams = vec![
            UnixDatagram::bind_addr(&abstract_name)?,
            UnixDatagram::bind(datagrams)?,
        ];
        for listener in &named {
            listener.set_nonblocking(true)?;
        }
        for socket in &datagrams {
            socket.set_nonblocking(true)?;
        }
        Ok(Self {
            tcp,
            udp,
            named,
            datagrams,
        })
    }

    pub(crate) fn tcp_port(&self) -> u16 {
        self.tcp.local_addr().unwrap().port()
    }

    pub(crate) fn udp_port(&self) -> u16 {
        self.udp.local_addr().unwrap().port()
    }

    /// What was reached since the last time.
    pub(crate) fn reached(&self) -> Vec<&'static str> {
        let mut reached = Vec::new();
        let mut note = |name, waiting: Option<ErrorKind>| {
            if waiting != Some(ErrorKind::WouldBlock) {
                reached.push(name);
            }
        };
        let mut byte = [0];
        note("TCP", self.tcp.accept().err().map(|e| e.kind()));
        note("UDP", self.udp.recv(&mut byte).err().map(|e| e.kind()));
        for listener in &self.named {
            note("Unix stream", listener.accept().err().map(|e| e.kind()));
        }
        for socket in &self.datagrams {
            note(
                "Unix datagram",
                socket.recv(&mut byte).err().map(|e| e.kind()),
            );
        }
        reached
    }
}
