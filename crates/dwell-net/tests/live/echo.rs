//! Dwell's own responder, over loopback.

use dwell_core::Nanos;
use dwell_core::echo::message::{Answer, LENGTH, probe};
use dwell_net::clock;
use dwell_net::echo::{Responder, ResponderConfig, Transport};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Runs `work` against a responder.
fn against(transport: Transport, work: impl FnOnce(SocketAddr)) {
    let mut config = ResponderConfig::new(transport, "127.0.0.1:0".parse().unwrap());
    config.before_stamp = Nanos::from_micros(300);
    config.before_answer = Nanos::from_micros(700);
    let responder = Responder::bind(config).unwrap();
    let to = responder.local_addr().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    let thread = std::thread::spawn(move || responder.serve(&told).unwrap());
    work(to);
    stop.store(true, Ordering::Relaxed);
    thread.join().unwrap();
}

/// What must hold of answers to the probes 5, 6, 7, each asked after the one before was answered.
fn check(mut ask: impl FnMut(&[u8]) -> [u8; LENGTH]) {
    let mut before: Option<Answer> = None;
    for number in 5..8 {
        let began = clock::realtime();
        let answer = Answer::read(&ask(&probe(number))).unwrap();
        assert_eq!(answer.number, number);
        let arrived = answer.arrived.expect("the kernel stamps what comes");
        assert!(began <= arrived && answer.t5 <= clock::realtime(), "{answer:?}");
        assert!(answer.t3 - arrived >= Nanos::from_micros(300), "{answer:?}");
        assert!(answer.t5 - answer.t3 >= Nanos::from_micros(700), "{answer:?}");
        if let Some(before) = before {
            let (earlier, departed) = answer.earlier.expect("the kernel stamps what goes");
            assert!(earlier == before.number && departed >= before.t5 && departed < answer.t3, "{answer:?}");
        }
        before = Some(answer);
    }
}

#[test]
fn datagrams_are_answered_with_the_hosts_stamps() {
    against(Transport::Udp, |to| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(to).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        // Strangers' bytes, and answers, are not answered.
        socket.send(b"hello").unwrap();
        let strange = Answer { number: 1, arrived: None, t3: Nanos(1), t5: Nanos(2), earlier: None };
        socket.send(&strange.write()).unwrap();
        check(|bytes| {
            socket.send(bytes).unwrap();
            let mut answer = [0; LENGTH];
            assert_eq!(socket.recv(&mut answer).unwrap(), LENGTH);
            answer
        });
    });
}

#[test]
fn segments_are_answered_and_strangers_hung_up_on() {
    against(Transport::Tcp, |to| {
        let connect = || {
            let stream = TcpStream::connect(to).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            stream.set_nodelay(true).unwrap();
            stream
        };
        let mut stranger = connect();
        stranger.write_all(&[b'x'; LENGTH]).unwrap();
        assert_eq!(stranger.read(&mut [0; LENGTH]).unwrap_or(0), 0);
        let mut stream = connect();
        check(|bytes| {
            stream.write_all(bytes).unwrap();
            let mut answer = [0; LENGTH];
            stream.read_exact(&mut answer).unwrap();
            answer
        });
    });
}
