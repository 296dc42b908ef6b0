//! What begins a handshake: SYN and SYN/ACK.

use super::super::{Flag, FlowHash, Handshake, Segment, TcpFlags};
use super::Tracker;
use super::ended::Ended;
use super::progress::{Progress, echo};
use super::table::{Class, Place};

impl Tracker {
    /// A SYN.
    pub(super) fn open(
        &mut self,
        place: Option<Place>,
        flow: FlowHash,
        syn: &Segment,
        take: &mut dyn FnMut(Handshake),
    ) {
        let Some(place) = place else {
            let opened = self.opened(flow, syn);
            self.begin(flow, syn, Ended::has_syn, opened, Class::Unanswered, take);
            return;
        };
        let class = self.table.class(place);
        let progress = self.table.at_mut(place);
        let crosses = progress.has(Flag::SimultaneousOpen) && class == Class::Answered;
        if !progress.is_client(&syn.from) {
            if class == Class::Unanswered {
                progress.cross(syn);
                self.touch(place, syn.at, Class::Answered);
            } else if crosses && progress.isn_server == syn.sequence {
                progress.skewed |= !progress.answers.is_copy(syn);
            } else if progress.has(Flag::SimultaneousOpen) && progress.isn_server == syn.sequence {
                self.counts.late += 1;
            } else {
                self.another(place, flow, syn, take);
            }
            return;
        }
        match class {
            Class::Stray | Class::Held if progress.is_without_syn() && progress.was_asked_by(syn) => {
                progress.late_syn(syn);
                if class == Class::Stray {
                    self.touch(place, syn.at, Class::Answered);
                }
            }
            Class::Stray | Class::Held if progress.is_without_syn() && progress.is_repeated_bare(syn) => {
                progress.repeated_bare(syn);
                self.counts.repeated_syns += 1;
            }
            // A host that has given its ports to another connection repeats no SYN of the one before: this one is late.
            _ if progress.previous == Some(syn.sequence) => self.counts.late += 1,
            _ if syn.sequence != progress.isn_client => {
                self.another(place, flow, syn, take);
            }
            _ if progress.syns.is_copy(syn) => {
                progress.syn_copied();
                progress.flags.set(Flag::Duplicated);
                self.counts.duplicates += 1;
            }
            _ if progress.refused_at().is_some_and(|refused| refused < syn.at) => self.counts.late += 1,
            _ => {
                progress.skewed |= crosses;
                progress.syns.again(syn);
                progress.flags.set(Flag::SynRepeated);
                if progress.answers.first().is_some_and(|answer| syn.at <= answer) && !crosses {
                    progress.judge_again();
                }
                self.counts.repeated_syns += 1;
                if class != Class::Held {
                    self.touch(place, syn.at, class);
                }
            }
        }
    }

    /// A SYN/ACK.
    pub(super) fn answer(
        &mut self,
        place: Option<Place>,
        flow: FlowHash,
        answer: &Segment,
        take: &mut dyn FnMut(Handshake),
    ) {
        let Some(place) = place else {
            let stray = self.stray(flow, answer);
            let is_stray = self.begin(flow, answer, Ended::has_answer, stray, Class::Stray, take);
            self.counts.stray_syn_acks += u64::from(is_stray);
            return;
        };
        let (class, is_over) = (self.table.class(place), self.is_over(place));
        let progress = self.table.at_mut(place);
        if class == Class::Answered && progress.has(Flag::SimultaneousOpen) {
            return self.cross(place, answer, take);
        }
        if progress.crossed_with(answer) || progress.has_refused(answer) {
            // Sent after it was refused, and answered.
            if progress.refused_at().is_some_and(|refused| refused < answer.at) {
                let handshake = self.held(place);
                self.tell(place, &handshake, take);
                return self.answer(None, flow, answer, take);
            }
            self.counts.late += 1;
            return;
        }
        if progress.is_client(&answer.from) && answer.sequence == progress.isn_client {
            // It answers a SYN of the other's, which did not pass: whatever passes then answers what is not known.
            progress.skewed = true;
        }
        if progress.is_client(&answer.from) || !progress.acknowledges_syn(answer) {
            // Of a connection whose SYN did not pass; or, while another is being opened, an answer to nothing.
            let is_near = !progress.is_client(&answer.from) && progress.acknowledges_unseen_data(answer);
            if progress.acknowledges_previous(answer) {
                self.counts.late += 1;
            } else if is_near {
                progress.skewed = true;
                self.counts.wrong_acknowledgments += 1;
            } else if class == Class::Stray {
                self.counts.stray_syn_acks += 1;
                self.another(place, flow, answer, take);
            } else {
                progress.foreign = Some(answer.acknowledgment);
                self.counts.wrong_acknowledgments += 1;
            }
            return;
        }
        match class {
            Class::Unanswered => {
                // What the server was heard to send before is no sign of an ACK: with TCP Fast Open it need not wait.
                progress.early = None;
                progress.answered(answer);
                self.note_unseen(place, echo(answer));
                self.touch(place, answer.at, Class::Answered);
            }
            _ if is_over => self.answer_held(place, answer, take),
            Class::Stray | Class::Answered if progress.isn_server != answer.sequence => {
                let before = progress.server_half;
                progress.answered(answer);
                progress.note_second_answer(before, answer.at);
                self.touch(place, answer.at, class);
            }
            Class::Stray | Class::Answered if progress.is_copy(answer) => {
                progress.copied(answer.at);
                progress.flags.set(Flag::Duplicated);
                self.counts.duplicates += 1;
            }
            _ => {
                progress.answered_again(answer);
                self.counts.repeated_syn_acks += 1;
                self.touch(place, answer.at, class);
            }
        }
    }

    /// A SYN/ACK after the client's ACK, or after what the server sent later.
    fn answer_held(&mut self, place: Place, answer: &Segment, take: &mut dyn FnMut(Handshake)) {
        let progress = self.table.at_mut(place);
        let Some(early) = progress.early else { return };
        if progress.answers.count() > 0 {
            if answer.at <= early.at && answer.sequence == progress.isn_server {
                progress.answered_again(answer);
                progress.flags.set(Flag::OutOfOrder);
                self.counts.repeated_syn_acks += 1;
            } else if progress.is_mirrored() && progress.answers.is_copy(answer) {
                progress.copied_late(answer.at, early.at);
                self.counts.duplicates += 1;
            } else {
                progress.spare_answers = progress.spare_answers.saturating_add(1);
                progress.note_uncaused(answer.at);
                self.counts.late += 1;
            }
            return;
        }
        if !progress.was_acknowledged(answer) {
            self.counts.wrong_acknowledgments += 1;
            return;
        }
        progress.flags.set(Flag::OutOfOrder);
        progress.answered(answer);
        if !progress.may_be_repeated() {
            let handshake = self.held(place);
            self.conclude(place, answer.at, &handshake, take);
        }
    }

    /// An acknowledgment where both ends sent a SYN.
    pub(super) fn cross(&mut self, place: Place, segment: &Segment, take: &mut dyn FnMut(Handshake)) {
        match self.table.at_mut(place).crossed(segment) {
            Some(handshake) => self.conclude(place, segment.at, &handshake, take),
            None => self.touch(place, segment.at, Class::Answered),
        }
    }

    /// Counts an answer to something that did not pass here.
    fn note_unseen(&mut self, place: Place, echo: Option<u32>) {
        if self.table.at(place).syns.names_unseen(echo) {
            self.counts.unseen_named += 1;
        }
    }

    /// Where none is in progress: what this segment begins, unless it comes late from one that is over. Tells whether it
    /// begins one.
    fn begin(
        &mut self,
        flow: FlowHash,
        segment: &Segment,
        is_of: impl Fn(&Ended, &Segment) -> bool,
        mut begun: Progress,
        class: Class,
        take: &mut dyn FnMut(Handshake),
    ) -> bool {
        if let Some((past, ended)) = self.over.find(flow, &segment.from, &segment.to) {
            // By a clock that was set no time tells.
            let is_fresh = self.is_near(segment.at, ended.touched) || self.clock.was_set(self.patience);
            if is_fresh && is_of(&ended, segment) {
                self.counts.late += 1;
                return false;
            }
            if is_fresh {
                // Of one with the same number it would say nothing.
                begun.previous = Some(ended.isn_client).filter(|isn| *isn != begun.isn_client);
                begun.previous_data = ended.syn_data;
            }
            self.over.forget(past);
        }
        self.keep(flow, begun, class, take);
        true
    }

    /// A SYN or SYN/ACK of another connection between the same ports, whose SYN may have had to give way.
    fn another(&mut self, place: Place, flow: FlowHash, segment: &Segment, take: &mut dyn FnMut(Handshake)) {
        let is_answer = segment.flags.has(TcpFlags::ACK);
        if let Some(opened) = self.unparked(flow, segment) {
            self.replace(place, flow, opened, Class::Unanswered, take);
            let place = self.table.find(flow, &segment.from, &segment.to);
            match is_answer {
                true => self.answer(place, flow, segment, take),
                false => self.open(place, flow, segment, take),
            }
        } else if is_answer {
            self.replace(place, flow, self.stray(flow, segment), Class::Stray, take);
        } else {
            self.replace(place, flow, self.opened(flow, segment), Class::Unanswered, take);
        }
    }

    /// Another connection between the same ports.
    fn replace(
        &mut self,
        place: Place,
        flow: FlowHash,
        mut by: Progress,
        class: Class,
        take: &mut dyn FnMut(Handshake),
    ) {
        if !self.is_over(place) {
            self.counts.ports_reused += 1;
            self.table.at_mut(place).flags.set(Flag::PortsReused);
        }
        let old = self.table.at(place);
        (by.previous, by.previous_data) = (Some(old.isn_client), old.syn_data);
        // Its SYN was answered before it passed here, and what answers it from now on does so once more.
        by.skewed |= old.foreign.is_some_and(|acknowledged| by.is_acknowledged_by(acknowledged));
        self.drop_out(place, take);
        self.keep(flow, by, class, take);
    }
}
