//! When each hop is asked next: as often as it answers, and no more often than the path bears.
//!
//! Routers limit the messages that they make (Linux: six at once, then one a second to one host; others so many a second
//! in all). A limit shows by losses that come with the rate: what is answered is the limit itself, whatever is asked. So
//! a hop that left much unanswered is asked from then on as often as it answered, and a little less. Of a hop that falls
//! all but silent, what it answered before tells nothing, for that was its burst: what it answered since does.

use super::{Round, Route, Shot, Spent, Volley};
use crate::unit::Nanos;
use std::collections::BTreeMap;

/// One round lasts so long, or as many probes as this.
const ROUND: Nanos = Nanos::from_millis(250);
const MOST_IN_ROUND: usize = 512;
/// A hop that leaves a larger share unanswered is taken to limit its messages, or to lose them; Linux's burst of six
/// hides the limit from fewer than a dozen probes.
const LOSSY: f64 = 0.3;
const FEWEST: u32 = 12;
/// A hop is all but silent that answers less than this share after the first probe that it left unanswered ...
const SILENT: f64 = 0.1;
/// ... so that so many probes at a gap tell that it is too short still.
const TELLING: u32 = 3;
/// How much more slowly than it answered.
const EASE: f64 = 1.2;
/// A hop that answers less often than this is of no use.
pub(super) const SLOWEST: Nanos = Nanos::from_secs(4);
/// The share of a single link that probes take at most; where several links take their time, less of each.
const SHARE: f64 = 0.3;
/// And packets of two volleys follow one another no faster than this, and need no longer.
const CLOSEST: Nanos = Nanos::from_millis(1);
const FARTHEST: Nanos = Nanos::from_millis(30);

/// Shares of losses that are this near each other are the same.
const ALIKE: f64 = 0.15;

/// Why a hop leaves probes unanswered.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
enum Verdict {
    #[default]
    Open,
    /// Fewer were lost when it was asked less often.
    Limited,
    /// As many were.
    Lossy,
}

/// What is known of one hop.
#[derive(Copy, Clone, Debug, Default)]
struct Pace {
    due: Nanos,
    gap: Nanos,
    /// Since its gap was last set.
    asked: u32,
    answered: u32,
    since: Nanos,
    /// Share that was lost when it was last slowed down.
    slowed_at: Option<f64>,
    verdict: Verdict,
    /// In all.
    asked_ever: u64,
    answered_ever: u64,
    silence: Silence,
}

/// What came after the first probe that was not answered.
#[derive(Copy, Clone, Debug, Default)]
struct Silence {
    /// When that probe left, and the last one.
    began: Option<Nanos>,
    last: Nanos,
    asked: u32,
    answered: u32,
}

impl Silence {
    fn see(&mut self, spent: &Spent) {
        self.last = spent.left;
        if self.began.is_some() {
            self.asked += 1;
            self.answered += u32::from(spent.answer.is_some());
        } else if spent.answer.is_none() {
            self.began = Some(spent.left);
        }
    }

    /// The time for one answer, where the hop fell all but silent.
    fn an_answer(&self) -> Option<f64> {
        let silent = self.asked >= FEWEST && f64::from(self.answered) < SILENT * f64::from(self.asked);
        let lasted = self.last.0.saturating_sub(self.began?.0) as f64;
        silent.then(|| lasted / f64::from(self.answered.max(1)))
    }
}

/// Plans the rounds of one method.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    now: Nanos,
    spacing: Nanos,
    /// Packets of the volley before.
    fired: i64,
    hops: BTreeMap<u8, Pace>,
}

impl Schedule {
    /// For the hops of `route` that answer.
    pub(super) fn new(route: &Route) -> Self {
        let spacing = spacing(route.serialisation);
        let hops: Vec<u8> = route.answering().map(|stop| stop.hop).collect();
        let gap = spacing * hops.len().max(1) as i64;
        let pace = |hop| (hop, Pace { gap, ..Pace::default() });
        Self { now: Nanos::ZERO, spacing, fired: 1, hops: hops.into_iter().map(pace).collect() }
    }

    /// Virtual time so far.
    pub(super) fn now(&self) -> Nanos {
        self.now
    }

    /// Puts volleys as far apart as packets need that take `serialisation`, now that it is better known.
    pub(super) fn retune(&mut self, serialisation: Nanos) {
        self.spacing = spacing(serialisation);
        let gap = self.spacing * self.hops.len().max(1) as i64;
        for pace in self.hops.values_mut().filter(|pace| pace.slowed_at.is_none()) {
            pace.gap = gap;
        }
    }

    /// The least time for each packet.
    pub(super) fn spacing(&self) -> Nanos {
        self.spacing
    }

    /// The next round: `load` makes the packets of a volley that asks `hop`; `None`: that hop needs no more.
    pub(super) fn round(&mut self, mut load: impl FnMut(u8) -> Option<Vec<Shot>>) -> Option<Round> {
        let began = self.now;
        let mut round = Round::new();
        let mut finished = Vec::new();
        while self.now - began < ROUND && round.len() < MOST_IN_ROUND {
            let open =
                self.hops.iter_mut().filter(|(hop, pace)| !finished.contains(*hop) && pace.gap <= SLOWEST);
            let Some((hop, pace)) = open.min_by_key(|(_, pace)| pace.due) else { break };
            let Some(shots) = load(*hop) else {
                finished.push(*hop);
                continue;
            };
            let at = pace.due.max(self.now + self.spacing * self.fired);
            pace.due = at + pace.gap;
            self.fired = shots.len() as i64;
            round.push(Volley { pause: at - self.now, shots });
            self.now = at;
        }
        (!round.is_empty()).then_some(round)
    }

    /// Notes what became of a volley.
    pub(super) fn see(&mut self, sighting: &[Spent]) {
        for spent @ Spent { shot, answer, .. } in sighting {
            let Some(pace) = shot.hop.and_then(|hop| self.hops.get_mut(&hop)) else { continue };
            pace.asked += 1;
            pace.asked_ever += 1;
            pace.answered += u32::from(answer.is_some());
            pace.answered_ever += u64::from(answer.is_some());
            pace.silence.see(spent);
        }
    }

    /// Slows down where a hop left much unanswered; to be called when a round was seen whole.
    pub(super) fn adapt(&mut self) {
        let now = self.now;
        for pace in self.hops.values_mut() {
            let silent = pace.silence.an_answer();
            let telling = if silent.is_some() && pace.slowed_at.is_some() { TELLING } else { FEWEST };
            if pace.asked < telling {
                continue;
            }
            let lost = 1.0 - f64::from(pace.answered) / f64::from(pace.asked);
            if let Some(told) = silent.filter(|_| lost > LOSSY) {
                pace.gap = Nanos::from_f64((told * EASE).max(pace.gap.as_f64()));
                pace.due = now + pace.gap;
                pace.slowed_at = Some(lost);
            } else if lost > LOSSY
                && pace.slowed_at.is_some_and(|before| (lost - before).abs() < ALIKE && pace.answered > 0)
            {
                pace.verdict = Verdict::Lossy;
            } else if lost > LOSSY && pace.verdict != Verdict::Lossy {
                let spent = (now - pace.since).max(pace.gap);
                // Nobody knows a limit from no answer at all: twice as slow is tried.
                let told = spent.as_f64() / f64::from(pace.answered.max(1));
                pace.gap = Nanos::from_f64((told * EASE).max(pace.gap.as_f64() * 2.0));
                pace.due = now + pace.gap;
                pace.slowed_at = Some(lost);
            } else if pace.asked < 4 * FEWEST {
                continue;
            } else if pace.slowed_at.is_some() && pace.verdict == Verdict::Open {
                pace.verdict = Verdict::Limited;
            }
            (pace.asked, pace.answered, pace.since) = (0, 0, now);
        }
    }

    /// How far apart a hop is asked that limits its messages; `None`: it does not.
    pub(super) fn limit(&self, hop: u8) -> Option<Nanos> {
        let limited = |pace: &&Pace| pace.slowed_at.is_some() && pace.verdict != Verdict::Lossy;
        self.hops.get(&hop).filter(limited).map(|pace| pace.gap)
    }

    /// How often a hop was asked, and how often it answered.
    pub(super) fn tally(&self, hop: u8) -> [u64; 2] {
        self.hops.get(&hop).map_or([0; 2], |pace| [pace.asked_ever, pace.answered_ever])
    }
}

/// For each packet of which the largest takes `serialisation` on its way.
fn spacing(serialisation: Nanos) -> Nanos {
    Nanos::from_f64(serialisation.as_f64() / SHARE).clamp(CLOSEST, FARTHEST)
}
