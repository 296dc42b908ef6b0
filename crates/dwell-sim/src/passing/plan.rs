//! What a connection will be like, drawn before it begins.

use super::labels::WRAPS;
use crate::random::Stream;
use dwell_core::Nanos;
use dwell_core::tcp::Endpoint;
use rand::RngExt as _;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A segment's part in a connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Syn,
    SynAck,
    /// Without data, in answer to a SYN/ACK.
    Ack,
    /// The client's first data.
    Data,
    /// An RST, or an ICMP message, in answer to a SYN.
    Refusal,
    /// Whatever else.
    Later,
}

/// When an unanswered SYN is sent again.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// Linux since 6.5: four times after a second, then after twice as long each.
    Linear,
    /// Twice as long each time, from this on.
    Doubling(Nanos),
}

impl Schedule {
    pub(crate) fn wait(self, repetition: u32) -> Nanos {
        match self {
            Self::Linear => Nanos::from_secs(1 << repetition.saturating_sub(3)),
            Self::Doubling(first) => first * (1 << repetition),
        }
    }
}

/// A host.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Host {
    pub(crate) end: Endpoint,
    pub(crate) isn: u32,
    pub(crate) timestamps: bool,
    /// Of the time stamps' clock.
    tick: Nanos,
    offset: u32,
    /// It echoes the time stamp of the newest repetition, where Linux echoes that of the first.
    pub(crate) newest: bool,
    pub(crate) schedule: Schedule,
    /// As a server it keeps no state before the third segment: it answers each SYN for itself, and repeats nothing.
    pub(crate) cookies: bool,
}

impl Host {
    /// Whether its first numbers are the greatest, and those after them 0 and up.
    const fn wraps(&self) -> bool {
        self.isn >= u32::MAX - 1
    }

    /// What its time stamps say at `at`.
    pub(crate) fn clock(&self, at: Nanos) -> u32 {
        self.offset.wrapping_add((at.0 / self.tick.0) as u32)
    }
}

/// How a connection goes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Course {
    Open,
    /// TCP Fast Open: so much data on the SYN, and whether the server takes it.
    FastOpen {
        data: u32,
        taken: bool,
    },
    Simultaneous,
    /// By the server's RST.
    Refused,
    /// By an ICMP message from behind so many sections.
    Unreachable {
        behind: usize,
    },
    /// Nobody answers.
    Silent,
}

/// What a client does once it has the SYN/ACK.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// An ACK at once, and a request later.
    Ask,
    /// An ACK at once; the server speaks first.
    Listen,
    /// A request some time later, which is the first ACK.
    AskOnly,
    /// An ACK at once, and a FIN behind it.
    Close,
    /// An ACK at once, and an RST behind it.
    Abort,
    /// An RST: it only wanted to know.
    Reset,
}

/// What a probe sees of a connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum View {
    Whole,
    /// Every segment twice: a mirror of two ports.
    Mirrored,
    /// Segments are written down in another order than they passed.
    Shuffled,
    /// The direction from client to server alone.
    Forward,
    /// The direction from server to client alone.
    Back,
    /// Some segments are not heard.
    Deaf,
}

/// A segment that is lost: the `nth` of its kind, in this section.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) kind: Kind,
    pub(crate) nth: usize,
    pub(crate) section: usize,
}

/// One connection, before it begins.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) start: Nanos,
    pub(crate) client: Host,
    pub(crate) server: Host,
    /// There and back, one after the other from client to server.
    pub(crate) sections: Vec<[Nanos; 2]>,
    pub(crate) losses: Vec<Loss>,
    /// Of any further loss, for each segment of a handshake in each section.
    pub(crate) loss: f64,
    pub(crate) course: Course,
    pub(crate) then: Then,
    /// Segments of the server's answer.
    pub(crate) data: u32,
    pub(crate) views: Vec<View>,
    pub(crate) ecn: bool,
    pub(crate) mptcp: bool,
    /// When the client gives up and takes the same ports for another connection.
    pub(crate) gives_up: Option<Nanos>,
    /// One SYN of a flood: it is not repeated.
    pub(crate) flood: bool,
    /// What of it is worth a line of its own in a verdict.
    pub(crate) labels: Vec<&'static str>,
}

/// One of several, by weight.
fn one_of<T: Copy>(rng: &mut Stream, choices: &[(u32, T)]) -> T {
    let mut at = rng.random_range(0..choices.iter().map(|(weight, _)| weight).sum());
    for (weight, choice) in choices {
        if at < *weight {
            return *choice;
        }
        at -= weight;
    }
    choices[0].1
}

/// Spread evenly over orders of magnitude.
fn log_uniform(rng: &mut Stream, least: Nanos, most: Nanos) -> Nanos {
    let exponent = rng.random_range(least.as_f64().ln()..most.as_f64().ln());
    Nanos::from_f64(exponent.exp())
}

fn host(rng: &mut Stream, end: Endpoint) -> Host {
    let isn = if rng.random_bool(0.05) { u32::MAX - rng.random_range(0..2) } else { rng.random() };
    let ticks = [(8, Nanos::from_millis(1)), (1, Nanos::from_millis(4)), (1, Nanos::from_millis(10))];
    let schedules = [
        (5, Schedule::Linear),
        (4, Schedule::Doubling(Nanos::from_secs(1))),
        (1, Schedule::Doubling(Nanos::from_secs(3))),
    ];
    Host {
        end,
        isn,
        timestamps: rng.random_bool(0.85),
        tick: one_of(rng, &ticks),
        offset: rng.random(),
        newest: rng.random_bool(0.15),
        schedule: one_of(rng, &schedules),
        cookies: false,
    }
}

fn ends(rng: &mut Stream) -> [Endpoint; 2] {
    let ports = [rng.random_range(1_024..=65_535), one_of(rng, &[(6, 443), (3, 80), (1, 22)])];
    let (client, server): (u32, u32) = (rng.random(), rng.random_range(0..500));
    let addresses = if rng.random_bool(0.2) {
        [0x2001_0db8_0001_u128 << 80 | u128::from(client), 0x2001_0db8_0002_u128 << 80 | u128::from(server)]
            .map(|bits| Ipv6Addr::from_bits(bits).into())
    } else {
        [0x0a00_0000 | (client >> 8), 0xc633_6400 | (server % 256)]
            .map(|bits| Ipv4Addr::from_bits(bits).into())
    };
    [0, 1].map(|end| Endpoint { address: addresses[end], port: ports[end] })
}

impl Host {
    /// A host of which nothing matters but who it is.
    pub(crate) const fn named(end: Endpoint, isn: u32) -> Self {
        Self {
            end,
            isn,
            timestamps: true,
            tick: Nanos::from_millis(1),
            offset: 0,
            newest: false,
            schedule: Schedule::Linear,
            cookies: false,
        }
    }
}

impl Plan {
    /// A connection that real hosts made.
    pub(crate) fn witnessed(
        client: Host,
        server: Host,
        sections: Vec<[Nanos; 2]>,
        course: Course,
        labels: Vec<&'static str>,
    ) -> Self {
        Self {
            start: Nanos::ZERO,
            client,
            server,
            sections,
            losses: Vec::new(),
            loss: 0.0,
            course,
            then: Then::Ask,
            data: 0,
            views: vec![View::Whole],
            ecn: false,
            mptcp: false,
            gives_up: None,
            flood: false,
            labels,
        }
    }

    /// A connection with nothing peculiar about it.
    pub(crate) fn plain(rng: &mut Stream, start: Nanos, probes: usize, data: u32) -> Self {
        let [client, server] = ends(rng);
        let mut section = || {
            let there = log_uniform(rng, Nanos::from_micros(5), Nanos::from_millis(60));
            [there, Nanos::from_f64(there.as_f64() * rng.random_range(0.7..1.4))]
        };
        let sections = (0..=probes).map(|_| section()).collect();
        Self {
            start,
            client: host(rng, client),
            server: host(rng, server),
            sections,
            losses: Vec::new(),
            loss: 0.0,
            course: Course::Open,
            then: one_of(rng, &[(9, Then::Ask), (1, Then::Listen)]),
            data: rng.random_range(0..=data * 2),
            views: vec![View::Whole; probes],
            ecn: rng.random_bool(0.2),
            mptcp: rng.random_bool(0.05),
            gives_up: None,
            flood: false,
            labels: Vec::new(),
        }
    }

    /// Makes it as peculiar as real ones are.
    pub(crate) fn complicate(&mut self, rng: &mut Stream) {
        self.lose(rng);
        self.set_course(rng);
        self.set_views(rng);
        if rng.random_bool(0.02) {
            let slow = rng.random_range(0..self.sections.len());
            self.sections[slow][rng.random_range(0..2)] =
                log_uniform(rng, Nanos::from_millis(200), Nanos::from_secs(3));
            self.labels.push("slow");
        }
        if rng.random_bool(0.04) {
            self.server.cookies = true;
            self.labels.push("syn-cookies");
        }
        if !(self.client.timestamps && self.server.timestamps) {
            self.labels.push("no-timestamps");
        }
        if self.client.newest || self.server.newest {
            self.labels.push("echoes-newest");
        }
        if self.ecn {
            self.labels.push("ecn");
        }
        if self.mptcp {
            self.labels.push("mptcp");
        }
        if self.client.wraps() || self.server.wraps() {
            self.labels.push(WRAPS);
        }
        if self.labels.is_empty() {
            self.labels.push("plain");
        }
    }

    fn lose(&mut self, rng: &mut Stream) {
        let kinds = [(3, Kind::Syn), (3, Kind::SynAck), (3, Kind::Ack), (1, Kind::Data)];
        let forced = one_of(rng, &[(70, 0), (20, 1), (7, 2), (3, 3)]);
        for _ in 0..forced {
            let kind = one_of(rng, &kinds);
            let nth = one_of(rng, &[(4, 0), (1, 1)]);
            self.losses.push(Loss { kind, nth, section: rng.random_range(0..self.sections.len()) });
            self.labels.push(match kind {
                Kind::Syn => "syn-lost",
                Kind::SynAck => "syn-ack-lost",
                Kind::Ack => "ack-lost",
                _ => "data-lost",
            });
        }
        self.labels.sort_unstable();
        self.labels.dedup();
        if rng.random_bool(0.1) {
            self.loss = rng.random_range(0.01..0.3);
            self.labels.push("lossy");
        }
    }

    fn set_course(&mut self, rng: &mut Stream) {
        let behind = rng.random_range(1..=self.sections.len());
        let fast = Course::FastOpen {
            data: one_of(rng, &[(1, 0), (2, 300), (1, 1_200)]),
            taken: rng.random_bool(0.7),
        };
        let courses = [
            (850, (Course::Open, "")),
            (40, (fast, "fast-open")),
            (10, (Course::Simultaneous, "simultaneous-open")),
            (40, (Course::Refused, "refused")),
            (20, (Course::Unreachable { behind }, "unreachable")),
            (40, (Course::Silent, "silent")),
        ];
        let (course, label) = one_of(rng, &courses);
        self.course = course;
        if !label.is_empty() {
            self.labels.push(label);
        }
        let thens = [
            (90, (self.then, "")),
            (5, (Then::AskOnly, "ack-with-data")),
            (2, (Then::Close, "closed-at-once")),
            (1, (Then::Abort, "aborted")),
            (2, (Then::Reset, "half-open-scan")),
        ];
        let (then, label) = one_of(rng, &thens);
        if matches!(course, Course::Open | Course::FastOpen { .. }) && !label.is_empty() {
            self.then = then;
            self.labels.push(label);
        }
    }

    fn set_views(&mut self, rng: &mut Stream) {
        let views = [
            (86, (View::Whole, "")),
            (4, (View::Mirrored, "mirrored")),
            (4, (View::Shuffled, "shuffled")),
            (2, (View::Forward, "one-way")),
            (2, (View::Back, "one-way")),
            (2, (View::Deaf, "tap-deaf")),
        ];
        for view in &mut self.views {
            let (drawn, label) = one_of(rng, &views);
            *view = drawn;
            if !label.is_empty() && !self.labels.contains(&label) {
                self.labels.push(label);
            }
        }
    }

    /// Another connection by the same ports, once this one is given up.
    pub(crate) fn again(&self, rng: &mut Stream) -> (Self, Self) {
        let at = self.start + log_uniform(rng, Nanos::from_millis(300), Nanos::from_secs(20));
        let mut labels = vec!["ports-reused"];
        labels.extend(&self.labels);
        let old = Self { gives_up: Some(at), labels: labels.clone(), ..self.clone() };
        let client =
            Host { isn: self.client.isn.wrapping_add(rng.random_range(10_000..1 << 30)), ..self.client };
        let server = Host { isn: rng.random(), ..self.server };
        let wraps = client.wraps() || server.wraps();
        let labels = labels.into_iter().filter(|label| wraps || *label != WRAPS).collect();
        let new = Self { start: at, client, server, losses: Vec::new(), loss: 0.0, labels, ..self.clone() };
        (old, new)
    }
}
