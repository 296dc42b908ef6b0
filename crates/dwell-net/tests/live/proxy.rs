//! A bad path: stands between client and agent, passes control on, and does to probes what a rule says.

use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Which way a probe goes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    ToAgent,
    ToClient,
}

/// What becomes of a probe.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Drop,
    Twice,
    /// After the next one that passes.
    Later,
}

type Rule = Arc<Mutex<dyn FnMut(Way, usize) -> Verdict + Send>>;

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Proxy {
    /// In front of `agent`; the rule is asked with each probe's way and length.
    pub(crate) fn before(
        agent: SocketAddr,
        rule: impl FnMut(Way, usize) -> Verdict + Send + 'static,
    ) -> Self {
        let (listener, near) = loop {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            if let Ok(near) = UdpSocket::bind(listener.local_addr().unwrap()) {
                break (listener, near);
            }
        };
        let address = listener.local_addr().unwrap();
        let far = UdpSocket::bind("127.0.0.1:0").unwrap();
        far.connect(agent).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let streams = Arc::new(Mutex::new(Vec::new()));
        let rule: Rule = Arc::new(Mutex::new(rule));
        let client = Arc::new(Mutex::new(None));
        let mut threads = Vec::new();

        let pump = Pump { near, far, client, rule, stop: Arc::clone(&stop) };
        let back = pump.clone();
        threads.push(std::thread::spawn(move || pump.run(Way::ToAgent)));
        threads.push(std::thread::spawn(move || back.run(Way::ToClient)));
        let (stopping, kept) = (Arc::clone(&stop), Arc::clone(&streams));
        listener.set_nonblocking(true).unwrap();
        threads.push(std::thread::spawn(move || {
            while !stopping.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => join(stream, agent, &kept),
                    Err(_) => std::thread::sleep(Duration::from_millis(5)),
                }
            }
        }));
        Self { address, stop, streams, threads }
    }

    /// Breaks all control channels without a word.
    pub(crate) fn cut(&self) {
        for stream in self.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.cut();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Passes bytes on between a client and the agent until either ends.
fn join(client: TcpStream, agent: SocketAddr, kept: &Mutex<Vec<TcpStream>>) {
    client.set_nonblocking(false).unwrap();
    let Ok(agent) = TcpStream::connect(agent) else { return };
    let _ = (client.set_nodelay(true), agent.set_nodelay(true));
    for (from, to) in [(&client, &agent), (&agent, &client)] {
        let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        std::thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
    kept.lock().unwrap().extend([client, agent]);
}

struct Pump {
    near: UdpSocket,
    far: UdpSocket,
    client: Arc<Mutex<Option<SocketAddr>>>,
    rule: Rule,
    stop: Arc<AtomicBool>,
}

impl Clone for Pump {
    fn clone(&self) -> Self {
        Self {
            near: self.near.try_clone().unwrap(),
            far: self.far.try_clone().unwrap(),
            client: Arc::clone(&self.client),
            rule: Arc::clone(&self.rule),
            stop: Arc::clone(&self.stop),
        }
    }
}

impl Pump {
    fn run(&self, way: Way) {
        let from = if way == Way::ToAgent { &self.near } else { &self.far };
        from.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let mut buffer = vec![0; 65_536];
        let mut later = VecDeque::new();
        while !self.stop.load(Ordering::Relaxed) {
            let Ok((length, address)) = from.recv_from(&mut buffer) else { continue };
            if way == Way::ToAgent {
                *self.client.lock().unwrap() = Some(address);
            }
            let packet = &buffer[..length];
            let verdict = (self.rule.lock().unwrap())(way, length);
            match verdict {
                Verdict::Drop => {}
                Verdict::Later => later.push_back(packet.to_vec()),
                Verdict::Pass | Verdict::Twice => {
                    self.pass(way, packet);
                    if verdict == Verdict::Twice {
                        self.pass(way, packet);
                    }
                    for packet in later.drain(..) {
                        self.pass(way, &packet);
                    }
                }
            }
        }
    }

    fn pass(&self, way: Way, packet: &[u8]) {
        let client = *self.client.lock().unwrap();
        // What cannot be passed on is lost.
        let _ = match (way, client) {
            (Way::ToAgent, _) => self.far.send(packet),
            (Way::ToClient, Some(client)) => self.near.send_to(packet, client),
            (Way::ToClient, None) => Ok(0),
        };
    }
}
