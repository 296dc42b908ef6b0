//! Real cross traffic for links that the kernel shapes: datagrams between the bridges of two nodes, sent by an
//! absolute schedule, so that a late wake-up is made up for and the offered load is right.

use crate::error::LabError;
use crate::namespace::Worker;
use crate::way::Way;
use crate::wiring::{Place, Wiring};
use dwell_core::{Bytes, Nanos};
use dwell_net::{clock, place};
use dwell_sim::{CrossSpec, Flow};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::SndBufForce;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The discard service.
const PORT: u16 = 9;

/// What surrounds a datagram on the wire: Ethernet 26 bytes, IPv4 20, UDP 8.
const AROUND: u64 = 54;

/// What may wait of one source: what lies in a shaper's queue counts against its socket, and a full socket would have to
/// wait for the link. Cross traffic waits for nobody; it is dropped.
const ROOM: usize = 256 << 20;

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

/// Starts one generator, from the node where link `index` of `way` begins to the node where the traffic leaves. `None`:
/// it offers nothing.
pub(crate) fn start(
    wiring: &Wiring,
    way: Way<'_>,
    index: usize,
    cross: &CrossSpec,
    seed: u64,
    stop: &Arc<AtomicBool>,
) -> Result<Option<Worker<()>>, LabError> {
    let Some(flow) = Flow::new(cross, &way.links[index], seed) else { return Ok(None) };
    let [enters, leaves] = way.ends(index, cross.hops);
    let (from, to) = (Place::node(enters)?.ipv4(), Place::node(leaves)?.ipv4());
    let socket = wiring.nodes[enters].within(|| {
        let socket =
            UdpSocket::bind((from, 0)).map_err(LabError::system("open a source of cross traffic"))?;
        setsockopt(&socket, SndBufForce, &ROOM).map_err(LabError::system("make room for cross traffic"))?;
        socket.connect((to, PORT)).map_err(LabError::system("direct cross traffic"))?;
        Ok(socket)
    })?;
    let generator = Generator { socket, flow };
    let stop = Arc::clone(stop);
    wiring.nodes[enters]
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
    flow: Flow,
}

impl Generator {
    fn run(self, stop: &AtomicBool) {
        place::sharpen_timers();
        let start = clock::monotonic();
        let mut buffer = Vec::new();
        for (due, size) in self.flow {
            loop {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let left = start + due - clock::monotonic();
                if left <= Nanos::ZERO {
                    break;
                }
                thread::sleep(Duration::from_nanos(left.min(PATIENCE).0.unsigned_abs()));
            }
            buffer.resize(payload(size), 0);
            // A full queue drops it, as any link's would.
            let _ = self.socket.send(&buffer);
        }
    }
}
