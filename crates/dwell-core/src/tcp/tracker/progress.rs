//! One handshake in progress.

use super::super::{Endpoint, Flag, Flags, Half, Segment, TcpFlags};
use super::asked::{Asked, TIMEOUT};
use super::early::{Early, What};
use crate::unit::Nanos;

/// What follows a handshake's segments belongs to it if it is no further ahead than this: a first window of data, of
/// which not all passed, but not a number that is near by chance.
const FIRST_WINDOW: u32 = 1 << 20;

/// What is known of a handshake so far.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    pub(super) client: Endpoint,
    pub(super) server: Endpoint,
    pub(super) syns: Asked,
    pub(super) answers: Asked,
    pub(super) early: Option<Early>,
    pub(super) server_half: Half,
    pub(super) isn_client: u32,
    pub(super) isn_server: u32,
    /// TSecr of the (first) SYN/ACK.
    answer_echo: Option<u32>,
    /// Bytes of data on the SYN.
    pub(super) syn_data: u16,
    /// How many of them the SYN/ACK acknowledges.
    pub(super) syn_data_taken: u16,
    /// Bytes of data on the SYN/ACK.
    answer_data: u16,
    pub(super) flags: Flags,
    /// The client's number of the connection that these ports had before.
    pub(super) previous: Option<u32>,
    /// What the last SYN/ACK between these ports acknowledged that answers nothing of this connection's.
    pub(super) foreign: Option<u32>,
    /// Bytes of data on its SYN.
    pub(super) previous_data: u16,
    /// How often the first SYN was seen once more: this probe stands at a mirror, or at several places of a host at once, and each
    /// segment is seen as often.
    pub(super) copies: u8,
    /// When the SYN/ACK was seen again, and how often: a mirror's copy, or another one.
    pub(super) seen_again: Option<Nanos>,
    pub(super) times_again: u8,
    /// SYN/ACKs that passed after the client's ACK, of which each may make the client send another.
    pub(super) spare_answers: u8,
    /// The server's direction passes here, and its SYN/ACK has not been heard.
    pub(super) server_heard: bool,
    /// What passed shows that a SYN was not heard, and perhaps a SYN/ACK: what the client answers is not known.
    pub(super) deaf: bool,
    /// A SYN/ACK may have been forgotten: nothing tells which one the client answers.
    pub(super) answer_forgotten: bool,
    /// What passed shows that a SYN/ACK was not heard: neither what it answers nor what answers it is known.
    pub(super) answer_missed: bool,
    /// The SYN/ACK may repeat one that did not pass here: what follows it is not later than its answer for certain.
    pub(super) doubtful: bool,
    /// A SYN was not heard, before the first that was or after, and the client's ACK may be for it: no time since the first
    /// bounds both halves.
    pub(super) uncaused: bool,
    /// Its segments contradict each other in time: no half can be trusted.
    pub(super) skewed: bool,
}

/// Bytes of payload. No segment has more than 65,535.
pub(super) fn data(segment: &Segment) -> u16 {
    u16::try_from(segment.payload).unwrap_or(u16::MAX)
}

pub(super) fn echo(segment: &Segment) -> Option<u32> {
    segment.options.timestamps.map(|stamps| stamps.echo)
}

impl Progress {
    fn between(client: Endpoint, server: Endpoint, segment: &Segment) -> Self {
        let mut progress = Self {
            client,
            server,
            syns: Asked::default(),
            answers: Asked::default(),
            early: None,
            server_half: Half::Unknown,
            isn_client: 0,
            isn_server: 0,
            answer_echo: None,
            syn_data: 0,
            syn_data_taken: 0,
            answer_data: 0,
            flags: Flags::default(),
            previous: None,
            foreign: None,
            previous_data: 0,
            copies: 0,
            seen_again: None,
            times_again: 0,
            spare_answers: 0,
            server_heard: false,
            deaf: false,
            answer_forgotten: false,
            answer_missed: false,
            doubtful: true,
            uncaused: false,
            skewed: false,
        };
        progress.note(segment);
        progress
    }

    /// Begun by a SYN.
    pub(super) fn opened(syn: &Segment) -> Self {
        let mut progress = Self::between(syn.from, syn.to, syn);
        progress.isn_client = syn.sequence;
        progress.syn_data = data(syn);
        progress.syns = Asked::once(syn);
        progress
    }

    /// Begun by a SYN/ACK whose SYN did not pass. That it acknowledges no data of the SYN is presumed.
    pub(super) fn stray(answer: &Segment) -> Self {
        let mut progress = Self::between(answer.to, answer.from, answer);
        progress.isn_client = answer.acknowledgment.wrapping_sub(1);
        progress.isn_server = answer.sequence;
        progress.answer_data = data(answer);
        progress.answer_echo = echo(answer);
        progress.answers = Asked::once(answer);
        progress
    }

    /// What the options of a SYN or a SYN/ACK say.
    pub(super) fn note(&mut self, segment: &Segment) {
        let options = segment.options;
        let is_syn = !segment.flags.has(TcpFlags::ACK);
        let said = [
            (Flag::NoTimestamps, options.timestamps.is_none() && !options.cut),
            (Flag::OptionsCut, options.cut),
            (Flag::Mptcp, options.mptcp),
            (Flag::FastOpen, options.fast_open || is_syn && segment.payload > 0),
            (Flag::Ecn, is_syn && segment.flags.has(TcpFlags::ECE.with(TcpFlags::CWR))),
        ];
        for (flag, is_so) in said {
            if is_so {
                self.flags.set(flag);
            }
        }
    }

    /// When the first of its segments passed, of which there is one at least.
    pub(super) fn begun(&self) -> Nanos {
        match (self.syns.first(), self.answers.first()) {
            (Some(syn), Some(answer)) => syn.min(answer),
            (one, other) => one.or(other).unwrap_or_default(),
        }
    }

    pub(super) const fn ends(&self) -> (&Endpoint, &Endpoint) {
        (&self.client, &self.server)
    }

    pub(super) fn is_between(&self, one: &Endpoint, other: &Endpoint) -> bool {
        self.client == *one && self.server == *other || self.client == *other && self.server == *one
    }

    pub(super) fn is_client(&self, end: &Endpoint) -> bool {
        self.client == *end
    }

    pub(super) const fn has(&self, flag: Flag) -> bool {
        self.flags.has(flag)
    }

    /// When its SYN passed, and its time stamp, if nothing else has passed.
    pub(super) fn lone_syn(&self) -> Option<(Nanos, Option<u32>)> {
        let is_lone = self.answers.count() == 0 && self.early.is_none() && self.previous.is_none();
        self.syns.only().filter(|_| is_lone && !self.is_mirrored() && !self.server_heard)
    }

    pub(super) const fn has_syn_data(&self) -> bool {
        self.syn_data > 0
    }

    /// Whether it acknowledges the SYN, with none, some or all of its data.
    pub(super) fn acknowledges_syn(&self, segment: &Segment) -> bool {
        self.is_acknowledged_by(segment.acknowledgment)
    }

    /// Whether who acknowledges this has heard the SYN.
    pub(super) const fn is_acknowledged_by(&self, acknowledgment: u32) -> bool {
        acknowledgment.wrapping_sub(self.isn_client.wrapping_add(1)) <= self.syn_data as u32
    }

    /// Whether it acknowledges the SYN of the connection that these ports had before.
    pub(super) fn acknowledges_previous(&self, segment: &Segment) -> bool {
        let beyond = |isn: u32| segment.acknowledgment.wrapping_sub(isn.wrapping_add(1));
        self.previous.is_some_and(|isn| beyond(isn) <= u32::from(self.previous_data))
    }

    /// When its SYN was refused, or the client broke off.
    pub(super) fn refused_at(&self) -> Option<Nanos> {
        self.early.filter(|early| matches!(early.what, What::Refusal | What::Reset)).map(|early| early.at)
    }

    /// Whether a SYN/ACK answers what was refused.
    pub(super) fn has_refused(&self, answer: &Segment) -> bool {
        self.early.is_some_and(|early| early.what == What::Refusal) && self.acknowledges_syn(answer)
    }

    /// Whether no SYN of it has passed.
    pub(super) const fn is_without_syn(&self) -> bool {
        self.syns.count() == 0
    }

    /// Whether a SYN is the one that the SYN/ACK, which passed before it, answers.
    pub(super) fn was_asked_by(&self, syn: &Segment) -> bool {
        self.isn_client.wrapping_sub(syn.sequence) <= u32::from(data(syn))
    }

    /// The SYN passes after its SYN/ACK.
    pub(super) fn late_syn(&mut self, syn: &Segment) {
        self.note(syn);
        self.syn_data = data(syn);
        self.syn_data_taken = self.isn_client.wrapping_sub(syn.sequence) as u16;
        self.isn_client = syn.sequence;
        self.syns.late(syn);
        self.judge_again();
        self.deaf |= self.syns.names_unseen(self.answer_echo);
    }

    /// The SYN/ACK, or another one with another number: of a server that keeps no state, or lost it.
    pub(super) fn answered(&mut self, answer: &Segment) {
        self.note(answer);
        self.syn_data_taken = answer.acknowledgment.wrapping_sub(self.isn_client.wrapping_add(1)) as u16;
        self.isn_server = answer.sequence;
        self.answer_data = data(answer);
        self.answer_echo = echo(answer);
        (self.seen_again, self.times_again) = (None, 0);
        if self.answers.count() == 0 {
            self.answers = Asked::once(answer);
        } else {
            self.answers.another(answer);
        }
        let is_of_unseen = self.syns.names_unseen(self.answer_echo);
        self.deaf |= is_of_unseen;
        let before = self.server_half;
        self.judge_server(answer.at, self.answer_echo);
        // What an earlier one took stays known where nothing tells which SYN this one answers: Linux' SYN cookies change
        // their number by the minute. If it answers one that was not heard, where that was heard its own time is told.
        if matches!(before, Half::Exact(_)) && !matches!(self.server_half, Half::Exact(_)) && !is_of_unseen {
            self.server_half = before;
        }
    }

    /// Whether something was sent again.
    pub(super) const fn was_repeated(&self) -> bool {
        self.syns.is_repeated() || self.answers.is_repeated()
    }

    /// Whether something was sent again, or may have been, unseen.
    pub(super) fn may_be_repeated(&self) -> bool {
        self.was_repeated() || self.doubtful || self.seen_again.is_some()
    }

    /// Whether a SYN/ACK, or another one, is to be expected.
    pub(super) fn awaits_answer(&self) -> bool {
        self.answers.count() == 0 || self.may_be_repeated()
    }

    /// A SYN passed after the SYN/ACK, though it is stamped before it.
    pub(super) fn judge_again(&mut self) {
        self.flags.set(Flag::OutOfOrder);
        if let Some(at) = self.answers.first() {
            self.judge_server(at, self.answer_echo);
        }
        if self.answers.count() == 1 {
            self.deaf = self.syns.names_unseen(self.answer_echo);
        }
    }

    /// The server's half, from the SYN to an answer.
    pub(super) fn judge_server(&mut self, at: Nanos, echo: Option<u32>) {
        self.server_half = self.syns.since(self.syns.answered(echo), at);
        self.doubtful =
            self.syns.first().is_none_or(|first| at - first >= TIMEOUT) || self.syns.names_unseen(echo);
        if self.syns.last().is_some_and(|last| at < last) {
            self.skewed = true;
            if !self.flags.has(Flag::OutOfOrder) {
                self.flags.set(Flag::ClockStepped);
            }
        }
    }

    /// What a client's segment is to the handshake, `None` if nothing. Without a SYN/ACK, what it acknowledges cannot
    /// be checked.
    #[inline]
    pub(super) fn third(&self, segment: &Segment) -> Option<Early> {
        let ahead = segment.sequence.wrapping_sub(self.isn_client.wrapping_add(1));
        let acknowledged = segment.acknowledgment.wrapping_sub(self.isn_server.wrapping_add(1));
        let (is_next, is_all) = if self.answers.count() == 0 {
            (ahead == 0 || ahead == u32::from(self.syn_data), true)
        } else {
            let is_all = acknowledged == 0 || acknowledged == u32::from(self.answer_data);
            (ahead == u32::from(self.syn_data_taken), is_all && acknowledged < FIRST_WINDOW)
        };
        let is_near = self.answers.count() == 0 || acknowledged < FIRST_WINDOW;
        let is_pure = segment.payload == 0 && !segment.flags.has(TcpFlags::FIN);
        (ahead < FIRST_WINDOW && is_near).then(|| Early {
            at: segment.at,
            echo: echo(segment),
            acknowledgment: segment.acknowledgment,
            what: match is_next && is_all && is_pure {
                true => What::Ack,
                false if segment.payload > 0 => What::Data,
                false => What::Later,
            },
        })
    }

    /// The server sends what follows its SYN/ACK, which has not passed: an ACK after it may be to it.
    pub(super) fn hear_later(&mut self, segment: &Segment) {
        let (at, acknowledgment) = (segment.at, segment.acknowledgment);
        if acknowledgment.wrapping_sub(self.isn_client.wrapping_add(1)) >= FIRST_WINDOW {
            return;
        }
        self.server_heard = true;
        match &mut self.early {
            Some(early) if early.what == What::Ack && at < early.at => early.what = What::Later,
            Some(_) => {}
            None => self.early = Some(Early { at, echo: None, acknowledgment, what: What::Server }),
        }
    }

    /// What a client's segment is where the server has gone on before it: later than its answer to the SYN/ACK, which was
    /// there by then, if it has passed.
    #[inline]
    pub(super) fn unless_later(&self, third: Early) -> Early {
        match self.early.filter(|early| early.what == What::Server && early.at < third.at) {
            Some(server) if self.answers.count() > 0 => Early { at: server.at, what: What::Later, ..third },
            Some(_) if third.what == What::Ack => Early { what: What::Later, ..third },
            _ => third,
        }
    }

    /// Whether a SYN/ACK that passes after the client's ACK is the one that was acknowledged.
    pub(super) fn was_acknowledged(&self, answer: &Segment) -> bool {
        let beyond = |early: Early| early.acknowledgment.wrapping_sub(answer.sequence.wrapping_add(1));
        self.early.is_some_and(|early| match early.what {
            What::Ack => [0, answer.payload].contains(&beyond(early)),
            // Some of them acknowledge nothing.
            What::Reset => true,
            _ => beyond(early) < FIRST_WINDOW,
        })
    }

    /// How far beyond the SYN and its data a client's segment begins; `None` if too far.
    pub(super) fn client_ahead(&self, segment: &Segment) -> Option<u32> {
        let next = self.isn_client.wrapping_add(1).wrapping_add(u32::from(self.syn_data_taken));
        Some(segment.sequence.wrapping_sub(next)).filter(|ahead| *ahead < FIRST_WINDOW)
    }

    /// Whether a server's segment follows its SYN/ACK.
    pub(super) fn follows_answer(&self, segment: &Segment) -> bool {
        segment.sequence.wrapping_sub(self.isn_server.wrapping_add(1)) < FIRST_WINDOW
    }

    /// Whether a server's segment without SYN is what it sends once the connection is there: data, FIN, or word that it has had
    /// data. That it has had the SYN it says before as well, to whatever does not fit (RFC 9293, 3.10.7.4): a SYN once more, or
    /// what these ports had before. With TCP Fast Open it need not wait for the client.
    pub(super) fn shows_established(&self, segment: &Segment) -> bool {
        let acknowledged = segment.acknowledgment.wrapping_sub(self.isn_client.wrapping_add(1));
        let goes_on = segment.payload > 0 || segment.flags.has(TcpFlags::FIN) || acknowledged > 0;
        !self.flags.has(Flag::FastOpen)
            && !self.flags.has(Flag::OptionsCut)
            && self.follows_answer(segment)
            && goes_on
            && acknowledged < FIRST_WINDOW
    }
}
