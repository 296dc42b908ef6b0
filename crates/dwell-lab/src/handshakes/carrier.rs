//! A section of the path: one thread that carries each frame from one interface to another, some time later, and
//! loses what is to be lost. It numbers each frame, so that it is known again wherever it passes.

use super::matrix::{Case, Kind, Loss, Section};
use crate::error::LabError;
use dwell_core::Nanos;
use dwell_core::capture::{Captured, LinkType};
use dwell_core::tcp::{Passing, Segment, TcpFlags, dissect};
use dwell_net::{PacketSocket, clock};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where a frame has its number: in the hardware address of who sent it, which nobody here looks at.
const ADDRESS: std::ops::Range<usize> = 6..12;

/// The first byte of such an address: administered locally, and not one of the lab's own.
const NUMBERED: u8 = 0x06;

/// The longest frame.
const LONGEST: usize = 2_048;

/// How long an idle section sleeps.
const PATIENCE: Nanos = Nanos::from_millis(20);

/// The number that a frame was given, if it was.
pub(super) fn number(frame: &[u8]) -> Option<u64> {
    let address = frame.get(ADDRESS)?;
    let number = address[1..].iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    (address[0] == NUMBERED).then_some(number)
}

fn give_number(frame: &mut [u8], number: u64) {
    let mut address = number.to_be_bytes();
    address[2] = NUMBERED;
    frame[ADDRESS].copy_from_slice(&address[2..]);
}

/// The segment in a frame.
pub(super) fn segment(at: Nanos, frame: &[u8]) -> Option<Segment> {
    let captured =
        Captured { at: at.0.into(), link: LinkType::ETHERNET, bytes: frame, length: frame.len() as u32 };
    match dissect(&captured) {
        Ok(Passing::Segment(segment)) => Some(segment),
        _ => None,
    }
}

/// A section.
pub(super) struct Carrier {
    pub(super) section: Section,
    /// Towards the client, towards the server.
    pub(super) ports: [PacketSocket; 2],
    /// From the client, from the server.
    pub(super) delays: [Nanos; 2],
    /// So much more a frame takes at most, each another time, and overtakes others.
    pub(super) scatter: Nanos,
    /// By the client's port, from this one on.
    pub(super) first_port: u16,
    pub(super) cases: Arc<[Case]>,
    /// Of what is scattered.
    pub(super) seed: u64,
}

/// A frame as it came, and the number that it was given.
pub(super) type Taken = (u64, Vec<u8>);

/// When a frame is due, its place in the order of coming, by which port it goes, and the frame.
type Due = (Nanos, u64, usize, Vec<u8>);

impl Carrier {
    /// Carries until `stop`. Returns the frames that its host sent.
    pub(super) fn run(mut self, stop: &AtomicBool) -> Result<Vec<Taken>, LabError> {
        let host = if self.section == Section::Near { 0 } else { 1 };
        let (mut taken, mut lost) = (Vec::new(), HashMap::<(u16, Kind), usize>::new());
        let mut due = BinaryHeap::<Reverse<Due>>::new();
        let (mut buffer, mut came) = ([0; LONGEST], 0_u64);
        while !stop.load(Ordering::Relaxed) {
            for from in 0..2 {
                while let Some((length, at)) =
                    self.ports[from].recv(&mut buffer).map_err(LabError::system("carry frames"))?
                {
                    let Some(frame) = buffer.get_mut(..length) else { continue };
                    came += 1;
                    if from == host {
                        // Numbers of the two hosts' frames are told apart by their last bit.
                        let number = came << 1 | host as u64;
                        taken.push((number, frame.to_vec()));
                        give_number(frame, number);
                    }
                    if !self.loses(at, frame, &mut lost) {
                        let at = at + self.delays[from] + self.more(came);
                        due.push(Reverse((at, came, 1 - from, frame.to_vec())));
                    }
                }
            }
            let now = clock::realtime();
            while due.peek().is_some_and(|Reverse((at, ..))| *at <= now)
                && let Some(Reverse((_, _, to, frame))) = due.pop()
            {
                self.ports[to].send(&frame).map_err(LabError::system("carry a frame"))?;
            }
            let next = due.peek().map_or(PATIENCE, |Reverse((at, ..))| (*at - now).min(PATIENCE));
            // To the millisecond: what is due earlier goes a little late, which no kernel minds.
            let wait = PollTimeout::try_from(next.0.max(0) / 1_000_000 + 1).unwrap_or(PollTimeout::ZERO);
            let mut fds = [0, 1].map(|port| PollFd::new(self.ports[port].as_fd(), PollFlags::POLLIN));
            poll(&mut fds, wait).map_err(LabError::system("wait for frames"))?;
        }
        Ok(taken)
    }

    fn loses(&self, at: Nanos, frame: &[u8], lost: &mut HashMap<(u16, Kind), usize>) -> bool {
        let Some(segment) = segment(at, frame) else { return false };
        let (syn, ack) = (segment.flags.has(TcpFlags::SYN), segment.flags.has(TcpFlags::ACK));
        let by_client = segment.from.port >= self.first_port;
        let kind = match (syn, ack, by_client) {
            (true, false, true) => Kind::Syn,
            (true, true, false) => Kind::SynAck,
            (false, true, true) => Kind::Third,
            _ => return false,
        };
        let client = if by_client { segment.from.port } else { segment.to.port };
        let Some(case) = client.checked_sub(self.first_port) else { return false };
        let case = &self.cases[usize::from(case) % self.cases.len()];
        let is_meant = |loss: &&Loss| (loss.kind, loss.section) == (kind, self.section);
        let Some(loss) = case.losses.iter().find(is_meant) else { return false };
        let lost = lost.entry((client, kind)).or_default();
        *lost += 1;
        *lost <= loss.first
    }

    /// How much later than usual.
    fn more(&self, came: u64) -> Nanos {
        // A hash is chance enough here.
        let chance = (came ^ self.seed << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
        Nanos((chance.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 11) as i64 % self.scatter.0.max(1))
    }
}
