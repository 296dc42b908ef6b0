//! The sections between two hosts, and what is on them.

use super::plan::{Course, Kind, Plan, View};
use super::tap::Seen;
use crate::random::Stream;
use dwell_core::Nanos;
use dwell_core::tcp::{Options, Segment, TcpFlags, Unreachable};
use rand::RngExt as _;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A packet that was sent, and where it passed.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) kind: Kind,
    /// From client to server.
    pub(crate) forward: bool,
    /// With the time at which it was sent.
    pub(crate) what: Seen,
    /// The packet that it was sent at once in answer to; none, where a timer or a program had it sent.
    pub(crate) answers: Option<usize>,
    /// When each probe saw it.
    pub(crate) passed: Vec<Option<Nanos>>,
}

impl Sent {
    pub(crate) fn segment(&self) -> Option<&Segment> {
        match &self.what {
            Seen::Segment(segment) => Some(segment),
            Seen::Unreachable(_) => None,
        }
    }
}

/// What a client waits for.
#[derive(Copy, Clone, Debug)]
pub(crate) enum ClientTimer {
    Syn,
    Ask,
    AskAgain,
    Close,
}

/// What a server waits for.
#[derive(Copy, Clone, Debug)]
pub(crate) enum ServerTimer {
    /// To repeat its SYN/ACK, unless another timer took this one's place.
    SynAck {
        /// Which one.
        timer: u32,
    },
    /// To say the next segment of its answer.
    Say,
    /// To say what it says first.
    Greet,
    /// To open the connection from its side too.
    Open,
}

/// What happens next.
#[derive(Copy, Clone, Debug)]
pub(super) enum Event {
    Arrives(usize),
    /// At a router that has no way for it.
    Bounces(usize),
    Client(ClientTimer),
    Server(ServerTimer),
}

/// The path, and what is on it.
pub(crate) struct Net<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) rng: &'p mut Stream,
    pub(super) sent: Vec<Sent>,
    due: BinaryHeap<Reverse<(Nanos, usize)>>,
    events: Vec<Event>,
    /// When the last packet left each section, in each direction: none overtakes another.
    left: Vec<[Nanos; 2]>,
}

impl<'p> Net<'p> {
    pub(super) fn new(plan: &'p Plan, rng: &'p mut Stream) -> Self {
        Self {
            plan,
            rng,
            sent: Vec::new(),
            due: BinaryHeap::new(),
            events: Vec::new(),
            left: vec![[Nanos::ZERO; 2]; plan.sections.len()],
        }
    }

    /// What happens next, and when.
    pub(super) fn next(&mut self) -> Option<(Nanos, Event)> {
        let Reverse((now, event)) = self.due.pop()?;
        Some((now, self.events[event]))
    }

    fn at(&mut self, at: Nanos, event: Event) {
        self.due.push(Reverse((at, self.events.len())));
        self.events.push(event);
    }

    pub(crate) fn wake_client(&mut self, at: Nanos, timer: ClientTimer) {
        self.at(at, Event::Client(timer));
    }

    pub(crate) fn wake_server(&mut self, at: Nanos, timer: ServerTimer) {
        self.at(at, Event::Server(timer));
    }

    /// How much later than asked a host's kernel does something.
    pub(crate) fn slack(&mut self) -> Nanos {
        Nanos::from_micros(self.rng.random_range(2..40))
    }

    /// How much later than asked a timer of the kernel's wheel expires.
    pub(crate) fn wheel(&mut self) -> Nanos {
        Nanos::from_micros(self.rng.random_range(0..4_000))
    }

    /// What was sent so.
    pub(crate) fn heard(&self, packet: usize) -> &Sent {
        &self.sent[packet]
    }

    fn lost(&mut self, kind: Kind, nth: usize, section: usize) -> bool {
        let forced =
            self.plan.losses.iter().any(|loss| (loss.kind, loss.nth, loss.section) == (kind, nth, section));
        forced || (kind != Kind::Later && self.rng.random_bool(self.plan.loss))
    }

    /// Sends a segment; fills in its ends.
    pub(crate) fn send(&mut self, now: Nanos, forward: bool, kind: Kind, part: Part, answers: Option<usize>) {
        let Plan { client, server, .. } = self.plan;
        let (from, to) = if forward { (client.end, server.end) } else { (server.end, client.end) };
        let Part { flags, sequence, acknowledgment, payload, options } = part;
        let segment = Segment { at: now, from, to, flags, sequence, acknowledgment, payload, options };
        let sections = self.plan.sections.len();
        let from = if forward { 0 } else { sections };
        self.carry(
            now,
            Sent { kind, forward, what: Seen::Segment(segment), answers, passed: Vec::new() },
            from,
        );
    }

    /// Carries a packet from the junction `from`, where junction 0 is the client.
    fn carry(&mut self, now: Nanos, mut sent: Sent, from: usize) {
        let nth =
            self.sent.iter().filter(|other| (other.kind, other.forward) == (sent.kind, sent.forward)).count();
        let sections = self.plan.sections.len();
        sent.passed = vec![None; sections - 1];
        let number = self.sent.len();
        let mut at = now;
        let goal = match (sent.forward, self.plan.course) {
            (true, Course::Unreachable { behind }) => behind,
            (true, _) => sections,
            (false, _) => 0,
        };
        let mut junction = from;
        while junction != goal {
            let section = if sent.forward { junction } else { junction - 1 };
            let delay = self.plan.sections[section][usize::from(!sent.forward)];
            let jitter = self.rng.random::<f64>().powi(4) * 0.2 * delay.as_f64();
            let left = &mut self.left[section][usize::from(!sent.forward)];
            at = (at + delay + Nanos::from_f64(jitter)).max(*left + Nanos(100));
            *left = at;
            if self.lost(sent.kind, nth, section) {
                self.sent.push(sent);
                return;
            }
            junction = if sent.forward { junction + 1 } else { junction - 1 };
            if (1..sections).contains(&junction) && self.hears(junction - 1, &sent) {
                sent.passed[junction - 1] = Some(at);
            }
        }
        let bounces = sent.forward && matches!(self.plan.course, Course::Unreachable { .. });
        self.sent.push(sent);
        self.at(at, if bounces { Event::Bounces(number) } else { Event::Arrives(number) });
    }

    /// Whether a probe hears a packet that passes it.
    fn hears(&mut self, probe: usize, sent: &Sent) -> bool {
        match self.plan.views[probe] {
            View::Whole | View::Mirrored | View::Shuffled => true,
            View::Forward => sent.forward,
            View::Back => !sent.forward,
            View::Deaf => sent.kind == Kind::Later || self.rng.random_bool(0.8),
        }
    }

    /// A router's word that there is no way.
    pub(super) fn bounce(&mut self, now: Nanos, packet: usize) {
        let Course::Unreachable { behind } = self.plan.course else { return };
        let Some(Segment { from, to, sequence, .. }) = self.sent[packet].segment().copied() else { return };
        let at = now + self.slack();
        let what = Seen::Unreachable(Unreachable { at, from, to, sequence });
        let passed = Vec::new();
        self.carry(
            at,
            Sent { kind: Kind::Refusal, forward: false, what, answers: Some(packet), passed },
            behind,
        );
    }
}

/// A segment without its ends.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Part {
    pub(crate) flags: TcpFlags,
    pub(crate) sequence: u32,
    pub(crate) acknowledgment: u32,
    pub(crate) payload: u32,
    pub(crate) options: Options,
}
