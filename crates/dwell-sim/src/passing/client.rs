//! Who opens a connection.

use super::net::{ClientTimer, Net, Part};
use super::plan::{Course, Host, Kind, Plan, Then};
use dwell_core::Nanos;
use dwell_core::tcp::{Options, Segment, TcpFlags, Timestamps};
use rand::RngExt as _;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum State {
    SynSent,
    /// Both ends opened: it has answered a SYN by a SYN/ACK.
    SynReceived,
    Established,
    Closed,
}

/// A client.
pub(crate) struct Client {
    host: Host,
    state: State,
    syns: u32,
    asked: u32,
    /// Whether both ends use time stamps.
    timestamps: bool,
    /// The time stamp to echo.
    recent: u32,
    /// Its next sequence number.
    next: u32,
    /// The next one it expects.
    expects: u32,
    /// Whether the server has said anything beyond its SYN/ACK.
    answered: bool,
    unacknowledged: u32,
    closing: bool,
}

const MOST_SYNS: u32 = 7;

/// Of the request.
const ASKED: u32 = 320;

impl Client {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            host: plan.client,
            state: State::SynSent,
            syns: 0,
            asked: 0,
            timestamps: plan.client.timestamps && plan.server.timestamps,
            recent: 0,
            next: plan.client.isn.wrapping_add(1),
            expects: 0,
            answered: false,
            unacknowledged: 0,
            closing: false,
        }
    }

    fn options(&self, now: Nanos) -> Options {
        let timestamps = Timestamps { value: self.host.clock(now), echo: self.recent };
        Options { timestamps: self.timestamps.then_some(timestamps), ..Options::default() }
    }

    /// Sends the first SYN, or the next.
    pub(crate) fn open(&mut self, now: Nanos, net: &mut Net<'_>) {
        let first = self.syns == 0;
        self.syns += 1;
        let mut flags = TcpFlags::SYN;
        if net.plan.ecn && first {
            flags = flags.with(TcpFlags::ECE).with(TcpFlags::CWR);
        }
        let (fast_open, payload) = match net.plan.course {
            // A repetition carries neither data nor cookie.
            Course::FastOpen { data, .. } if first => (true, data),
            _ => (false, 0),
        };
        let timestamps = self.host.timestamps.then(|| Timestamps { value: self.host.clock(now), echo: 0 });
        let options = Options { timestamps, fast_open, mptcp: net.plan.mptcp, cut: false };
        let part = Part { flags, sequence: self.host.isn, acknowledgment: 0, payload, options };
        net.send(now, true, Kind::Syn, part, None);
        let at = now + self.host.schedule.wait(self.syns - 1) + net.wheel();
        net.wake_client(at, ClientTimer::Syn);
    }

    pub(crate) fn wake(&mut self, now: Nanos, timer: ClientTimer, net: &mut Net<'_>) {
        let given_up = net.plan.gives_up.is_some_and(|at| now >= at);
        match timer {
            ClientTimer::Syn if self.state == State::SynSent => {
                if self.syns < MOST_SYNS && !given_up && !net.plan.flood {
                    self.open(now, net);
                } else {
                    self.state = State::Closed;
                }
            }
            ClientTimer::Ask if self.state == State::Established => self.ask(now, net),
            ClientTimer::AskAgain if self.state == State::Established && !self.answered && self.asked < 4 => {
                self.next = self.next.wrapping_sub(ASKED);
                self.ask(now, net);
            }
            ClientTimer::Close if self.state == State::Established => self.close(now, net),
            _ => {}
        }
    }

    fn say(
        &mut self,
        now: Nanos,
        kind: Kind,
        flags: TcpFlags,
        payload: u32,
        net: &mut Net<'_>,
        answers: Option<usize>,
    ) {
        let mut options = self.options(now);
        options.mptcp = kind == Kind::Ack && net.plan.mptcp;
        let part = Part { flags, sequence: self.next, acknowledgment: self.expects, payload, options };
        net.send(now, true, kind, part, answers);
        self.next = self.next.wrapping_add(payload);
    }

    fn ask(&mut self, now: Nanos, net: &mut Net<'_>) {
        self.asked += 1;
        self.say(now, Kind::Data, TcpFlags::ACK.with(TcpFlags::PSH), ASKED, net, None);
        let patience = Nanos::from_millis(200) * (1 << self.asked) + net.wheel();
        net.wake_client(now + patience, ClientTimer::AskAgain);
    }

    fn close(&mut self, now: Nanos, net: &mut Net<'_>) {
        if !self.closing {
            self.closing = true;
            let last = if net.plan.then == Then::Abort { TcpFlags::RST } else { TcpFlags::FIN };
            self.say(now, Kind::Later, TcpFlags::ACK.with(last), 0, net, None);
            self.next = self.next.wrapping_add(1);
        }
    }

    pub(crate) fn hear(&mut self, now: Nanos, packet: usize, net: &mut Net<'_>) {
        let sent = net.heard(packet);
        let (kind, segment) = (sent.kind, sent.segment().copied());
        let now = now + net.slack();
        match (self.state, kind, segment) {
            (State::SynSent, _, _) if net.plan.gives_up.is_some_and(|at| now >= at) => {
                self.state = State::Closed
            }
            (State::SynSent, Kind::Refusal, Some(_)) => self.state = State::Closed,
            // Some take an ICMP message at its word, others go on.
            (State::SynSent, Kind::Refusal, None) if net.rng.random_bool(0.5) => self.state = State::Closed,
            (State::SynSent, Kind::SynAck, Some(segment)) => self.establish(now, packet, &segment, net),
            (State::SynReceived, Kind::SynAck, _) => self.state = State::Established,
            (State::SynSent | State::SynReceived, Kind::Syn, Some(segment)) => {
                self.state = State::SynReceived;
                self.recent = segment.options.timestamps.map_or(0, |stamps| stamps.value);
                self.expects = segment.sequence.wrapping_add(1);
                let options = self.options(now);
                let flags = TcpFlags::SYN.with(TcpFlags::ACK);
                let (sequence, acknowledgment) = (self.host.isn, self.expects);
                let part = Part { flags, sequence, acknowledgment, payload: 0, options };
                net.send(now, true, Kind::SynAck, part, Some(packet));
            }
            (State::Established, Kind::SynAck, Some(segment)) => self.challenge(now, packet, &segment, net),
            (State::Established, Kind::Later, Some(segment)) => self.take(now, &segment, net),
            _ => {}
        }
    }

    /// The first SYN/ACK.
    fn establish(&mut self, now: Nanos, packet: usize, segment: &Segment, net: &mut Net<'_>) {
        self.state = State::Established;
        self.recent = segment.options.timestamps.map_or(0, |stamps| stamps.value);
        self.expects = segment.sequence.wrapping_add(1);
        self.next = segment.acknowledgment;
        let think =
            |net: &mut Net<'_>, most: Nanos| Nanos::from_f64(net.rng.random::<f64>().powi(4) * most.as_f64());
        match net.plan.then {
            Then::AskOnly => {
                let at = now + think(net, Nanos::from_millis(40));
                return net.wake_client(at, ClientTimer::Ask);
            }
            Then::Reset => {
                self.state = State::Closed;
                let part = Part { flags: TcpFlags::RST, sequence: self.next, ..Part::default() };
                return net.send(now, true, Kind::Later, part, Some(packet));
            }
            Then::Ask => {
                let at = now + think(net, Nanos::from_millis(50));
                net.wake_client(at, ClientTimer::Ask);
            }
            Then::Close | Then::Abort => {
                let at = now + think(net, Nanos::from_millis(5));
                net.wake_client(at, ClientTimer::Close);
            }
            Then::Listen => {}
        }
        self.say(now, Kind::Ack, TcpFlags::ACK, 0, net, Some(packet));
    }

    /// A SYN/ACK again: Linux answers with the time stamp of the first (a challenge ACK, RFC 5961).
    fn challenge(&mut self, now: Nanos, packet: usize, segment: &Segment, net: &mut Net<'_>) {
        let same = segment.sequence.wrapping_add(1) == self.expects;
        if self.host.newest {
            self.recent = segment.options.timestamps.map_or(0, |stamps| stamps.value);
        }
        let first = self.asked == 0 && !self.closing && !self.answered;
        let kind = if first { Kind::Ack } else { Kind::Later };
        self.say(now, kind, TcpFlags::ACK, 0, net, (same && first).then_some(packet));
    }

    /// Whatever the server says later.
    fn take(&mut self, now: Nanos, segment: &Segment, net: &mut Net<'_>) {
        if segment.flags.has(TcpFlags::RST) {
            self.state = State::Closed;
            return;
        }
        self.answered = true;
        let fin = segment.flags.has(TcpFlags::FIN);
        let end = segment.sequence.wrapping_add(segment.payload).wrapping_add(u32::from(fin));
        if end.wrapping_sub(self.expects) as i32 > 0 {
            self.expects = end;
            self.recent = segment.options.timestamps.map_or(0, |stamps| stamps.value);
            self.unacknowledged += 1;
        }
        if self.unacknowledged >= 2 || fin || self.asked == 0 && self.unacknowledged > 0 {
            self.unacknowledged = 0;
            self.say(now, Kind::Later, TcpFlags::ACK, 0, net, None);
        }
        if fin {
            self.close(now, net);
        } else if self.asked == 0 && !self.closing {
            // It has waited for the server to speak first.
            let at = now + net.slack();
            net.wake_client(at, ClientTimer::Ask);
        }
    }
}
