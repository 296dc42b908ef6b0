//! Streams.

use crate::{loopback, observer, told};
use dwell_core::inside::{Point, Protocol, Way};
use dwell_net::inside::Watching;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

#[test]
fn every_segment_with_data_is_told_once() {
    for local in loopback() {
        let listener = TcpListener::bind(local).expect("a socket");
        let address = listener.local_addr().expect("its address");
        let watching = Watching { ports: vec![address.port()], ..Watching::default() };
        let Some(mut observer) = observer(&watching) else { return };
        let mut client = TcpStream::connect(address).expect("a connection");
        client.set_nodelay(true).expect("at once");
        let (mut server, _) = listener.accept().expect("a connection");
        for _ in 0..200 {
            client.write_all(&[3; 100]).expect("sent");
            server.read_exact(&mut [0; 100]).expect("received");
            server.write_all(&[4; 50]).expect("sent");
            client.read_exact(&mut [0; 50]).expect("received");
        }
        let (journeys, drops) = told(&mut observer);
        assert_eq!((drops.len(), observer.losses().sum()), (0, 0), "{drops:?}");
        let header = if local.is_ipv4() { 52 } else { 72 };
        for (way, size) in [(Way::Receive, 100), (Way::Receive, 50), (Way::Send, 100), (Way::Send, 50)] {
            let of: Vec<_> = journeys
                .iter()
                .filter(|journey| journey.way == way && journey.size.0 == size + header)
                .collect();
            assert_eq!(of.len(), 200, "{way:?} of {size}");
            for journey in of {
                assert_eq!(journey.flow.protocol, Protocol::Tcp);
                let to_server = (size == 100) == (way == Way::Receive);
                let own = if to_server { journey.flow.local } else { journey.flow.remote };
                assert_eq!(own, address, "{journey:?}");
                if way == Way::Receive {
                    for point in [Point::Driver, Point::Protocol, Point::Queue, Point::Read] {
                        assert!(journey.times.at(point).is_some(), "{point:?} of {journey:?}");
                    }
                }
                let times: Vec<_> = journey.times.seen().map(|(_, time)| time).collect();
                assert!(times.is_sorted(), "{journey:?}");
            }
        }
    }
}

#[test]
fn a_stream_that_is_read_late_and_in_pieces_is_accounted_for() {
    let [local, _] = loopback();
    let listener = TcpListener::bind(local).expect("a socket");
    let address = listener.local_addr().expect("its address");
    let watching = Watching { ports: vec![address.port()], ways: vec![Way::Receive], ..Watching::default() };
    let Some(mut observer) = observer(&watching) else { return };
    let mut client = TcpStream::connect(address).expect("a connection");
    client.set_nodelay(true).expect("at once");
    let (mut server, _) = listener.accept().expect("a connection");
    for _ in 0..30 {
        client.write_all(&[3; 100]).expect("sent");
    }
    // 70 bytes a read: some reads end within a segment, some end two.
    for _ in 0..42 {
        server.read_exact(&mut [0; 70]).expect("received");
    }
    server.read_exact(&mut [0; 60]).expect("received");
    let (journeys, _) = told(&mut observer);
    assert_eq!(journeys.len(), 30, "{:?}", observer.losses());
    let reads: Vec<_> = journeys.iter().map(|journey| journey.times.at(Point::Read)).collect();
    assert!(reads.is_sorted());
}
