//! Equal segments that may be one or two, and what shows that the probe missed a segment.

use super::super::{Flag, Half, Segment};
use super::asked::{TIMEOUT, Which, is_copy_at};
use super::early::{Early, What};
use super::progress::{Progress, echo};
use crate::unit::Nanos;

/// Data on a SYN that did not pass is presumed to be no more than an Ethernet frame holds: a number that is further off
/// is another connection's.
pub(super) const UNSEEN_DATA: u32 = 1_500;

impl Progress {
    /// Whether a SYN without data repeats the one, with data, that the SYN/ACK answers (RFC 7413, 4.1.3).
    pub(super) fn is_repeated_bare(&self, syn: &Segment) -> bool {
        syn.payload == 0 && (1..=UNSEEN_DATA).contains(&self.isn_client.wrapping_sub(syn.sequence))
    }

    /// That SYN: which of them was answered is not known.
    pub(super) fn repeated_bare(&mut self, syn: &Segment) {
        self.note(syn);
        self.flags.set(Flag::FastOpen);
        self.flags.set(Flag::SynRepeated);
        self.syn_data = self.isn_client.wrapping_sub(syn.sequence) as u16;
        self.syn_data_taken = self.syn_data;
        self.isn_client = syn.sequence;
    }

    /// Whether it acknowledges the SYN and data that this one did not carry: it repeats a Fast Open's, which did not pass.
    pub(super) fn acknowledges_unseen_data(&self, segment: &Segment) -> bool {
        segment.acknowledgment.wrapping_sub(self.isn_client.wrapping_add(1)) <= UNSEEN_DATA
    }

    /// A client's segment where no SYN/ACK has passed. If it begins beyond a SYN without data, this may have repeated a
    /// Fast Open's, whose data was taken.
    pub(super) fn note_skipped(&mut self, segment: &Segment) {
        let beyond = segment.sequence.wrapping_sub(self.isn_client.wrapping_add(1));
        self.uncaused |= !self.has_syn_data() && (1..=UNSEEN_DATA).contains(&beyond);
    }

    /// The SYN/ACK once more.
    pub(super) fn answered_again(&mut self, answer: &Segment) {
        self.settle();
        self.deaf |= self.syns.names_unseen(echo(answer));
        self.answers.again(answer);
        self.flags.set(Flag::SynAckRepeated);
        self.note_uncaused(answer.at);
    }

    /// Whether each segment is seen more than once.
    pub(super) const fn is_mirrored(&self) -> bool {
        self.copies > 0
    }

    /// The SYN once more, as it passed before.
    pub(super) const fn syn_copied(&mut self) {
        // Those of a repetition tell nothing new.
        if self.copies == 0 || !self.syns.is_repeated() {
            self.copies = self.copies.saturating_add(1);
        }
    }

    /// Whether a SYN/ACK is a copy of the one before it, or looks like one.
    pub(super) fn is_copy(&self, answer: &Segment) -> bool {
        // Where no SYN has been seen twice it may be another one: one is let pass, until more is known.
        self.times_again < self.copies.max(1) && self.answers.is_copy(answer)
    }

    /// A SYN/ACK looks like a copy of the one before it.
    pub(super) const fn copied(&mut self, at: Nanos) {
        self.seen_again = Some(at);
        self.times_again = self.times_again.saturating_add(1);
    }

    /// A mirror's copy of the SYN/ACK after the client's first segment. If it had one before that, that one was another.
    pub(super) fn copied_late(&mut self, at: Nanos, third: Nanos) {
        match self.seen_again {
            Some(other) if other <= third && self.times_again >= self.copies => {
                self.answers.another_like_it(other)
            }
            _ => self.copied(at),
        }
    }

    /// Makes it what it is if nothing more comes: where no SYN was seen twice, what looks like a copy may be another SYN/ACK.
    pub(super) fn settle(&mut self) {
        self.times_again = 0;
        if let Some(at) = self.seen_again.take().filter(|_| !self.is_mirrored()) {
            self.answers.another_like_it(at);
            self.flags.set(Flag::SynAckRepeated);
            self.note_uncaused(at);
        }
    }

    /// What it is if nothing more comes.
    pub(super) fn settled(&self) -> Self {
        let mut settled = self.clone();
        settled.settle();
        settled
    }

    /// A SYN/ACK with another number, where the one before it gave this half: of a single SYN either may be the answer.
    pub(super) fn note_second_answer(&mut self, before: Half, at: Nanos) {
        let since = self.syns.first().map(|syn| at - syn);
        if since.is_some_and(|since| since < TIMEOUT) && !self.syns.is_repeated_by(at) {
            self.server_half = before;
            self.note_uncaused(at);
        }
    }

    /// A single SYN makes a server send one SYN/ACK within a time-out. If there is another, a SYN was not heard, and
    /// either may be the answer to the one that was.
    pub(super) fn note_uncaused(&mut self, at: Nanos) {
        let since = self.syns.first().map(|syn| at - syn).filter(|since| *since < TIMEOUT);
        self.skewed |= since.is_some_and(|since| since < Nanos::ZERO);
        if let Some(since) = since.filter(|_| !self.syns.is_repeated_by(at)) {
            self.doubtful = true;
            self.uncaused = true;
            if let Half::Exact(one) = self.server_half {
                self.server_half = Half::OneOf(one.min(since), one.max(since));
            }
        }
    }

    /// The client's first segment is held, and this is one more of its.
    pub(super) fn hear_another(&mut self, third: Early) {
        let Some(first) = self.early else { return };
        if third.at < first.at {
            self.early = Some(third);
        }
        let is_copy = self.is_mirrored() && is_copy_at(first.at, third.at);
        if first.what == What::Ack && third.what == What::Ack && !is_copy {
            // Each pure one answers a SYN/ACK of its own, not sooner sent than the one that the first answers.
            let is_newest = self.settled().answers.answered(first.echo) == Which::Newest;
            self.answer_missed |= is_newest && self.spare_answers == 0;
            self.spare_answers = self.spare_answers.saturating_sub(1);
        }
    }
}
