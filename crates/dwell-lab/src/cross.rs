//! Real cross traffic for links that the kernel shapes: datagrams between the bridges of two nodes, sent by an
//! absolute schedule, so that a late wake-up is made up for and the offered load is right.

use crate::error::LabError;
use crate::namespace::Worker;
use crate::wiring::{Place, Wiring};
use dwell_core::{Bytes, Nanos};
use dwell_net::{clock, place};
use dwell_sim::{CrossKind, CrossSpec, LinkSpec, Offered};
use rand::{RngExt as _, SeedableRng as _};
use rand_distr::{Distribution as _, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The discard service.
const PORT: u16 = 9;

/// What surrounds a datagram on the wire: Ethernet 26 bytes, IPv4 20, UDP 8.
const AROUND: u64 = 54;

/// The longest sleep before a generator looks whether it shall stop.
const PATIENCE: Nanos = Nanos::from_millis(50);

/// A socket in each node that takes what arrives there and reads none of it: the kernel drops what does not fit.
pub(crate) fn sinks(wiring: &Wiring) -> Result<Vec<UdpSocket>, LabError> {
    let open = |index: usize| {
        let address = Place::node(index)?.ipv4();
        wiring.nodes[index].within(|| {
            UdpSocket::bind((address, PORT)).map_err(LabError::system("open a sink for cross traffic"))
        })
    };
    (0..wiring.nodes.len()).map(open).collect()
}

/// Packets a second that `cross` offers to `link`.
fn frequency(link: &LinkSpec, cross: &CrossSpec) -> Option<f64> {
    let bits = link.framing.occupied(cross.size).bits() as f64;
    let rate = match cross.offered {
        Offered::Rate(rate) => rate.0 as f64,
        Offered::Load(share) => share * link.rate?.0 as f64,
    };
    Some(rate / bits).filter(|frequency| *frequency > 0.0)
}

/// Starts one generator, from the node of link `index` to the node where the traffic leaves. `None`: it offers
/// nothing.
pub(crate) fn start(
    wiring: &Wiring,
    index: usize,
    link: &LinkSpec,
    cross: &CrossSpec,
    seed: u64,
    stop: &Arc<AtomicBool>,
) -> Result<Option<Worker<()>>, LabError> {
    let Some(frequency) = frequency(link, cross) else { return Ok(None) };
    let leaves = (index + cross.hops.max(1)).min(wiring.nodes.len() - 1);
    let (from, to) = (Place::node(index)?.ipv4(), Place::node(leaves)?.ipv4());
    let socket = wiring.nodes[index].within(|| {
        let socket =
            UdpSocket::bind((from, 0)).map_err(LabError::system("open a source of cross traffic"))?;
        socket.connect((to, PORT)).map_err(LabError::system("direct cross traffic"))?;
        Ok(socket)
    })?;
    let mut generator = Generator {
        socket,
        payload: vec![0; payload(cross.size)],
        mean: 1e9 / frequency,
        kind: cross.kind,
        rng: Xoshiro256PlusPlus::seed_from_u64(seed),
    };
    let stop = Arc::clone(stop);
    wiring.nodes[index]
        .spawn("cross traffic", move || {
            generator.run(&stop);
            Ok(())
        })
        .map(Some)
}

fn payload(size: Bytes) -> usize {
    usize::try_from(size.0.saturating_sub(AROUND)).unwrap_or(0)
}

struct Generator {
    socket: UdpSocket,
    payload: Vec<u8>,
    /// Mean gap in nanoseconds.
    mean: f64,
    kind: CrossKind,
    rng: Xoshiro256PlusPlus,
}

impl Generator {
    fn run(&mut self, stop: &AtomicBool) {
        place::sharpen_timers();
        let start = clock::monotonic();
        let mut due = self.mean * self.rng.random::<f64>();
        while !stop.load(Ordering::Relaxed) {
            let left = start + Nanos::from_f64(due) - clock::monotonic();
            if left > Nanos::ZERO {
                thread::sleep(Duration::from_nanos(left.min(PATIENCE).0.unsigned_abs()));
                continue;
            }
            // A full queue drops it, as any link's would.
            let _ = self.socket.send(&self.payload);
            due += match self.kind {
                CrossKind::Constant => self.mean,
                CrossKind::Poisson => {
                    let gap: f64 = Exp1.sample(&mut self.rng);
                    self.mean * gap
                }
            };
        }
    }
}
