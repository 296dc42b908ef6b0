//! What the kernel answers by itself.

use crate::{loopback, observer, told};
use dwell_core::inside::{Point, Protocol, Way};
use dwell_net::inside::Watching;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrStorage, sendto, socket,
};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

const POINTS: [Point; 5] = [Point::Driver, Point::Protocol, Point::Discipline, Point::Xmit, Point::Handed];

#[test]
fn a_handshake_and_a_refusal_are_answers() {
    for local in loopback() {
        let listener = TcpListener::bind(local).expect("a socket");
        let address = listener.local_addr().expect("its address");
        let watching =
            Watching { ports: vec![address.port()], ways: vec![Way::Answer], ..Watching::default() };
        let Some(mut observer) = observer(&watching) else { return };
        (0..20).for_each(|_| assert!(TcpStream::connect(address).is_ok()));
        drop(listener);
        (0..20).for_each(|_| assert!(TcpStream::connect(address).is_err()));
        let (journeys, drops) = told(&mut observer);
        assert_eq!(journeys.len(), 40, "{:?} {drops:?} {journeys:?}", observer.losses());
        for journey in journeys {
            assert_eq!((journey.way, journey.flow.protocol), (Way::Answer, Protocol::Tcp));
            assert_eq!(journey.flow.local, address);
            let (points, times): (Vec<_>, Vec<_>) = journey.times.seen().unzip();
            assert_eq!(points, POINTS);
            assert!(times.is_sorted(), "{times:?}");
        }
    }
}

/// The sum that makes an ICMP message right.
fn checksum(message: &[u8]) -> [u8; 2] {
    let sum: u32 = message.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    (!(folded as u16)).to_be_bytes()
}

#[test]
fn an_echo_is_answered_by_the_kernel() {
    for (local, request, protocol) in
        [(loopback()[0], 8, SockProtocol::Icmp), (loopback()[1], 128, SockProtocol::IcmpV6)]
    {
        let watching =
            Watching { addresses: vec![local.ip()], ways: vec![Way::Answer], ..Watching::default() };
        let Some(mut observer) = observer(&watching) else { return };
        let family = if local.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        let raw = socket(family, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol).expect("a raw socket");
        let identifier = std::process::id() as u16;
        for number in 0..20_u8 {
            let [high, low] = identifier.to_be_bytes();
            let mut message = [request, 0, 0, 0, high, low, 0, number];
            let sum = checksum(&message);
            message[2..4].copy_from_slice(&sum);
            sendto(raw.as_raw_fd(), &message, &SockaddrStorage::from(local), MsgFlags::empty())
                .expect("sent");
        }
        let (journeys, _) = told(&mut observer);
        let ours = journeys.iter().filter(|journey| {
            journey.flow.protocol == Protocol::Icmp && journey.flow.local.port() == identifier
        });
        let mut count = 0;
        for journey in ours {
            assert_eq!(journey.way, Way::Answer);
            let (points, times): (Vec<_>, Vec<_>) = journey.times.seen().unzip();
            assert_eq!(points, POINTS);
            assert!(times.is_sorted(), "{times:?}");
            count += 1;
        }
        assert_eq!(count, 20);
    }
}
