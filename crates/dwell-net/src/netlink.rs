//! The one thing of an interface that only rtnetlink tells: its queueing discipline.

use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};
use std::io;
use std::os::fd::AsRawFd;

/// RTM_NEWLINK, RTM_GETLINK and NLM_F_REQUEST (linux/rtnetlink.h, linux/netlink.h).
const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const REQUEST: u16 = 1;
/// IFLA_QDISC (linux/if_link.h).
const DISCIPLINE: u16 = 6;
/// Sizes of struct nlmsghdr and struct ifinfomsg.
const HEADER: usize = 16;
const LINK: usize = 16;

/// The kind of the root queueing discipline of the interface with this index, in the calling thread's namespace.
pub(crate) fn discipline(index: u32) -> io::Result<Option<String>> {
    let kind = SockType::Raw;
    let fd = socket(AddressFamily::Netlink, kind, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
    let mut request = Vec::with_capacity(HEADER + LINK);
    request.extend(((HEADER + LINK) as u32).to_ne_bytes());
    request.extend([GET_LINK, REQUEST].map(u16::to_ne_bytes).concat());
    // Sequence number, port, and of the interface: family, type, index, flags, which flags.
    request.extend([0, 0, 0, index, 0, 0].map(u32::to_ne_bytes).concat());
    send(fd.as_raw_fd(), &request, MsgFlags::empty())?;
    let mut answer = vec![0; 32 << 10];
    let length = recv(fd.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    Ok(read(answer.get(..length).unwrap_or_default()))
}

/// The discipline in a message RTM_NEWLINK.
fn read(message: &[u8]) -> Option<String> {
    if word(message, 4)? != NEW_LINK {
        return None;
    }
    let mut rest = message.get(HEADER + LINK..)?;
    loop {
        let (length, kind) = (usize::from(word(rest, 0)?), word(rest, 2)?);
        let value = rest.get(4..length)?;
        if kind == DISCIPLINE {
            let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
            return Some(String::from_utf8_lossy(&value[..end]).into_owned());
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_loopback_has_one() {
        let index = nix::net::if_::if_nametoindex("lo").unwrap();
        assert!(discipline(index).unwrap().is_some_and(|name| !name.is_empty()));
        assert_eq!(discipline(u32::MAX / 2).unwrap(), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut message = vec![0, 0, 0, 0, 16, 0];
            message.extend(bytes);
            let _ = read(&message);
        }
    }
}
