//! The client's side of a test.

use super::line::{WATCHDOG, next, open};
use super::listening::listen;
use super::loading::{Rate, load};
use super::seal::{Keys, MODE, genuine, seal};
use crate::clock;
use dwell_core::throughput::udpst::capacity::Tested;
use dwell_core::throughput::udpst::{Activation, Answer, Auth, Null, Parameters, Setup};
use dwell_core::{Direction, Nanos};
use ring::rand::{SecureRandom, SystemRandom};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};

/// Which server, and how to test.
#[derive(Clone, Debug)]
pub struct UdpstConfig {
    /// Name or address of its host.
    pub host: String,
    /// Its port of control.
    pub port: u16,
    /// The shared secret and its number, where the server wants one.
    pub secret: Option<(String, u8)>,
    /// Which way the load goes.
    pub direction: Direction,
    /// How.
    pub parameters: Parameters,
}

/// Why there was no test.
#[derive(Debug, thiserror::Error)]
pub enum UdpstError {
    /// The host's name means nothing.
    #[error("unknown host {host:?}: {source}")]
    UnknownHost {
        /// The name.
        host: String,
        /// What the resolver says.
        #[source]
        source: io::Error,
    },
    /// No answer.
    #[error(
        "no answer from {address} by UDP ({what}); is a udpst server up there, and does a firewall let UDP through?"
    )]
    Silent {
        /// Where.
        address: SocketAddr,
        /// To what.
        what: &'static str,
    },
    /// The server will not.
    #[error("the udpst server at {address} refuses: {meaning} (answer {code})")]
    Refused {
        /// Where.
        address: SocketAddr,
        /// Its answer.
        code: u8,
        /// What that means.
        meaning: &'static str,
    },
    /// The test was cut short.
    #[error("the test ended early: {0}")]
    Cut(#[source] io::Error),
    /// This host cannot.
    #[error("this host cannot send to it: {0}")]
    ThisHost(#[source] io::Error),
}

/// Attempts at each exchange, and how long each is waited for.
const ATTEMPTS: u32 = 3;
const PATIENCE: Nanos = Nanos::from_millis(1_500);

/// The exchange of control.
struct Control<'a> {
    socket: &'a UdpSocket,
    address: SocketAddr,
    keys: Option<Keys>,
    garbage: u64,
}

impl Control<'_> {
    /// Sends `request` until something comes that `read` takes.
    fn ask<T>(
        &mut self,
        request: &[u8],
        what: &'static str,
        read: impl Fn(&[u8], SocketAddr) -> Option<T>,
    ) -> Result<T, UdpstError> {
        let mut request = request.to_vec();
        if let Some(keys) = &self.keys {
            seal(&mut request, &keys.client);
        }
        let mut buffer = [0; 2048];
        for _ in 0..ATTEMPTS {
            self.socket.send_to(&request, self.address).map_err(UdpstError::ThisHost)?;
            let until = clock::monotonic() + PATIENCE;
            while clock::monotonic() < until {
                let left = (until - clock::monotonic()).max(Nanos::from_millis(1));
                let Some((length, from)) =
                    next(self.socket, &mut buffer, left).map_err(UdpstError::ThisHost)?
                else {
                    continue;
                };
                let pdu = &buffer[..length];
                let trusted = self.keys.as_ref().is_none_or(|keys| genuine(pdu, &keys.server));
                match read(pdu, from) {
                    Some(answer) if trusted => return Ok(answer),
                    // A null request has done its work by coming.
                    _ if Null::parse(pdu).is_ok() => {}
                    _ => self.garbage += 1,
                }
            }
        }
        Err(UdpstError::Silent { address: self.address, what })
    }
}

fn seconds() -> u32 {
    (clock::realtime().0 / 1_000_000_000) as u32
}

/// Asks for a test.
fn set_up(control: &mut Control<'_>, request: &Setup) -> Result<Setup, UdpstError> {
    let identity = request.connection.2;
    let read = |pdu: &[u8], _| Setup::parse(pdu).ok().filter(|it| it.response && it.connection.2 == identity);
    match control.ask(&request.pack(), "setup", read) {
        // Who refuses may not have the keys to say so.
        Err(UdpstError::Silent { .. }) if control.keys.is_some() => {
            control.keys = None;
            let refusal = control.ask(&request.pack(), "setup", read)?;
            let answer =
                if refusal.answer == Answer::ACKNOWLEDGED { Answer::WRONG_KEY } else { refusal.answer };
            Ok(Setup { answer, ..refusal })
        }
        other => other,
    }
}

/// Makes a test.
///
/// # Errors
/// Says what failed; there is no half of a result.
pub fn measure(config: &UdpstConfig) -> Result<Tested, UdpstError> {
    let unknown = |source| UdpstError::UnknownHost { host: config.host.clone(), source };
    let host = config.host.trim_start_matches('[').trim_end_matches(']');
    let mut addresses = (host, config.port).to_socket_addrs().map_err(unknown)?;
    let address = addresses.next().ok_or_else(|| unknown(io::Error::other("it has no address")))?;
    let any: IpAddr =
        if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = open(SocketAddr::new(any, 0)).map_err(UdpstError::ThisHost)?;
    let time = seconds();
    let keys = config.secret.as_ref().map(|(secret, _)| Keys::derive(secret.as_bytes(), time));
    let auth = config.secret.as_ref().map_or_else(Auth::default, |(_, key)| Auth {
        mode: MODE,
        time,
        key: *key,
        ..Auth::default()
    });
    let mut identity = [0; 2];
    let filled = SystemRandom::new().fill(&mut identity);
    filled.map_err(|_| UdpstError::ThisHost(io::Error::other("no random bytes")))?;
    let identity = u16::from_be_bytes(identity).max(1);
    let mut control = Control { socket: &socket, address, keys, garbage: 0 };

    let request = Setup { auth, ..Setup::request(identity) };
    let mut setup = set_up(&mut control, &request)?;
    // The table of rates is the server's, and any will do: its settings are taken over.
    let mut modifiers = request.modifiers;
    for (answer, setting) in [(Answer::OTHER_JUMBO, Setup::JUMBO), (Answer::OTHER_SIZE, Setup::TRADITIONAL)] {
        if setup.answer == answer {
            modifiers ^= setting;
            setup = set_up(&mut control, &Setup { modifiers, ..request })?;
        }
    }
    if setup.answer != Answer::ACKNOWLEDGED {
        return Err(UdpstError::Refused { address, code: setup.answer.0, meaning: setup.answer.meaning() });
    }
    control.address.set_port(setup.port);

    // The keys are of the first request's time; each PDU has its own, which a server compares with its clock.
    let auth = if auth.mode == MODE { Auth { time: seconds(), ..auth } } else { auth };
    let request = Activation { auth, ..Activation::request(config.direction, config.parameters) };
    let test = control.address;
    let read = |pdu: &[u8], from| Activation::parse(pdu).ok().filter(|it| it.answer != 0 && from == test);
    let agreed = control.ask(&request.pack(), "test activation", read)?;
    if agreed.answer != 1 {
        let meaning = "it does not like the parameters of the test";
        return Err(UdpstError::Refused { address, code: agreed.answer, meaning });
    }
    let garbage = control.garbage;
    socket.connect(test).map_err(UdpstError::ThisHost)?;
    let began = clock::monotonic();
    let time = Nanos::from_secs(agreed.parameters.test.into());
    let (parts, more, table_end) = match config.direction {
        Direction::Reverse => {
            listen(&socket, &agreed.parameters, None, began).map(|it| (it.parts, it.garbage, false))
        }
        Direction::Forward => load(&socket, Rate::Theirs(agreed.row, time), began)
            .map(|it| (it.parts, it.garbage, it.table_end)),
    }
    .map_err(UdpstError::Cut)?;
    let ipv6 = !test.ip().to_canonical().is_ipv4();
    let (direction, algorithm) = (config.direction, agreed.parameters.algorithm);
    Ok(Tested { direction, algorithm, ipv6, table_end, garbage: garbage + more, parts })
}

const _: () = assert!(WATCHDOG.0 > PATIENCE.0, "a server waits longer than a client asks again");
