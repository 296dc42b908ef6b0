//! Real cross traffic for links that the kernel shapes: datagrams between the bridges of two nodes, sent by an
//! absolute schedule, so that a late wake-up is made up for and the offered load is right.

use crate::error::LabError;
use crate::namespace::Worker;
use crate::placement::{Cores, Role, settle};
use crate::way::Way;
use crate::wiring::{Place, Wiring};
use dwell_core::{Bytes, Nanos};
use dwell_net::{clock, place};
use dwell_sim::{CrossSpec, Flow};
use nix::errno::Errno;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{SndBuf, SndBufForce};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
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

/// A source whose packets are so far apart, or more, leaves a core time to fall asleep: the next comes tens of microseconds
/// late, but not while trains keep the core awake, which then meet what came on time and what came late (25 us of a train's
/// first 600 at half of 100 Mb/s). It has its place on the core that is kept awake, before the sender. One that sends more
/// keeps its own core awake, and would take the sender's.
const SELDOM: Nanos = Nanos::from_micros(100);

/// Packets over which that is looked at.
const LOOKED_AT: usize = 1_000;

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
    cores: Cores,
    stop: &Arc<AtomicBool>,
) -> Result<Option<Worker<()>>, LabError> {
    let Some(flow) = Flow::new(cross, &way.links[index], seed) else { return Ok(None) };
    let [enters, leaves] = way.ends(index, cross.hops);
    let (from, to) = (Place::node(enters)?.ipv4(), Place::node(leaves)?.ipv4());
    let socket = wiring.nodes[enters].within(|| {
        let socket =
            UdpSocket::bind((from, 0)).map_err(LabError::system("open a source of cross traffic"))?;
        let waits_for_nobody = make_room(&socket).and_then(|_| socket.set_nonblocking(true));
        waits_for_nobody.map_err(LabError::system("make room for cross traffic"))?;
        socket.connect((to, PORT)).map_err(LabError::system("direct cross traffic"))?;
        Ok(socket)
    })?;
    let generator = Generator { socket, flow, cores };
    let stop = Arc::clone(stop);
    wiring.nodes[enters]
        .spawn("cross traffic", move || {
            generator.run(&stop);
            Ok(())
        })
        .map(Some)
}

/// Makes room for what may wait, and tells whether there is enough: a user's socket has no more than the system lets all have.
fn make_room(socket: &UdpSocket) -> io::Result<bool> {
    match setsockopt(socket, SndBufForce, &ROOM) {
        Err(Errno::EPERM) => Ok(setsockopt(socket, SndBuf, &ROOM).map(|()| false)?),
        made => Ok(made.map(|()| true)?),
    }
}

/// What is worse here for want of privileges.
pub(crate) fn caution() -> Option<String> {
    let has_room = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|socket| make_room(&socket));
    let what = "a source of cross traffic has no more room than net.core.wmem_max gives it (more takes root): where a \
                link's queue is longer, what finds none is dropped before the queue is full";
    (!has_room.unwrap_or(false)).then(|| what.to_owned())
}

fn payload(size: Bytes) -> usize {
    usize::try_from(size.0.saturating_sub(AROUND)).unwrap_or(0)
}

fn is_seldom(flow: &Flow) -> bool {
    let seen = flow.clone().nth(LOOKED_AT);
    seen.is_none_or(|(at, _)| at >= SELDOM * LOOKED_AT as i64)
}

struct Generator {
    socket: UdpSocket,
    flow: Flow,
    cores: Cores,
}

impl Generator {
    fn run(self, stop: &AtomicBool) {
        // As urgent as the sender, or more: what comes late comes in bursts, after the trains that it should have met. Without
        // the right to that the lab says so of all its threads.
        if is_seldom(&self.flow) {
            settle(Role::Forwarder, self.cores);
        } else {
            place::sharpen_timers();
            let _ = place::real_time_priority(1);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_sim::Scenario;

    #[test]
    fn large_packets_at_half_of_100_mbps_are_seldom_and_small_ones_are_not() {
        for (size, seldom) in [(1526, true), (90, false)] {
            let text = format!(
                "name = 'half'\n[[links]]\nrate = '100 Mb/s'\n\
                 [[links.cross]]\nkind = 'poisson'\nload = 0.5\nsize = '{size} B'"
            );
            let scenario = Scenario::parse("half.toml", &text).unwrap();
            let link = &scenario.links[0];
            let flow = Flow::new(&link.cross[0], link, 7).unwrap();
            assert_eq!(is_seldom(&flow), seldom, "{size} B");
        }
    }
}
