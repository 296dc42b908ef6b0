//! What the kernel answers by itself.

use crate::{loopback, observer, told};
use dwell_core::inside::{Point, Protocol, Way};
use dwell_net::inside::Watching;
use std::net::{TcpListener, TcpStream};

const POINTS: [Point; 5] =
    [Point::Driver, Point::Protocol, Point::Discipline, Point::Xmit, Point::Handed];

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
        let (journeys, _) = told(&mut observer);
        assert_eq!(journeys.len(), 40, "{:?}", observer.losses());
        for journey in journeys {
            assert_eq!((journey.way, journey.flow.protocol), (Way::Answer, Protocol::Tcp));
            assert_eq!(journey.flow.local, address);
            let (points, times): (Vec<_>, Vec<_>) = journey.times.seen().unzip();
            assert_eq!(points, POINTS);
            assert!(times.is_sorted(), "{times:?}");
        }
    }
}
