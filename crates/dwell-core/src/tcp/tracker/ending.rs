//! What ends a handshake: the client's ACK, an RST, an ICMP message.

use super::super::{Ending, Flag, Half, Handshake, Segment, TcpFlags, Unreachable};
use super::early::{Early, What};
use super::progress::echo;
use super::table::{Class, Place};
use super::{HOLD, Tracker};
use crate::unit::Nanos;

impl Tracker {
    /// A segment with ACK, without SYN and RST.
    pub(super) fn acknowledge(&mut self, place: Place, segment: &Segment, take: &mut dyn FnMut(Handshake)) {
        let class = self.table.class(place);
        let progress = self.table.at(place);
        if class == Class::Answered && progress.has(Flag::SimultaneousOpen) {
            return self.cross(place, segment, take);
        }
        if progress.refused_at().is_some() {
            return;
        }
        if progress.is_client(&segment.from) {
            let Some(third) = progress.third(segment).map(|third| progress.unless_later(third)) else {
                return;
            };
            match (class, progress.early.map(|early| early.at)) {
                (Class::Unanswered, _) => {
                    self.table.at_mut(place).note_skipped(segment);
                    self.hold(place, segment.at, third);
                }
                // An ACK that was sent before may pass yet, or a SYN/ACK where several are to be expected.
                (Class::Stray | Class::Answered, _)
                    if third.what != What::Ack || progress.awaits_answer() =>
                {
                    self.hold(place, segment.at, third);
                }
                // A SYN/ACK may pass yet. Whichever it is, what was sent first is nearest to the answer.
                (Class::Held, Some(_)) if progress.awaits_answer() => {
                    self.table.at_mut(place).hear_another(third);
                }
                // The ACK was sent before the data after it, and before what the server sent then.
                (Class::Held, Some(later)) if later < third.at => {
                    let handshake = self.held(place);
                    self.conclude(place, segment.at, &handshake, take);
                }
                (Class::Held | Class::Stray | Class::Answered, _) => {
                    let handshake = self.table.at_mut(place).established(third);
                    self.conclude(place, segment.at, &handshake, take);
                }
            }
        } else if matches!(class, Class::Stray | Class::Answered) && progress.shows_established(segment) {
            let (at, acknowledgment) = (segment.at, segment.acknowledgment);
            let server = Early { at, echo: None, acknowledgment, what: What::Server };
            if class == Class::Stray {
                self.hold(place, at, server);
            } else if progress.early.is_none() {
                // The client's direction passes here: what it sends next names what it has heard.
                self.table.at_mut(place).early = Some(server);
                self.table.hear_client_only(place);
                self.touch(place, at, class);
            }
        } else if progress.answers.count() == 0 && matches!(class, Class::Unanswered | Class::Held) {
            self.table.at_mut(place).hear_later(segment);
        }
    }

    /// Holds it from this segment on, which tells as much as an early one.
    fn hold(&mut self, place: Place, at: Nanos, early: Early) {
        let progress = self.table.at_mut(place);
        progress.early = Some(early);
        // Where its SYN/ACK has not passed, what the server sends next tells that it was lost.
        if progress.answers.count() > 0 {
            self.table.hear_client_only(place);
        }
        self.touch(place, at, Class::Held);
    }

    /// A segment with RST.
    pub(super) fn reset(&mut self, place: Option<Place>, reset: &Segment, take: &mut dyn FnMut(Handshake)) {
        if let Some(place) = place.filter(|place| self.table.class(*place) == Class::Held) {
            let progress = self.table.at_mut(place);
            if progress.refused_at().is_none() && progress.awaits_answer() {
                // What it waits for may still show that there was one more SYN/ACK.
                return progress.flags.set(Flag::Reset);
            }
        }
        let Some((place, handshake)) = place.and_then(|place| Some((place, self.refusal(place, reset)?)))
        else {
            self.counts.stray_refusals += 1;
            return;
        };
        let by_client = self.table.at(place).is_client(&reset.from);
        let what = if by_client { What::Reset } else { What::Refusal };
        let (at, acknowledgment) = (reset.at, reset.acknowledgment);
        self.end(place, Early { at, echo: echo(reset), acknowledgment, what }, handshake, take);
    }

    /// It ends: at once, unless what was sent before may pass yet and tell another story.
    fn end(&mut self, place: Place, early: Early, handshake: Handshake, take: &mut dyn FnMut(Handshake)) {
        let is_over = self.is_over(place);
        let progress = self.table.at_mut(place);
        let waits = match early.what {
            What::Reset => progress.awaits_answer(),
            // The refusal of another SYN, which was sent after the one that is known.
            _ => {
                let is_late = progress.syns.last().is_some_and(|syn| early.at - syn >= HOLD);
                is_late && progress.answers.count() == 0
            }
        };
        if waits && !is_over {
            progress.flags = handshake.flags;
            self.hold(place, early.at, early);
        } else {
            self.conclude(place, early.at, &handshake, take);
        }
    }

    /// What an RST makes of a handshake; `None` if it is not meant.
    fn refusal(&mut self, place: Place, reset: &Segment) -> Option<Handshake> {
        let progress = self.table.at(place);
        let by_client = progress.is_client(&reset.from);
        let is_ack = reset.flags.has(TcpFlags::ACK);
        match self.table.class(place) {
            _ if progress.refused_at().is_some() => None,
            _ if self.is_over(place) => {
                let mut held = self.held(place);
                held.flags.set(Flag::Reset);
                Some(held)
            }
            Class::Unanswered if by_client => {
                (progress.client_ahead(reset) == Some(0)).then(|| progress.broken_off(reset.at, echo(reset)))
            }
            Class::Unanswered => {
                (is_ack && progress.acknowledges_syn(reset)).then(|| progress.refused(reset.at, echo(reset)))
            }
            _ if by_client => {
                progress.client_ahead(reset).map(|_| progress.broken_off(reset.at, echo(reset)))
            }
            _ => {
                let mut ended = progress.settled();
                ended.flags.set(Flag::Reset);
                progress.follows_answer(reset).then(|| ended.handshake(Ending::Refused, Half::Unknown))
            }
        }
    }

    /// Shows an ICMP message.
    pub fn refused(&mut self, unreachable: &Unreachable, take: &mut dyn FnMut(Handshake)) {
        self.pass(unreachable.at, take);
        let flow = self.table.seed().of(&unreachable.from, &unreachable.to);
        let found = self.current(flow, &unreachable.quoted_syn(), take);
        match found.and_then(|place| Some((place, self.unreachable(place, unreachable)?))) {
            Some((place, handshake)) => {
                let (at, what) = (unreachable.at, What::Refusal);
                self.end(place, Early { at, echo: None, acknowledgment: 0, what }, handshake, take);
            }
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
                (unreachable.sequence == progress.isn_client).then(|| ended.refused(unreachable.at, None))
            }
            Class::Answered | Class::Stray if !by_client && !self.is_over(place) => {
                let half = ended.answers.since(ended.answers.answered(None), unreachable.at);
                (unreachable.sequence == progress.isn_server).then(|| ended.handshake(Ending::Refused, half))
            }
            _ => None,
        }
    }
}
