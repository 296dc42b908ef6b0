//! From the spool to the warehouse.

use super::{Shared, ShipError, ShipperEvent, Stage};
use crate::upload::{Opening, Receipt, SERVICE, Upload, WINDOW};
use dwell_net::{Channel, ChannelError, Peers, dial};
use dwell_store::warehouse::Batch;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// How long a connection attempt may take.
const CONNECTING: Duration = Duration::from_secs(5);

/// The first pause between two attempts; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// After how long without a batch the session is ended: well before the warehouse loses its patience.
const IDLE: Duration = Duration::from_secs(20);

/// How often a quiet session looks at the spool, where nobody tells of news.
const GLANCE: Duration = Duration::from_millis(500);

/// Ships until the end.
pub(super) fn run(shared: &Shared) {
    let mut pause = FIRST_PAUSE;
    let mut said = String::new();
    while !is_over(shared) {
        if shared.spool().is_drained() {
            shared.wait(GLANCE);
            continue;
        }
        let mut took = false;
        let ended = session(shared, &mut took);
        shared.spool().rewind();
        if took {
            pause = FIRST_PAUSE;
            said.clear();
        }
        let Err(error) = ended else { continue };
        let why = error.to_string();
        if why != said {
            shared.tell(ShipperEvent::Waiting { why: why.clone(), pause });
            said = why;
        }
        rest(shared, pause);
        pause = (pause * 2).min(shared.config.longest_pause);
    }
}

/// Whether nothing is to be shipped any more.
fn is_over(shared: &Shared) -> bool {
    match shared.stage() {
        Stage::Ending(until) => Instant::now() >= until || is_settled(shared),
        _ => false,
    }
}

/// Whether the warehouse has everything that was written, and knows what was not. What the last batch could not tell,
/// for want of room, one more does.
fn is_settled(shared: &Shared) -> bool {
    let mut spool = shared.spool();
    if spool.is_drained() && spool.has_untold() {
        // Without room for it yet, it is tried again.
        let _ = spool.append(Vec::new());
    }
    spool.is_drained() && !spool.has_untold()
}

/// A pause, though something may be written meanwhile. It ends with the shipper.
fn rest(shared: &Shared, pause: Duration) {
    let until = Instant::now() + pause;
    while !is_over(shared)
        && let left = until.saturating_duration_since(Instant::now())
        && !left.is_zero()
    {
        shared.wait(left);
    }
}

/// How long something may take, here and now.
fn within(shared: &Shared, patience: Duration) -> Duration {
    match shared.stage() {
        Stage::Ending(until) => patience.min(until.saturating_duration_since(Instant::now())),
        _ => patience,
    }
}

/// One session with the warehouse. `took`: whether it kept something.
fn session(shared: &Shared, took: &mut bool) -> Result<(), ShipError> {
    let (mut channel, address) = open(shared)?;
    let failed = |source| ShipError::Channel { address, source };
    let mut last = Instant::now();
    loop {
        while let Some(batch) = next(shared)? {
            channel.send(&Upload::Batch(batch)).map_err(failed)?;
        }
        if shared.spool().under_way() == 0 {
            if is_over(shared) || last.elapsed() >= IDLE {
                let _ = channel.send(&Upload::Bye);
                channel.close();
                return Ok(());
            }
            shared.wait(GLANCE);
            continue;
        }
        match channel.receive(within(shared, shared.config.patience)).map_err(failed)? {
            Receipt::Kept { epoch, serial, absurd } => {
                if !shared.spool().acknowledge(epoch, serial)? {
                    let why = "it acknowledged a batch out of turn".to_owned();
                    return Err(failed(ChannelError::Protocol(why)));
                }
                // That it admits does not say that it can keep.
                if !*took {
                    shared.tell(ShipperEvent::Connected { address });
                }
                (*took, last) = (true, Instant::now());
                if absurd > 0 {
                    *shared.absurd.lock().unwrap_or_else(PoisonError::into_inner) += absurd;
                    shared.tell(ShipperEvent::Absurd { records: absurd });
                }
            }
            Receipt::NotKept { why } => return Err(ShipError::NotKept { address, why }),
            Receipt::Refused { why } => return Err(ShipError::Refused { address, why }),
            Receipt::Admitted => {
                let why = "it admitted in the middle of a session".to_owned();
                return Err(failed(ChannelError::Protocol(why)));
            }
        }
    }
}

/// The next batch, while few enough are under way.
fn next(shared: &Shared) -> Result<Option<Batch>, ShipError> {
    let mut spool = shared.spool();
    if spool.under_way() >= WINDOW {
        return Ok(None);
    }
    Ok(spool.next_batch()?)
}

/// Opens a session, up to the warehouse's word that it takes batches of this probe.
fn open(shared: &Shared) -> Result<(Channel, SocketAddr), ShipError> {
    let config = &shared.config;
    let (stream, address) = reach(shared)?;
    let failed = |source| ShipError::Channel { address, source };
    let read = config.expected_file.as_deref().and_then(|file| Peers::load(file).ok());
    let expected = read.as_ref().unwrap_or(&config.expected);
    let mut channel = Channel::connect(stream, &config.identity, expected).map_err(|error| match error {
        ChannelError::Stranger(presented) => ShipError::WrongKey { address, presented },
        ChannelError::Unknown => {
            let (key, probe) = (config.identity.public_key(), config.probe.clone());
            ShipError::NotAPeer { address, key, probe }
        }
        ChannelError::Version { theirs } => ShipError::Version { address, theirs },
        other => failed(other),
    })?;
    let no_warehouse = || ShipError::NoWarehouse { address, to: config.to.clone() };
    match channel.receive(config.patience) {
        Ok(Opening { service, .. }) if service != SERVICE => return Err(no_warehouse()),
        Ok(Opening { refused: None, .. }) => {}
        Ok(Opening { refused: Some(why), .. }) => return Err(ShipError::Refused { address, why }),
        Err(ChannelError::Protocol(_)) => return Err(no_warehouse()),
        Err(other) => return Err(failed(other)),
    }
    channel.send(&Upload::Probe { name: config.probe.clone() }).map_err(failed)?;
    match channel.receive(config.patience).map_err(failed)? {
        Receipt::Admitted => Ok((channel, address)),
        Receipt::Refused { why } | Receipt::NotKept { why } => Err(ShipError::Refused { address, why }),
        Receipt::Kept { .. } => {
            Err(failed(ChannelError::Protocol("it acknowledged what was not sent".to_owned())))
        }
    }
}

fn reach(shared: &Shared) -> Result<(TcpStream, SocketAddr), ShipError> {
    let config = &shared.config;
    let host = config.to.host.clone();
    let addresses = (host.as_str(), config.to.port).to_socket_addrs();
    let addresses = addresses.map_err(|source| ShipError::UnknownHost { host: host.clone(), source })?;
    let mut last = ShipError::UnknownHost { host, source: io::Error::other("it has no address") };
    for address in addresses {
        match dial(address, config.origin.as_ref(), within(shared, CONNECTING).max(FIRST_PAUSE)) {
            Ok(stream) => return Ok((stream, address)),
            Err(source) => last = ShipError::Unreachable { address, source },
        }
    }
    Err(last)
}
