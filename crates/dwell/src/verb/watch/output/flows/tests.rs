use super::*;
use dwell_core::tcp::{Flags, Half};
use std::net::{Ipv4Addr, SocketAddr};

/// One flow, in a message of its own.
fn flow(exporter: &mut Exporter) {
    let end = |last| Endpoint { address: Ipv4Addr::new(192, 0, 2, last).into(), port: 443 };
    let half = Half::Exact(Nanos(1_000_000));
    let told = Handshake {
        client: end(1),
        server: end(2),
        isn_client: 0,
        isn_server: Some(0),
        first_at: Nanos(0),
        syn_at: Some(Nanos(0)),
        server_half: half,
        client_half: half,
        total: half.then(half),
        ending: Ending::Established,
        syns: 1,
        syn_acks: 1,
        flags: Flags::default(),
    };
    exporter.take(&told).expect("taken");
    exporter.flush().expect("sent");
}

/// The numbers of the sets that a collector is sent, each the first of its message: 2 is that of the templates, and 259 that of
/// flows of IPv4 with both halves.
fn sets(collector: &UdpSocket) -> Vec<u16> {
    collector.set_read_timeout(Some(Duration::from_millis(200))).expect("set");
    let mut message = [0; 2_000];
    let receive =
        || collector.recv(&mut message).ok().map(|_| u16::from_be_bytes([message[16], message[17]]));
    std::iter::from_fn(receive).collect()
}

fn listen(at: &str) -> (UdpSocket, SocketAddr) {
    let collector = UdpSocket::bind(at).expect("a socket");
    let at = collector.local_addr().expect("bound");
    (collector, at)
}

#[test]
fn a_collector_that_starts_anew_gets_the_templates_before_the_next_flow() {
    let (first, at) = listen("127.0.0.1:0");
    let mut exporter = Exporter::to(&at.to_string(), Protocol::Ipfix, "p", true).expect("opened");
    (0..2).for_each(|_| flow(&mut exporter));
    assert_eq!(sets(&first), [2, 259, 259]);
    drop(first);
    flow(&mut exporter);
    let (second, _) = listen(&at.to_string());
    (0..2).for_each(|_| flow(&mut exporter));
    assert_eq!(sets(&second), [2, 259, 259]);
    assert_eq!(exporter.unsent, 1);
}

#[test]
fn a_collector_that_starts_late_gets_the_templates_in_time() {
    let (collector, at) = listen("127.0.0.1:0");
    let mut exporter = Exporter::to(&at.to_string(), Protocol::Ipfix, "p", true).expect("opened");
    flow(&mut exporter);
    let earlier = Instant::now().checked_sub(Duration::from_secs(31)).expect("some time after the start");
    exporter.reminder.told(earlier);
    (0..2).for_each(|_| flow(&mut exporter));
    assert_eq!(sets(&collector), [2, 259, 2, 259, 259]);
}
