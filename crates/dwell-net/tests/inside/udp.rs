//! Datagrams.

use crate::{observer, told};
use dwell_core::inside::{Point, Protocol, Way};
use dwell_net::inside::Watching;
use std::net::UdpSocket;

#[test]
fn every_datagram_is_told_with_its_reader() {
    for local in ["127.0.0.1:0", "[::1]:0"] {
        let receiver = UdpSocket::bind(local).expect("a socket");
        let address = receiver.local_addr().expect("its address");
        let sender = UdpSocket::bind(local).expect("a socket");
        let watching =
            Watching { ports: vec![address.port()], ways: vec![Way::Receive], ..Watching::default() };
        let Some(mut observer) = observer(&watching) else { return };
        for _ in 0..100 {
            sender.send_to(&[7; 33], address).expect("sent");
            receiver.recv(&mut [0; 64]).expect("received");
        }
        let (journeys, drops) = told(&mut observer);
        assert_eq!(observer.losses().sum(), 0);
        assert_eq!((journeys.len(), drops.len()), (100, 0));
        for journey in &journeys {
            assert_eq!(journey.flow.protocol, Protocol::Udp);
            assert_eq!(journey.flow.local, address);
            assert_eq!(journey.flow.remote, sender.local_addr().expect("its address"));
            assert_eq!(journey.process.as_ref().map(|process| process.pid), Some(std::process::id()));
            for point in [Point::Driver, Point::Protocol, Point::Queue, Point::Read] {
                assert!(journey.times.at(point).is_some(), "{point:?} of {journey:?}");
            }
        }
    }
}
