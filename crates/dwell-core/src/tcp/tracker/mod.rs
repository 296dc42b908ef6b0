//! Segments in, handshakes out.
//!
//! Each half comes with its certainty, and nothing is guessed: see [`Half`](super::Half). Only handshakes in progress
//! are kept, a bounded number, aged by the packets' own time.

mod asked;
mod counts;
mod crowd;
mod early;
mod limits;
mod pending;
mod progress;
mod table;

pub use counts::Counts;
pub use limits::Limits;

use super::{Ending, Flag, FlowHash, Half, Handshake, Segment, TcpFlags, Unreachable};
use crate::unit::Nanos;
use early::{Early, What};
use progress::{Progress, echo};
use table::{Class, Place, Table};

/// So long what is established is held, because what tells more of it may reach the probe late: shorter than any
/// sender's time-out, so that what comes was not sent again.
const HOLD: Nanos = Nanos::from_millis(200);

/// Finds the handshakes among segments.
#[derive(Debug)]
pub struct Tracker {
    table: Table,
    patience: Nanos,
    counts: Counts,
}

impl Tracker {
    /// A tracker that has seen nothing.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { table: Table::new(limits.handshakes), patience: limits.patience, counts: Counts::default() }
    }

    /// Whether a segment of this flow, without SYN and RST, may matter to a handshake in progress. It may say yes of one
    /// that does not, never no of one that does.
    #[must_use]
    pub fn pending(&self, flow: FlowHash) -> bool {
        self.table.pending(flow)
    }

    /// What became of what was shown, by reason.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Shows a segment.
    pub fn see(&mut self, segment: &Segment, take: &mut impl FnMut(Handshake)) {
        self.pass(segment.at, take);
        let place = self.current(segment, take);
        let is_ack = segment.flags.has(TcpFlags::ACK);
        if segment.flags.has(TcpFlags::SYN) {
            if segment.flags.has(TcpFlags::RST) || segment.flags.has(TcpFlags::FIN) {
                self.counts.impossible_flags += 1;
            } else if is_ack {
                self.answer(place, segment, take);
            } else {
                self.open(place, segment, take);
            }
        } else if segment.flags.has(TcpFlags::RST) {
            self.reset(place, segment, take);
        } else if let (true, Some(place)) = (is_ack, place) {
            self.acknowledge(place, segment, take);
        }
    }

    /// Shows an ICMP message.
    pub fn refused(&mut self, unreachable: &Unreachable, take: &mut impl FnMut(Handshake)) {
        self.pass(unreachable.at, take);
        let Some(place) = self.table.find(&unreachable.from, &unreachable.to) else {
            self.counts.stray_refusals += 1;
            return;
        };
        let at = unreachable.at;
        let progress = self.table.at(place);
        let by_client = progress.is_client(&unreachable.from);
        let mut ended = progress.clone();
        ended.flags.set(Flag::RefusedByIcmp);
        let handshake = match self.table.class(place) {
            Class::Unanswered if by_client && unreachable.sequence == progress.isn_client => {
                ended.judge_server(at, None);
                ended.handshake(Ending::Refused, Half::Unknown)
            }
            Class::Answered | Class::Stray if !by_client && unreachable.sequence == progress.isn_server => {
                let half = progress.answers.since(progress.answers.answered(None), at);
                ended.handshake(Ending::Refused, half)
            }
            _ => {
                self.counts.stray_refusals += 1;
                return;
            }
        };
        self.tell(place, handshake, take);
    }

    /// Time has passed, as of the packets: gives up what is too old. Seeing a segment does as much.
    pub fn pass(&mut self, now: Nanos, take: &mut impl FnMut(Handshake)) {
        for class in Class::ALL {
            while let Some(place) = self.table.oldest(class).filter(|place| self.is_old(*place, now)) {
                self.give_up(place, take);
            }
        }
    }

    /// No more segments come: what is still in progress is told as unfinished.
    pub fn finish(&mut self, take: &mut impl FnMut(Handshake)) {
        for class in Class::ALL {
            while let Some(place) = self.table.oldest(class) {
                if matches!(class, Class::Stray | Class::Unanswered | Class::Answered) {
                    self.counts.cut_off += 1;
                }
                self.drop_out(place, take);
            }
        }
    }

    fn is_old(&self, place: Place, now: Nanos) -> bool {
        let limit = if self.table.class(place) == Class::Held { HOLD } else { self.patience };
        now - self.table.at(place).touched > limit
    }

    /// The handshake between a segment's ends, unless it is too old.
    fn current(&mut self, segment: &Segment, take: &mut impl FnMut(Handshake)) -> Option<Place> {
        let place = self.table.find(&segment.from, &segment.to)?;
        if self.is_old(place, segment.at) {
            self.give_up(place, take);
            return None;
        }
        Some(place)
    }

    fn give_up(&mut self, place: Place, take: &mut impl FnMut(Handshake)) {
        match self.table.class(place) {
            Class::Held => {
                let handshake = self.held(place);
                return self.tell(place, handshake, take);
            }
            Class::Over => {}
            Class::Stray | Class::Unanswered | Class::Answered => self.counts.aged += 1,
        }
        self.drop_out(place, take);
    }

    /// Forgets a handshake, and tells it if that has not been done.
    fn drop_out(&mut self, place: Place, take: &mut impl FnMut(Handshake)) {
        match self.table.class(place) {
            Class::Over => {}
            Class::Held => {
                self.counts.established += 1;
                take(self.held(place));
            }
            Class::Stray | Class::Unanswered | Class::Answered => {
                take(self.table.at(place).handshake(Ending::Unfinished, Half::Unknown));
            }
        }
        self.table.remove(place);
    }

    /// One is over.
    fn tell(&mut self, place: Place, handshake: Handshake, take: &mut impl FnMut(Handshake)) {
        match handshake.ending {
            Ending::Established => self.counts.established += 1,
            Ending::Refused => self.counts.refused += 1,
            Ending::Unfinished => {}
        }
        self.table.at_mut(place).isn_server = handshake.isn_server.unwrap_or(0);
        self.table.age(place, Class::Over);
        take(handshake);
    }

    /// What is known of one that is held.
    fn held(&self, place: Place) -> Handshake {
        let progress = self.table.at(place);
        match progress.early {
            Some(early) if early.what == What::Server => {
                let answers = &progress.answers;
                let half = answers.at_most(answers.answered(None), early.at);
                progress.handshake(Ending::Established, half)
            }
            Some(early) => progress.established(early),
            None => progress.handshake(Ending::Unfinished, Half::Unknown),
        }
    }

    fn keep(&mut self, progress: Progress, class: Class, take: &mut impl FnMut(Handshake)) {
        while let Some(place) = self.table.in_the_way() {
            match self.table.class(place) {
                Class::Stray => self.counts.evicted_stray += 1,
                Class::Unanswered => self.counts.evicted_unanswered += 1,
                Class::Answered => self.counts.evicted_answered += 1,
                Class::Over | Class::Held => {}
            }
            self.drop_out(place, take);
        }
        self.table.insert(progress, class);
    }

    fn touch(&mut self, place: Place, at: Nanos, class: Class) {
        let progress = self.table.at_mut(place);
        if at < progress.touched {
            self.counts.clock_backwards += 1;
        }
        progress.touched = at;
        self.table.age(place, class);
    }

    fn replace(&mut self, place: Place, syn: &Segment, take: &mut impl FnMut(Handshake)) {
        if self.table.class(place) != Class::Over {
            self.counts.ports_reused += 1;
            self.table.at_mut(place).flags.set(Flag::PortsReused);
        }
        self.drop_out(place, take);
        self.keep(Progress::opened(syn), Class::Unanswered, take);
    }

    /// A SYN.
    fn open(&mut self, place: Option<Place>, syn: &Segment, take: &mut impl FnMut(Handshake)) {
        let Some(place) = place else {
            return self.keep(Progress::opened(syn), Class::Unanswered, take);
        };
        let class = self.table.class(place);
        let progress = self.table.at_mut(place);
        if !progress.is_client(&syn.from) {
            return self.replace(place, syn, take);
        }
        match class {
            Class::Stray if progress.was_asked_by(syn) && progress.syns.count() == 0 => {
                progress.late_syn(syn);
                self.touch(place, syn.at, Class::Answered);
            }
            _ if syn.sequence != progress.isn_client => self.replace(place, syn, take),
            Class::Over => self.counts.late += 1,
            _ if progress.syns.is_copy(syn) => {
                progress.flags.set(Flag::Duplicated);
                self.counts.duplicates += 1;
            }
            _ => {
                progress.syns.again(syn);
                progress.flags.set(Flag::SynRepeated);
                self.counts.repeated_syns += 1;
                self.touch(place, syn.at, class);
            }
        }
    }

    /// A SYN/ACK.
    fn answer(&mut self, place: Option<Place>, answer: &Segment, take: &mut impl FnMut(Handshake)) {
        let Some(place) = place else {
            self.counts.stray_syn_acks += 1;
            return self.keep(Progress::stray(answer), Class::Stray, take);
        };
        let class = self.table.class(place);
        let progress = self.table.at_mut(place);
        if progress.is_client(&answer.from) || !progress.acknowledges_syn(answer) {
            self.counts.wrong_acknowledgments += 1;
            return;
        }
        match class {
            Class::Over => self.counts.late += 1,
            Class::Unanswered => {
                progress.answered(answer);
                progress.judge_server(answer.at, echo(answer));
                self.touch(place, answer.at, Class::Answered);
            }
            _ if progress.isn_server == answer.sequence && progress.answers.is_copy(answer) => {
                progress.flags.set(Flag::Duplicated);
                self.counts.duplicates += 1;
            }
            _ => {
                progress.answers.again(answer);
                progress.flags.set(Flag::SynAckRepeated);
                self.counts.repeated_syn_acks += 1;
                self.touch(place, answer.at, class);
            }
        }
    }

    /// A segment with ACK, without SYN and RST.
    fn acknowledge(&mut self, place: Place, segment: &Segment, take: &mut impl FnMut(Handshake)) {
        let progress = self.table.at(place);
        if !progress.is_client(&segment.from) {
            return;
        }
        let Some(third) = progress.third(segment) else { return };
        match self.table.class(place) {
            Class::Over => {}
            Class::Unanswered => {
                self.table.at_mut(place).early = Some(third);
                self.touch(place, segment.at, Class::Held);
            }
            _ => {
                let handshake = progress.established(third);
                self.tell(place, handshake, take);
            }
        }
    }

    /// A segment with RST.
    fn reset(&mut self, place: Option<Place>, reset: &Segment, take: &mut impl FnMut(Handshake)) {
        let Some(place) = place else {
            self.counts.stray_refusals += 1;
            return;
        };
        let progress = self.table.at(place);
        let class = self.table.class(place);
        if class == Class::Unanswered
            && !progress.is_client(&reset.from)
            && reset.flags.has(TcpFlags::ACK)
            && progress.acknowledges_syn(reset)
        {
            let mut ended = progress.clone();
            ended.judge_server(reset.at, echo(reset));
            let handshake = ended.handshake(Ending::Refused, Half::Unknown);
            self.tell(place, handshake, take);
        }
    }
}
