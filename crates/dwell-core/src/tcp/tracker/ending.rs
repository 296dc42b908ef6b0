//! What ends a handshake: the client's ACK, an RST, an ICMP message.

use super::super::{Ending, Flag, Half, Handshake, Segment, TcpFlags, Unreachable};
use super::Tracker;
use super::early::{Early, What};
use super::progress::echo;
use super::table::{Class, Place};

impl Tracker {
    /// A segment with ACK, without SYN and RST.
    pub(super) fn acknowledge(&mut self, place: Place, segment: &Segment, take: &mut impl FnMut(Handshake)) {
        let class = self.table.class(place);
        let progress = self.table.at(place);
        if class == Class::Answered && progress.has(Flag::SimultaneousOpen) {
            return self.cross(place, segment, take);
        }
        if progress.is_client(&segment.from) {
            let Some(third) = progress.third(segment).map(|third| progress.unless_later(third)) else {
                return;
            };
            match (class, progress.early.map(|early| early.at)) {
                (Class::Unanswered, _) => self.hold(place, third),
                // An ACK that was sent before may pass yet, or a SYN/ACK where several are to be expected.
                (Class::Stray | Class::Answered, _)
                    if third.what != What::Ack || progress.awaits_answer() =>
                {
                    self.hold(place, third);
                }
                // A SYN/ACK may pass yet. Whichever it is, what was sent first is nearest to the answer.
                (Class::Held, Some(_)) if progress.awaits_answer() => {
                    self.table.at_mut(place).hear_another(third);
                }
                // The ACK was sent before the data after it, and before what the server sent then.
                (Class::Held, Some(later)) if later < third.at => {
                    let handshake = self.held(place);
                    self.tell(place, handshake, take);
                }
                (Class::Held | Class::Stray | Class::Answered, _) => {
                    let handshake = progress.established(third);
                    self.tell(place, handshake, take);
                }
            }
        } else if matches!(class, Class::Stray | Class::Answered) && progress.shows_established(segment) {
            let (at, acknowledgment) = (segment.at, segment.acknowledgment);
            self.hold(place, Early { at, echo: None, acknowledgment, what: What::Server });
        } else if progress.answers.count() == 0 && matches!(class, Class::Unanswered | Class::Held) {
            self.table.at_mut(place).hear_later(segment);
        }
    }

    fn hold(&mut self, place: Place, early: Early) {
        self.table.at_mut(place).early = Some(early);
        self.touch(place, early.at, Class::Held);
    }

    /// A segment with RST.
    pub(super) fn reset(&mut self, place: Option<Place>, reset: &Segment, take: &mut impl FnMut(Handshake)) {
        let Some((place, handshake)) = place.and_then(|place| Some((place, self.refusal(place, reset)?)))
        else {
            self.counts.stray_refusals += 1;
            return;
        };
        self.tell(place, handshake, take);
    }

    /// What an RST makes of a handshake; `None` if it is not meant.
    fn refusal(&self, place: Place, reset: &Segment) -> Option<Handshake> {
        let progress = self.table.at(place);
        let mut ended = progress.settled();
        ended.flags.set(Flag::Reset);
        let by_client = progress.is_client(&reset.from);
        let is_ack = reset.flags.has(TcpFlags::ACK);
        match self.table.class(place) {
            Class::Unanswered if by_client => {
                // The client refuses an answer that did not pass here.
                let total = progress.syns.at_most(progress.syns.answered(None), reset.at);
                (progress.client_ahead(reset) == Some(0))
                    .then(|| Handshake { total, ..ended.handshake(Ending::Refused, Half::Unknown) })
            }
            Class::Unanswered => {
                ended = progress.clone();
                ended.judge_server(reset.at, echo(reset));
                (is_ack && progress.acknowledges_syn(reset))
                    .then(|| ended.handshake(Ending::Refused, Half::Unknown))
            }
            Class::Stray | Class::Answered if by_client => {
                // The client's kernel, in answer to the SYN/ACK; a program, later; or a firewall in its name.
                let bound = ended.answers.at_most(ended.answers.answered(echo(reset)), reset.at);
                let is_doubtful = ended.doubtful && !ended.answers.is_named(echo(reset));
                let half = if is_doubtful || ended.deaf { Half::Unknown } else { bound };
                progress.client_ahead(reset).map(|_| ended.handshake(Ending::Refused, half))
            }
            Class::Stray | Class::Answered => {
                progress.follows_answer(reset).then(|| ended.handshake(Ending::Refused, Half::Unknown))
            }
            Class::Held => {
                let mut held = self.held(place);
                held.flags.set(Flag::Reset);
                Some(held)
            }
        }
    }

    /// Shows an ICMP message.
    pub fn refused(&mut self, unreachable: &Unreachable, take: &mut impl FnMut(Handshake)) {
        self.pass(unreachable.at, take);
        let found = self.table.find(
            self.table.seed().of(&unreachable.from, &unreachable.to),
            &unreachable.from,
            &unreachable.to,
        );
        match found.and_then(|place| Some((place, self.unreachable(place, unreachable)?))) {
            Some((place, handshake)) => self.tell(place, handshake, take),
            None => self.counts.stray_refusals += 1,
        }
    }

    /// What an ICMP message makes of a handshake; `None` if it is not meant.
    fn unreachable(&self, place: Place, unreachable: &Unreachable) -> Option<Handshake> {
        let progress = self.table.at(place);
        let by_client = progress.is_client(&unreachable.from);
        let mut ended = progress.settled();
        ended.flags.set(Flag::RefusedByIcmp);
        match self.table.class(place) {
            Class::Unanswered if by_client => {
                ended.judge_server(unreachable.at, None);
                (unreachable.sequence == progress.isn_client)
                    .then(|| ended.handshake(Ending::Refused, Half::Unknown))
            }
            Class::Answered | Class::Stray if !by_client => {
                let half = ended.answers.since(ended.answers.answered(None), unreachable.at);
                (unreachable.sequence == progress.isn_server).then(|| ended.handshake(Ending::Refused, half))
            }
            _ => None,
        }
    }
}
