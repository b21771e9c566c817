//! The socket between the launcher and whoever started it: packets, some with descriptors.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::wire::Message;

/// Descriptors in one packet.
const MOST: usize = crate::limits::MAX_DOORS;

pub(crate) fn send(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(rustix::io::Errno::INVAL);
    }
    let data = [IoSlice::new(bytes)];
    rustix::io::retry_on_intr(|| sendmsg(socket, &data, &mut control, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// An empty packet is the end.
pub(crate) fn receive(socket: BorrowedFd<'_>) -> rustix::io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut bytes = vec![0; MAX_PACKET];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut bytes)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    bytes.truncate(received.bytes);
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(given) = message {
            descriptors.extend(given);
        }
    }
    Ok((bytes, descriptors))
}

const MAX_PACKET: usize = 64 << 10;

/// Nobody may listen any more; then there is nobody to be told.
pub(super) fn tell(socket: BorrowedFd<'_>, message: &Message, descriptors: &[BorrowedFd<'_>]) {
    if let Ok(bytes) = serde_json::to_vec(message) {
        let _ = send(socket, &bytes, descriptors);
    }
}
