//! One end of a QUIC connection, which sends what it has to say late, and keeps account of when.

use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, Event, ServerConfig,
};
use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A datagram that was sent. The kernel stamped it within the call.
pub(super) struct Sent {
    pub(super) by_client: bool,
    /// Nanoseconds since the epoch, before the call and after it.
    pub(super) before: i64,
    pub(super) after: i64,
    /// Its first byte, never encrypted as far as the form and the spin bit.
    pub(super) first: u8,
}

impl Sent {
    pub(super) const fn is_long(&self) -> bool {
        self.first & 0x80 != 0
    }

    pub(super) const fn spin(&self) -> bool {
        self.first & 0x20 != 0
    }
}

fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as i64
}

/// One end.
pub(super) struct End {
    endpoint: Endpoint,
    socket: UdpSocket,
    connection: Option<(ConnectionHandle, Connection)>,
    delay: Duration,
    late: VecDeque<(Instant, SocketAddr, Vec<u8>)>,
    is_client: bool,
    /// Messages of the other end.
    pub(super) heard: usize,
}

impl End {
    /// `seed`: of what it does by chance, for one in whether it spins.
    fn new(server: Option<ServerConfig>, delay: Duration, seed: u8) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_nonblocking(true).expect("set");
        let is_client = server.is_none();
        // Without a search for the largest packet, and without segments that the NIC would cut: one packet a datagram.
        let endpoint =
            Endpoint::new(Arc::new(EndpointConfig::default()), server.map(Arc::new), false, Some([seed; 32]));
        Self { endpoint, socket, connection: None, delay, late: VecDeque::new(), is_client, heard: 0 }
    }

    pub(super) fn server(config: ServerConfig, delay: Duration, seed: u8) -> Self {
        Self::new(Some(config), delay, seed)
    }

    pub(super) fn client(config: ClientConfig, to: SocketAddr, delay: Duration, seed: u8) -> Self {
        let mut this = Self::new(None, delay, seed);
        let made = this.endpoint.connect(Instant::now(), config, to, "here").expect("a connection");
        this.connection = Some(made);
        this
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.socket.local_addr().expect("bound")
    }

    /// Hears what came, and sends what is due.
    pub(super) fn step(&mut self, log: &mut Vec<Sent>) {
        let now = Instant::now();
        let mut bytes = vec![0; 2_048];
        while let Ok((length, from)) = self.socket.recv_from(&mut bytes) {
            let mut answer = Vec::new();
            match self.endpoint.handle(now, from, None, None, bytes[..length].into(), &mut answer) {
                Some(DatagramEvent::NewConnection(incoming)) => {
                    let made = self.endpoint.accept(incoming, now, &mut answer, None).expect("a connection");
                    self.connection = Some(made);
                }
                Some(DatagramEvent::ConnectionEvent(_, event)) => {
                    self.connection.as_mut().expect("of a connection").1.handle_event(event);
                }
                Some(DatagramEvent::Response(_)) => panic!("an answer without a connection"),
                None => {}
            }
        }
        if let Some((handle, connection)) = &mut self.connection {
            if connection.poll_timeout().is_some_and(|due| due <= now) {
                connection.handle_timeout(now);
            }
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            while let Some(event) = connection.poll() {
                match event {
                    Event::Connected if self.is_client => say(connection),
                    Event::ConnectionLost { reason } => panic!("{reason}"),
                    _ => {}
                }
            }
            while connection.datagrams().recv().is_some() {
                self.heard += 1;
                say(connection);
            }
            let mut content = Vec::new();
            while let Some(transmit) = connection.poll_transmit(now, 1, &mut content) {
                self.late.push_back((now + self.delay, transmit.destination, std::mem::take(&mut content)));
            }
        }
        while self.late.front().is_some_and(|(due, ..)| *due <= Instant::now()) {
            let Some((_, to, content)) = self.late.pop_front() else { break };
            let before = now_ns();
            self.socket.send_to(&content, to).expect("sent");
            log.push(Sent { by_client: self.is_client, before, after: now_ns(), first: content[0] });
        }
    }
}

/// A message, which is answered by another.
fn say(connection: &mut Connection) {
    connection.datagrams().send(b"a word"[..].into(), false).expect("room");
}
