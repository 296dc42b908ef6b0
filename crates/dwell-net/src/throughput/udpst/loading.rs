//! The end that sends load.

use super::line::{SILENCE, WATCHDOG, Wall, gone, next};
use crate::clock;
use dwell_core::Nanos;
use dwell_core::throughput::udpst::rates::{Row, row, rows};
use dwell_core::throughput::udpst::search::Search;
use dwell_core::throughput::udpst::{Action, Load, Stamp, Status, SubInterval};
use std::io;
use std::net::UdpSocket;

/// Who says at which rate to send.
pub(super) enum Rate {
    /// This end: a server, until its test is over.
    Ours(Search, Nanos),
    /// The status PDUs of the other end, for the agreed time: a client.
    Theirs(Row, Nanos),
}

/// What was told while it lasted.
#[derive(Default)]
pub(super) struct Loaded {
    pub(super) parts: Vec<SubInterval>,
    pub(super) garbage: u64,
    /// Whether the rate was the last of the table in the end.
    pub(super) table_end: bool,
}

/// Behind by more than this, what is missed is not made up for: it would be one burst.
const BEHIND: Nanos = Nanos::from_millis(5);
/// The longest pause between two looks at what the other end says.
const GLANCE: Nanos = Nanos::from_millis(1);
/// From one stop PDU to the next.
const STOPPING: Nanos = Nanos::from_millis(20);

struct Loader<'a> {
    socket: &'a UdpSocket,
    wall: Wall,
    rate: Rate,
    told: Loaded,
    header: Load,
    /// When the last status PDU came.
    heard: Nanos,
    statuses: u32,
    sub_interval: u32,
    ipv6: bool,
    packet: Vec<u8>,
}

/// Sends load until the test is over.
pub(super) fn load(socket: &UdpSocket, rate: Rate, began: Nanos) -> io::Result<Loaded> {
    let mut packet = vec![0; usize::from(u16::MAX)];
    // What does not repeat itself is not compressed on the way.
    let mut state = clock::realtime().0.unsigned_abs() | 1;
    for byte in &mut packet {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = state as u8;
    }
    let loader = Loader {
        socket,
        wall: Wall::now_is(),
        rate,
        told: Loaded::default(),
        header: Load::default(),
        heard: clock::monotonic(),
        statuses: 0,
        sub_interval: 0,
        ipv6: !socket.peer_addr()?.ip().to_canonical().is_ipv4(),
        packet,
    };
    loader.run(began)
}

impl Loader<'_> {
    fn run(mut self, began: Nanos) -> io::Result<Loaded> {
        let mut due = [clock::monotonic(); 2];
        loop {
            while let Some(action) = self.hear()? {
                if action == Action::Stop {
                    // A client confirms; a server is confirmed.
                    if matches!(self.rate, Rate::Theirs(..)) {
                        self.header.action = Action::Stop;
                        self.send(Load::LENGTH as u16);
                    }
                    return Ok(self.told);
                }
            }
            let now = clock::monotonic();
            let silence = now - self.heard;
            self.header.deaf = silence >= SILENCE;
            if self.header.deaf && matches!(self.rate, Rate::Theirs(_, until) if now > began + until) {
                return Ok(self.told);
            }
            if silence > WATCHDOG {
                return Err(gone("receiver"));
            }
            let current = match &self.rate {
                Rate::Ours(search, until) => {
                    if now > began + *until {
                        self.header.action = Action::Stop;
                    }
                    row(search.index())
                }
                Rate::Theirs(row, _) => *row,
            };
            let current = if self.ipv6 { current.over_ipv6() } else { current };
            if self.header.action == Action::Stop {
                self.send(Load::LENGTH as u16);
                clock::wait_until(now + STOPPING);
                continue;
            }
            let mut sleep_until = now + GLANCE;
            for (second, due) in due.iter_mut().enumerate() {
                let Some((interval, payloads)) = current.burst(second == 1) else {
                    *due = now;
                    continue;
                };
                if *due <= now {
                    payloads.into_iter().for_each(|payload| self.send(payload));
                    *due = (*due).max(now - BEHIND) + Nanos::from_micros(interval.into());
                }
                sleep_until = sleep_until.min(*due);
            }
            clock::wait_until(sleep_until);
        }
    }

    fn send(&mut self, payload: u16) {
        let now = self.wall.now();
        self.header.sequence += 1;
        self.header.payload = payload;
        self.header.sent = Stamp::of(now);
        self.header.held = u16::try_from((clock::monotonic() - self.heard).0 / 1_000_000).unwrap_or(u16::MAX);
        let header = self.header.pack();
        self.packet[..header.len()].copy_from_slice(&header);
        // What the kernel has no room for was never sent: its number goes to the next.
        if self.socket.send(&self.packet[..usize::from(payload)]).is_err() {
            self.header.sequence -= 1;
        }
    }

    /// Hears the next status PDU that is there.
    fn hear(&mut self) -> io::Result<Option<Action>> {
        let mut buffer = [0; 512];
        let Some((length, _)) = next(self.socket, &mut buffer, Nanos::ZERO)? else { return Ok(None) };
        let Ok(status) = Status::parse(&buffer[..length]) else {
            self.told.garbage += 1;
            return Ok(Some(Action::Test));
        };
        self.heard = clock::monotonic();
        self.header.status = status.sent;
        self.header.missed = match status.sequence.checked_sub(self.statuses + 1) {
            Some(missed) => u16::try_from(missed).unwrap_or(u16::MAX),
            None => u16::MAX,
        };
        self.statuses = self.statuses.max(status.sequence);
        match &mut self.rate {
            Rate::Ours(search, _) => {
                search.see(&status.trial);
                self.told.table_end = search.index() + 1 >= rows();
            }
            Rate::Theirs(current, _) => {
                *current = status.row;
                self.told.table_end = *current == row(rows() - 1);
            }
        }
        if status.sub_interval > self.sub_interval {
            self.sub_interval = status.sub_interval;
            self.told.parts.push(status.last);
        }
        Ok(Some(status.action))
    }
}
