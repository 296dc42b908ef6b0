//! Segments in, handshakes out.
//!
//! Each half comes with its certainty, and nothing is guessed: see [`Half`]. Only handshakes in progress
//! are kept, a bounded number, aged by the packets' own time.

mod asked;
mod clock;
mod counts;
mod crossing;
mod crowd;
mod early;
mod ended;
mod ending;
mod forgotten;
mod limits;
mod missed;
mod opening;
mod outcome;
mod over;
mod parked;
mod pending;
mod progress;
mod table;
mod tags;

pub(super) use asked::{TIMEOUT, is_copy_at, is_newer};
pub use counts::Counts;
pub use limits::Limits;

use super::{Ending, Flag, FlowHash, FlowSeed, Glance, Half, Handshake, Segment, TcpFlags};
use crate::unit::Nanos;
use clock::Clock;
use early::What;
use forgotten::Forgotten;
use over::Over;
use parked::Parked;
use progress::Progress;
use table::{Class, Place, Table};

/// So long what is established is held, because what tells more of it may reach the probe late: shorter than any
/// sender's time-out, so that what comes was not sent again.
const HOLD: Nanos = Nanos::from_millis(200);

/// So many that are over are known at least, however little room there is for those in progress.
const FEWEST_OVER: usize = 4_096;

/// Finds the handshakes among segments.
#[derive(Clone, Debug)]
pub struct Tracker {
    table: Table,
    over: Over,
    parked: Parked,
    forgotten: Forgotten,
    patience: Nanos,
    clock: Clock,
    /// Until then none is too old.
    due: Nanos,
    counts: Counts,
}

impl Tracker {
    /// A tracker that has seen nothing.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            table: Table::new(limits.handshakes),
            over: Over::new(limits.handshakes.max(FEWEST_OVER)),
            parked: Parked::new(limits.handshakes),
            forgotten: Forgotten::new(limits.handshakes, limits.patience),
            patience: limits.patience,
            clock: Clock::default(),
            due: Nanos::MAX,
            counts: Counts::default(),
        }
    }

    /// The keys of its flows' hashes.
    #[inline]
    #[must_use]
    pub const fn seed(&self) -> &FlowSeed {
        self.table.seed()
    }

    /// Whether a segment that goes this way, without SYN and RST, may matter to a handshake in progress. It may say yes of one
    /// that does not, never no of one that does.
    #[inline(always)]
    #[must_use]
    pub fn pending(&self, glance: Glance) -> bool {
        self.table.pending(glance)
    }

    /// What became of what was shown, by reason.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Shows when a packet passed, of whatever kind, before what is in it: a clock that is set back shows by any of them. Tells
    /// whether it was.
    #[inline(always)]
    pub fn see_time(&mut self, at: Nanos) -> bool {
        self.clock.see(at)
    }

    /// The clock that stamps packets was set, whichever way, since the last of them, as they need not show: of what began before
    /// no half is told.
    pub fn clock_stepped(&mut self) {
        self.clock.step();
    }

    /// Shows a segment.
    pub fn see(&mut self, segment: &Segment, take: &mut dyn FnMut(Handshake)) {
        self.see_time(segment.at);
        self.pass(segment.at, take);
        if self.may_matter(segment) {
            let flow = self.seed().of(&segment.from, &segment.to);
            self.look_at(flow, segment, take);
        }
    }

    /// Whether a segment may matter to a handshake in progress, or begins or ends one.
    pub(super) fn may_matter(&self, segment: &Segment) -> bool {
        let is_midstream = !segment.flags.has(TcpFlags::SYN) && !segment.flags.has(TcpFlags::RST);
        !is_midstream || self.pending(self.seed().glance(&segment.from, &segment.to))
    }

    /// Shows a segment of this flow that [may matter](Self::may_matter).
    pub(super) fn see_of(&mut self, flow: FlowHash, segment: &Segment, take: &mut dyn FnMut(Handshake)) {
        self.pass(segment.at, take);
        self.look_at(flow, segment, take);
    }

    fn look_at(&mut self, flow: FlowHash, segment: &Segment, take: &mut dyn FnMut(Handshake)) {
        let place = self.current(flow, segment, take);
        let is_ack = segment.flags.has(TcpFlags::ACK);
        if segment.flags.has(TcpFlags::SYN) {
            if segment.flags.has(TcpFlags::RST) || segment.flags.has(TcpFlags::FIN) {
                self.counts.impossible_flags += 1;
            } else if is_ack {
                self.answer(place, flow, segment, take);
            } else {
                self.open(place, flow, segment, take);
            }
        } else if segment.flags.has(TcpFlags::RST) {
            self.reset(place, segment, take);
        } else if let (true, Some(place)) = (is_ack, place) {
            self.acknowledge(place, segment, take);
        }
    }

    /// Time has passed, as of the packets: gives up what is too old. Seeing a segment does as much.
    #[inline]
    pub fn pass(&mut self, now: Nanos, take: &mut dyn FnMut(Handshake)) {
        if now > self.due {
            self.give_up_old(now, take);
        }
    }

    fn give_up_old(&mut self, now: Nanos, take: &mut dyn FnMut(Handshake)) {
        self.due = Nanos::MAX;
        for class in Class::ALL {
            while let Some(place) = self.table.oldest(class) {
                if !self.is_old(place, now) {
                    self.due = self.due.min(self.table.touched(place) + self.limit(class));
                    break;
                }
                self.give_up(place, now, take);
            }
        }
    }

    /// No more segments come: what is still in progress is told as unfinished.
    pub fn finish(&mut self, take: &mut dyn FnMut(Handshake)) {
        for class in Class::ALL {
            while let Some(place) = self.table.oldest(class) {
                self.counts.cut_off += u64::from(!self.is_over(place));
                self.drop_out(place, take);
            }
        }
    }

    /// Whether what passes now is too far from it to belong to it: in what came before, or, by a clock that was set back,
    /// in what was yet to come.
    fn is_old(&self, place: Place, now: Nanos) -> bool {
        let touched = self.table.touched(place);
        now - touched > self.limit(self.table.class(place)) || !now.is_near(touched, self.patience)
    }

    /// Whether two times are near enough to each other to be of one connection, whichever way the clock went between them.
    fn is_near(&self, one: Nanos, other: Nanos) -> bool {
        one.is_near(other, self.patience)
    }

    /// Whether it is established or refused, and only what may tell more of it is waited for.
    fn is_over(&self, place: Place) -> bool {
        match self.table.class(place) {
            Class::Held => true,
            Class::Answered => self.table.at(place).early.is_some_and(|early| early.what == What::Server),
            Class::Stray | Class::Unanswered => false,
        }
    }

    fn limit(&self, class: Class) -> Nanos {
        if class == Class::Held { HOLD } else { self.patience }
    }

    /// The handshake between a segment's ends, unless it is too old.
    #[inline(always)]
    fn current(
        &mut self,
        flow: FlowHash,
        segment: &Segment,
        take: &mut dyn FnMut(Handshake),
    ) -> Option<Place> {
        let Some(place) = self.table.find(flow, &segment.from, &segment.to) else {
            return self.recall(flow, segment, take);
        };
        if self.is_old(place, segment.at) {
            self.give_up(place, segment.at, take);
            return None;
        }
        if self.is_stepped(place) {
            self.table.at_mut(place).flags.set(Flag::ClockStepped);
        }
        Some(place)
    }

    /// Whether the clock was set since it began.
    fn is_stepped(&self, place: Place) -> bool {
        self.table.steps(place) != self.clock.steps()
    }

    /// The handshake whose SYN had to give way before this segment, which repeats or answers it.
    #[inline(never)]
    fn recall(
        &mut self,
        flow: FlowHash,
        segment: &Segment,
        take: &mut dyn FnMut(Handshake),
    ) -> Option<Place> {
        let opened = self.unparked(flow, segment)?;
        self.keep(flow, opened, Class::Unanswered, take);
        self.table.find(flow, &segment.from, &segment.to)
    }

    /// Begun by the SYN that had to give way before this segment, which repeats or answers it.
    fn unparked(&mut self, flow: FlowHash, segment: &Segment) -> Option<Progress> {
        let syn = self.parked.take(flow, segment).filter(|syn| self.is_near(segment.at, syn.at))?;
        let mut opened = self.opened(flow, &syn);
        if self.clock.was_set(self.patience) {
            opened.flags.set(Flag::ClockStepped);
        }
        Some(opened)
    }

    /// Begun by a SYN: the first, unless one of its flow has been forgotten.
    fn opened(&self, flow: FlowHash, syn: &Segment) -> Progress {
        let mut opened = Progress::opened(syn);
        self.note_forgotten(flow, &mut opened);
        opened
    }

    /// Begun by a SYN/ACK, whose SYN did not pass or has been forgotten.
    fn stray(&self, flow: FlowHash, answer: &Segment) -> Progress {
        let mut stray = Progress::stray(answer);
        self.note_forgotten(flow, &mut stray);
        stray
    }

    fn note_forgotten(&self, flow: FlowHash, begun: &mut Progress) {
        if self.forgotten.has(flow, begun.isn_client, begun.begun()) {
            begun.syns.note_forgotten();
            begun.answer_forgotten = self.forgotten.has_answered(flow, begun.isn_client, begun.begun());
        }
    }

    fn give_up(&mut self, place: Place, now: Nanos, take: &mut dyn FnMut(Handshake)) {
        if self.is_stepped(place) {
            // By its own time it may be young: what repeats or answers it may pass yet, and looks like the first.
            self.forget(place, now);
        }
        if self.is_over(place) {
            let handshake = self.held(place);
            return self.tell(place, &handshake, take);
        }
        self.counts.aged += 1;
        self.drop_out(place, take);
    }

    /// It is forgotten as of now, and what repeats it is to be known by that.
    fn forget(&mut self, place: Place, now: Nanos) {
        let (flow, known) = (self.table.flow(place), self.table.at(place));
        if known.answers.count() > 0 {
            self.forgotten.note_answered(flow, known.isn_client, now);
        } else {
            self.forgotten.note(flow, known.isn_client, now);
        }
    }

    /// Tells a handshake, and keeps it no longer.
    fn drop_out(&mut self, place: Place, take: &mut dyn FnMut(Handshake)) {
        let handshake = if self.is_over(place) {
            self.held(place)
        } else {
            self.table.at(place).handshake(Ending::Unfinished, Half::Unknown)
        };
        self.hand_out(&handshake, take);
        self.table.remove(place);
    }

    fn hand_out(&mut self, told: &Handshake, take: &mut dyn FnMut(Handshake)) {
        match told.ending {
            Ending::Established => self.counts.established += 1,
            Ending::Refused => self.counts.refused += 1,
            Ending::Unfinished => {}
        }
        if told.flags.has(Flag::ClockStepped) {
            self.counts.clock_stepped += 1;
            let unknown = Half::Unknown;
            take(Handshake { server_half: unknown, client_half: unknown, total: unknown, ..*told });
        } else {
            take(*told);
        }
    }

    /// One is over, by what passed at this time, which may be stamped before what passed earlier.
    fn conclude(&mut self, place: Place, at: Nanos, handshake: &Handshake, take: &mut dyn FnMut(Handshake)) {
        let last = self.table.touched(place).max(at);
        self.table.touch(place, last);
        self.tell(place, handshake, take);
    }

    /// One is over. It is handed out first: it is copied for that, and what was just written is to be had only when all that was
    /// written before it is, which would wait for memory.
    fn tell(&mut self, place: Place, handshake: &Handshake, take: &mut dyn FnMut(Handshake)) {
        self.hand_out(handshake, take);
        let touched = self.table.touched(place);
        self.over.keep(self.table.flow(place), self.table.at(place), handshake, touched);
        self.table.remove(place);
    }

    /// What is known of one that is held, which is settled by that: it is to be told.
    fn held(&mut self, place: Place) -> Handshake {
        let progress = self.table.at_mut(place);
        progress.settle();
        match progress.early {
            Some(early) if early.what == What::Server => {
                let answers = &progress.answers;
                let bound = answers.at_most(answers.answered(None), early.at);
                let half = if progress.doubtful { Half::Unknown } else { bound };
                progress.handshake(Ending::Established, half)
            }
            Some(early) if early.what == What::Refusal => progress.refused(early.at, early.echo),
            Some(early) if early.what == What::Reset => progress.broken_off(early.at, early.echo),
            Some(early) => progress.established(early),
            None => progress.handshake(Ending::Unfinished, Half::Unknown),
        }
    }

    fn keep(&mut self, flow: FlowHash, progress: Progress, class: Class, take: &mut dyn FnMut(Handshake)) {
        while let Some(place) = self.table.in_the_way() {
            if self.is_over(place) {
                // What it waited for may contradict it. What comes late from it is to be known as such.
                self.table.at_mut(place).skewed = true;
                let handshake = self.held(place);
                self.tell(place, &handshake, take);
                continue;
            }
            match self.table.class(place) {
                Class::Unanswered => {
                    self.counts.evicted_unanswered += 1;
                    if let Some((flow, isn)) = self.parked.keep(self.table.flow(place), self.table.at(place))
                    {
                        self.forgotten.note(flow, isn, progress.begun());
                    }
                }
                class => {
                    let is_stray = class == Class::Stray;
                    self.counts.evicted_stray += u64::from(is_stray);
                    self.counts.evicted_answered += u64::from(!is_stray);
                    self.forget(place, progress.begun());
                }
            }
            self.drop_out(place, take);
        }
        self.due = self.due.min(progress.begun() + self.limit(class));
        self.table.insert(flow, progress, class, self.clock.steps());
    }

    fn touch(&mut self, place: Place, at: Nanos, class: Class) {
        self.due = self.due.min(at + self.limit(class));
        self.table.touch(place, at);
        self.table.age(place, class);
    }
}

#[cfg(test)]
mod tests;
