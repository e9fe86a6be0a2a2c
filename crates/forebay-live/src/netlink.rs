//! Requests to the kernel's network configuration (rtnetlink(7)), in the namespace of the thread.

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// A socket for requests.
pub(crate) struct Requests(Socket);

/// Flags of requests that make something new.
pub(crate) const CREATE: u16 = NLM_F_CREATE | NLM_F_EXCL;

impl Requests {
    pub(crate) fn open() -> io::Result<Requests> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Requests(socket))
    }

    /// Make one request and wait for the kernel's answer.
    pub(crate) fn make(&self, request: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(request));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.0.send(&bytes, 0)?;
        let (answer, _) = self.0.recv_from_full()?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer);
        match answer.map_err(io::Error::other)?.payload {
            NetlinkPayload::Error(error) if error.code.is_none() => Ok(()),
            NetlinkPayload::Error(error) => Err(error.to_io()),
            other => Err(io::Error::other(format!("unexpected answer {other:?}"))),
        }
    }
}

/// Tells that an interface of the namespace came, went or changed.
pub(crate) struct LinkChanges(Socket);

/// `RTMGRP_LINK` of `linux/rtnetlink.h`.
const RTMGRP_LINK: u32 = 1;

impl LinkChanges {
    pub(crate) fn open() -> io::Result<LinkChanges> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind(&SocketAddr::new(0, RTMGRP_LINK))?;
        socket.set_non_blocking(true)?;
        Ok(LinkChanges(socket))
    }
    /// True if there was a change since the last call.
    pub(crate) fn take(&self) -> bool {
        let mut changed = false;
        let mut message = [0u8; 64];
        // An overflow of the socket (ENOBUFS) is a change, too.
        while !matches!(self.0.recv(&mut &mut message[..], 0),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock)
        {
            changed = true;
        }
        changed
    }
}

impl AsFd for LinkChanges {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
