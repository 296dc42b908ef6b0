//! Who is asked.

use super::net::{Net, Part, ServerTimer};
use super::plan::{Course, Host, Kind, Plan, Then};
use dwell_core::Nanos;
use dwell_core::tcp::{Options, Segment, TcpFlags, Timestamps};
use rand::RngExt as _;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum State {
    Listen,
    /// Both ends opened.
    SynSent,
    SynReceived,
    Established,
    Closed,
}

/// A server.
pub(crate) struct Server {
    host: Host,
    state: State,
    timestamps: bool,
    recent: u32,
    /// Its initial sequence number, which with SYN cookies changes.
    isn: u32,
    next: u32,
    expects: u32,
    repeated: u32,
    timer: u32,
    to_say: u32,
    answering: bool,
    heard: Option<u32>,
}

const MOST_REPEATED: u32 = 5;
const FULL: u32 = 1_400;

impl Server {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            host: plan.server,
            state: State::Listen,
            timestamps: plan.client.timestamps && plan.server.timestamps,
            recent: 0,
            isn: plan.server.isn,
            next: plan.server.isn.wrapping_add(1),
            expects: 0,
            repeated: 0,
            timer: 0,
            to_say: plan.data,
            answering: false,
            heard: None,
        }
    }

    /// Opens the connection from its side too, at about the time when the client's SYN is under way.
    pub(crate) fn open(&mut self, net: &mut Net<'_>) {
        let way: Nanos = net.plan.sections.iter().map(|section| section[0]).sum();
        let early = Nanos::from_f64(way.as_f64() * net.rng.random_range(0.05..0.95));
        net.wake_server(net.plan.start + early, ServerTimer::Open);
    }

    fn options(&self, now: Nanos) -> Options {
        let timestamps = Timestamps { value: self.host.clock(now), echo: self.recent };
        Options { timestamps: self.timestamps.then_some(timestamps), ..Options::default() }
    }

    pub(crate) fn wake(&mut self, now: Nanos, timer: ServerTimer, net: &mut Net<'_>) {
        match timer {
            ServerTimer::SynAck { timer } if self.state == State::SynReceived && timer == self.timer => {
                if self.repeated < MOST_REPEATED {
                    self.repeated += 1;
                    self.answer(now, None, net);
                } else {
                    self.state = State::Closed;
                }
            }
            ServerTimer::Say => self.say_next(now, net),
            ServerTimer::Greet => self.say(now, TcpFlags::ACK.with(TcpFlags::PSH), 90, net),
            ServerTimer::Open if self.state == State::Listen => {
                self.state = State::SynSent;
                let part = Part {
                    flags: TcpFlags::SYN,
                    sequence: self.isn,
                    options: self.options(now),
                    ..Part::default()
                };
                net.send(now, false, Kind::Syn, part, None);
            }
            _ => {}
        }
    }

    /// A SYN/ACK: in answer to a SYN, or because a timer has it repeated.
    fn answer(&mut self, now: Nanos, to: Option<usize>, net: &mut Net<'_>) {
        let mut flags = TcpFlags::SYN.with(TcpFlags::ACK);
        if net.plan.ecn {
            flags = flags.with(TcpFlags::ECE);
        }
        let fast_open = to.is_some() && matches!(net.plan.course, Course::FastOpen { .. });
        let options = Options { fast_open, mptcp: net.plan.mptcp, ..self.options(now) };
        let part = Part { flags, sequence: self.isn, acknowledgment: self.expects, payload: 0, options };
        net.send(now, false, Kind::SynAck, part, to);
        self.timer += 1;
        if !self.host.cookies {
            let at = now + Nanos::from_secs(1 << self.repeated) + net.wheel();
            net.wake_server(at, ServerTimer::SynAck { timer: self.timer });
        }
    }

    pub(crate) fn hear(&mut self, now: Nanos, packet: usize, net: &mut Net<'_>) {
        let sent = net.heard(packet);
        let kind = sent.kind;
        let Some(segment) = sent.segment().copied() else { return };
        let now = now + net.slack();
        match kind {
            Kind::Syn => self.syn(now, packet, &segment, net),
            Kind::SynAck if matches!(self.state, State::SynSent | State::SynReceived) => {
                self.state = State::Established;
            }
            _ if segment.flags.has(TcpFlags::RST) => self.state = State::Closed,
            Kind::Ack | Kind::Data | Kind::Later => self.take(now, &segment, net),
            Kind::SynAck | Kind::Refusal => {}
        }
    }

    fn syn(&mut self, now: Nanos, packet: usize, segment: &Segment, net: &mut Net<'_>) {
        let stamp = segment.options.timestamps.map_or(0, |stamps| stamps.value);
        match net.plan.course {
            Course::Silent => {}
            Course::Refused => {
                let flags = TcpFlags::RST.with(TcpFlags::ACK);
                let acknowledgment = segment.sequence.wrapping_add(1 + segment.payload);
                net.send(
                    now,
                    false,
                    Kind::Refusal,
                    Part { flags, acknowledgment, ..Part::default() },
                    Some(packet),
                );
            }
            course => {
                let first = matches!(self.state, State::Listen | State::SynSent);
                if first || self.host.newest || self.host.cookies {
                    self.recent = stamp;
                }
                match self.state {
                    State::Listen | State::SynSent => {
                        // Without state there is nowhere to keep it.
                        let taken =
                            !self.host.cookies && matches!(course, Course::FastOpen { taken: true, .. });
                        let data = if taken { segment.payload } else { 0 };
                        self.expects = segment.sequence.wrapping_add(1 + data);
                        if self.host.cookies {
                            // The number counts minutes (RFC 4987, appendix A).
                            let minutes = (now.0 / 60_000_000_000) as u32;
                            self.isn = self.host.isn.wrapping_add(minutes << 24);
                            self.next = self.isn.wrapping_add(1);
                        } else {
                            self.state = State::SynReceived;
                        }
                        self.answer(now, Some(packet), net);
                        if data > 0 && net.rng.random_bool(0.5) {
                            self.reply(now, net);
                        }
                    }
                    State::SynReceived => self.answer(now, Some(packet), net),
                    State::Established | State::Closed => {}
                }
            }
        }
    }

    /// What comes after the SYN.
    fn take(&mut self, now: Nanos, segment: &Segment, net: &mut Net<'_>) {
        if !segment.flags.has(TcpFlags::ACK) {
            return;
        }
        let opens = self.state == State::SynReceived || self.state == State::Listen && self.host.cookies;
        if opens && segment.acknowledgment.wrapping_sub(self.isn) as i32 > 0 {
            self.state = State::Established;
            if net.plan.then == Then::Listen {
                let at = now + net.slack();
                net.wake_server(at, ServerTimer::Greet);
            }
        }
        if self.state != State::Established {
            return;
        }
        let fin = segment.flags.has(TcpFlags::FIN);
        let end = segment.sequence.wrapping_add(segment.payload).wrapping_add(u32::from(fin));
        if self.heard.is_none_or(|heard| end.wrapping_sub(heard) as i32 > 0) {
            self.heard = Some(end);
            self.recent = segment.options.timestamps.map_or(0, |stamps| stamps.value);
            self.expects = end;
        }
        if segment.payload > 0 {
            self.reply(now, net);
        } else if fin {
            self.say(now, TcpFlags::ACK, 0, net);
        }
    }

    fn reply(&mut self, now: Nanos, net: &mut Net<'_>) {
        if !self.answering {
            self.answering = true;
            let thought = Nanos::from_f64(net.rng.random::<f64>().powi(3) * 20e6);
            net.wake_server(now + thought, ServerTimer::Say);
        }
    }

    fn say_next(&mut self, now: Nanos, net: &mut Net<'_>) {
        if self.to_say == 0 {
            self.say(now, TcpFlags::ACK.with(TcpFlags::FIN), 0, net);
            self.next = self.next.wrapping_add(1);
            return;
        }
        self.to_say -= 1;
        self.say(now, TcpFlags::ACK, FULL, net);
        let pause = Nanos::from_f64(net.rng.random::<f64>().powi(4) * 5e6);
        net.wake_server(now + Nanos::from_micros(12) + pause, ServerTimer::Say);
    }

    fn say(&mut self, now: Nanos, flags: TcpFlags, payload: u32, net: &mut Net<'_>) {
        let options = self.options(now);
        let part = Part { flags, sequence: self.next, acknowledgment: self.expects, payload, options };
        net.send(now, false, Kind::Later, part, None);
        self.next = self.next.wrapping_add(payload);
    }
}
