//! The server's side of tests.

use super::line::{WATCHDOG, next, open};
use super::listening::listen;
use super::loading::{Rate, load};
use super::seal::{Keys, MODE, genuine, seal};
use crate::clock;
use crate::reception::GLANCE;
use dwell_core::throughput::udpst::rates::row;
use dwell_core::throughput::udpst::search::Search;
use dwell_core::throughput::udpst::{Activation, Answer, Auth, Null, PROTOCOL, Parameters, Setup};
use dwell_core::{Direction, Nanos};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// How a server is to be run.
#[derive(Clone, Debug)]
pub struct UdpstServerConfig {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The shared secret and its number: who does not have it is refused. `None`: everybody may test.
    pub secret: Option<(String, u8)>,
    /// Tests at a time.
    pub tests: u32,
}

/// Seconds that a client's clock may be wrong for its authentication.
const WINDOW: u32 = 150;
/// The longest test, in seconds.
const LONGEST: u16 = 60;
/// How long after its time a test goes on, so that the last sub-interval is whole.
const MORE: Nanos = Nanos::from_millis(500);

/// A server of tests, listening.
pub struct UdpstServer {
    config: UdpstServerConfig,
    control: UdpSocket,
    address: SocketAddr,
    under_way: AtomicU32,
}

/// Takes a test off the count, however it ended.
struct Place<'a>(&'a AtomicU32);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl UdpstServer {
    /// Opens the port of control.
    ///
    /// # Errors
    /// When it cannot be had.
    pub fn bind(config: UdpstServerConfig) -> io::Result<Self> {
        let control = UdpSocket::bind(config.listen)?;
        let address = control.local_addr()?;
        Ok(Self { config, control, address, under_way: AtomicU32::new(0) })
    }

    /// Where it listens.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is set. Tests under way end by themselves.
    ///
    /// # Errors
    /// When the port fails.
    pub fn serve(&self, stop: &AtomicBool) -> io::Result<()> {
        let glance = Nanos(GLANCE.as_nanos() as i64);
        let mut buffer = [0; 2048];
        std::thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                let Some((length, from)) = next(&self.control, &mut buffer, glance)? else { continue };
                let pdu = &buffer[..length];
                // Garbage gets no answer.
                let Some(setup) = Setup::parse(pdu).ok().filter(|setup| !setup.response) else { continue };
                let (answer, keys) = self.judge(pdu, &setup);
                if answer != Answer::ACKNOWLEDGED {
                    self.answer(&Setup { answer, ..setup }, keys.as_ref(), from);
                    continue;
                }
                let Ok(socket) = open(SocketAddr::new(self.address.ip(), 0)) else { continue };
                let Ok(port) = socket.local_addr().map(|local| local.port()) else { continue };
                self.under_way.fetch_add(1, Ordering::Relaxed);
                self.answer(&Setup { answer, port, ..setup }, keys.as_ref(), from);
                let mut null = Null { version: setup.version, auth: told(setup.auth) }.pack();
                if let Some(keys) = &keys {
                    seal(&mut null, &keys.server);
                }
                let _ = socket.send_to(&null, from);
                scope.spawn(move || {
                    let _place = Place(&self.under_way);
                    // A client that vanished is nobody to tell.
                    let _ = test(&socket, from, keys.as_ref());
                });
            }
            Ok(())
        })
    }

    /// Whether a setup request may lead to a test, and the keys of it.
    fn judge(&self, pdu: &[u8], setup: &Setup) -> (Answer, Option<Keys>) {
        const KEY_UNEXPECTED: Answer = Answer(4);
        const WRONG_TIME: Answer = Answer(8);
        const BAD_COUNT: Answer = Answer(12);
        const FULL: Answer = Answer(13);
        if setup.version != PROTOCOL {
            return (Answer::BAD_VERSION, None);
        }
        let keys = match (&self.config.secret, setup.auth.mode) {
            (None, 0) => None,
            (None, _) => return (KEY_UNEXPECTED, None),
            (Some(_), 0) => return (Answer::KEY_NEEDED, None),
            (Some(_), mode) if mode > MODE => return (Answer::WRONG_MODE, None),
            (Some((secret, _)), _) => {
                let keys = Keys::derive(secret.as_bytes(), setup.auth.time);
                if !genuine(pdu, &keys.client) {
                    return (Answer::WRONG_KEY, None);
                }
                let now = (clock::realtime().0 / 1_000_000_000) as u32;
                if now.abs_diff(setup.auth.time) > WINDOW {
                    return (WRONG_TIME, Some(keys));
                }
                Some(keys)
            }
        };
        let (index, count, _) = setup.connection;
        if index >= count {
            return (BAD_COUNT, keys);
        }
        if self.under_way.load(Ordering::Relaxed) >= self.config.tests {
            return (FULL, keys);
        }
        (Answer::ACKNOWLEDGED, keys)
    }

    fn answer(&self, setup: &Setup, keys: Option<&Keys>, to: SocketAddr) {
        // To another version, too, the answer says which one is spoken here.
        let mut pdu = Setup { version: PROTOCOL, response: true, auth: told(setup.auth), ..*setup }.pack();
        if let Some(keys) = keys {
            seal(&mut pdu, &keys.server);
        }
        // Who cannot be answered asks again.
        let _ = self.control.send_to(&pdu, to);
    }
}

/// The protection of an answer to what was protected so.
fn told(asked: Auth) -> Auth {
    let time = (clock::realtime().0 / 1_000_000_000) as u32;
    if asked.mode == MODE { Auth { time, digest: [0; 32], ..asked } } else { Auth::default() }
}

/// One test, from its activation on.
fn test(socket: &UdpSocket, client: SocketAddr, keys: Option<&Keys>) -> io::Result<()> {
    let until = clock::monotonic() + WATCHDOG;
    let mut buffer = [0; 2048];
    let (request, from) = loop {
        let left = until - clock::monotonic();
        if left <= Nanos::ZERO {
            return Ok(());
        }
        let Some((length, from)) = next(socket, &mut buffer, left)? else { continue };
        let pdu = &buffer[..length];
        let genuine = keys.is_none_or(|keys| genuine(pdu, &keys.client));
        // The same host; its port may be another one behind a translator.
        if let Some(request) = Activation::parse(pdu).ok().filter(|it| it.answer == 0)
            && genuine
            && from.ip() == client.ip()
        {
            break (request, from);
        }
    };
    socket.connect(from)?;
    let parameters = policed(request.parameters);
    let first = if parameters.row == u16::MAX { 0 } else { parameters.row.into() };
    let load_row = if request.direction == Direction::Forward { row(first) } else { Default::default() };
    let answer = Activation { answer: 1, parameters, row: load_row, auth: told(request.auth), ..request };
    let mut pdu = answer.pack();
    if let Some(keys) = keys {
        seal(&mut pdu, &keys.server);
    }
    socket.send(&pdu)?;
    let began = clock::monotonic();
    let until = Nanos::from_secs(parameters.test.into()) + MORE;
    match request.direction {
        Direction::Forward => {
            listen(socket, &parameters, Some((Search::new(parameters), until)), began).map(|_| ())
        }
        Direction::Reverse => load(socket, Rate::Ours(Search::new(parameters), until), began).map(|_| ()),
    }
}

/// What is out of its bounds is what it usually is.
fn policed(asked: Parameters) -> Parameters {
    let usual = Parameters::default();
    let within = |value: u16, low: u16, high: u16, usual: u16| {
        if (low..=high).contains(&value) { value } else { usual }
    };
    let low = within(asked.low, 1, 10_000, usual.low);
    let upper = within(asked.upper, 1, 10_000, usual.upper);
    let (low, upper) = if low > upper { (usual.low, usual.upper) } else { (low, upper) };
    Parameters {
        low,
        upper,
        trial: within(asked.trial, 5, 250, usual.trial),
        test: within(asked.test, 1, LONGEST, usual.test),
        sub_interval: within(asked.sub_interval, 100, 10_000, usual.sub_interval),
        step: if asked.step == 0 { usual.step } else { asked.step },
        slow_after: asked.slow_after.max(1),
        ..asked
    }
}
