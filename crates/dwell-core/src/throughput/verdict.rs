//! What held a run back: the path, the sending program or host, the receiving program or host.

use super::bucket::bucket;
use super::transfer::{Receiver, Sender, Threads, Transfer};
use crate::limit::{Limit, Verdict};
use crate::stats::quantile::{mean, median, standard_deviation};
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};

/// A thread that ran or wanted to for this share of the time had no time for more.
const FULL: f64 = 0.9;
/// A sender that had nothing to send for more than this share was held back by its program.
const IDLE: f64 = 0.2;
/// Stalled for this share of its busy time, a connection is limited by what it stalled for.
const STALLED: f64 = 0.5;
/// Unread for this share of the looks, data waits for the program.
const UNREAD: f64 = 0.5;
/// Data that the program is about to read is not waiting: this much comes between two of its reads at any rate.
const BETWEEN_READS: u64 = 65_536;
/// Rates of sub-intervals that vary by more than this about their mean are no one figure.
const UNSTEADY: f64 = 0.25;
/// More than this share of the segments sent again is worth a word,
const LOSSY: f64 = 0.003;
/// where round trips are longer than the least by less than this, nanoseconds, or a tenth: there is no queue.
const QUEUELESS: f64 = 1e6;
/// A window was sized for a shorter path where round trips in the last quarter of a run are at least so many times the least,
const LONGER: f64 = 1.5;
/// and no more than this share of the most that a sub-interval carried came then.
const LESS: f64 = 0.67;
/// What happens in this first part of a run is the ramp.
const RAMP: Nanos = Nanos::from_secs(1);

/// The figures that a verdict rests on, each over the run after its ramp.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shares {
    /// Of the time, that the sender had something under way.
    pub busy: f64,
    /// Of that, stalled by the receiver's window.
    pub receiver_limited: f64,
    /// Of that, stalled by the sender's socket buffer.
    pub buffer_limited: f64,
    /// Of the time, that the busiest sending thread ran or wanted to.
    pub sender_thread: f64,
    /// The same of the receiving threads.
    pub receiver_thread: f64,
    /// Busiest core of the sending host, at the median.
    pub sender_core: Option<f64>,
    /// Busiest core of the receiving host, at the median.
    pub receiver_core: Option<f64>,
    /// Of the looks, that found data waiting for the receiving program.
    pub unread: f64,
    /// Of the segments sent, those sent again.
    pub retransmitted: f64,
    /// Standard deviation of the rates of sub-intervals, over their mean.
    pub variation: f64,
}

/// Those of a run; `None`: it ended before its ramp did.
#[must_use]
pub fn shares(run: &Transfer) -> Option<Shares> {
    let ramp = if run.span() > RAMP * 3 { RAMP } else { Nanos::ZERO };
    let sent = run.sender.iter().find(|sample| sample.at >= ramp)?;
    let sent_last = run.sender.last()?;
    let got = run.receiver.iter().find(|sample| sample.at >= ramp)?;
    let got_last = run.receiver.last()?;
    let (sent_span, got_span) = (sent_last.at - sent.at, got_last.at - got.at);
    if sent_span <= Nanos::ZERO || got_span <= Nanos::ZERO {
        return None;
    }
    let gained = |of: fn(&Sender) -> f64| -> f64 {
        let pairs = sent.connections.iter().zip(&sent_last.connections);
        pairs.map(|(before, after)| (of(after) - of(before)).max(0.0)).sum()
    };
    let busy = gained(|one| one.busy.as_f64());
    let share = |part: f64, whole: f64| if whole > 0.0 { (part / whole).min(1.0) } else { 0.0 };
    let busiest = |threads: Vec<(Threads, Threads)>, span| {
        threads.iter().map(|(before, after)| after.busy_since(*before, span)).fold(0.0, f64::max).min(1.0)
    };
    let pairs = |before: &[Receiver], after: &[Receiver]| {
        before.iter().zip(after).map(|(before, after)| (before.thread, after.thread)).collect()
    };
    let sending = sent.connections.iter().zip(&sent_last.connections);
    let core = |loads: Vec<Option<f64>>| median(&loads.into_iter().flatten().collect::<Vec<_>>());
    let looks = run.receiver.iter().filter(|sample| sample.at > got.at);
    let waits = |one: &Receiver| f64::from(u8::from(one.unread.0 > BETWEEN_READS));
    let unread: Vec<f64> = looks.clone().flat_map(|sample| sample.connections.iter().map(waits)).collect();
    let rates: Vec<f64> = steady_rates(run);
    Some(Shares {
        busy: share(busy, sent_span.as_f64() * sent.connections.len() as f64),
        receiver_limited: share(gained(|one| one.receiver_limited.as_f64()), busy),
        buffer_limited: share(gained(|one| one.buffer_limited.as_f64()), busy),
        sender_thread: busiest(sending.map(|(a, b)| (a.thread, b.thread)).collect(), sent_span),
        receiver_thread: busiest(pairs(&got.connections, &got_last.connections), got_span),
        sender_core: core(run.sender.iter().map(|sample| sample.host.busiest_core).collect()),
        receiver_core: core(run.receiver.iter().map(|sample| sample.host.busiest_core).collect()),
        unread: mean(&unread).unwrap_or(0.0),
        retransmitted: share(gained(|one| one.retransmitted as f64), gained(|one| one.segments as f64)),
        variation: share(standard_deviation(&rates).unwrap_or(0.0), mean(&rates).unwrap_or(0.0)),
    })
}

/// Rates of the sub-intervals after the ramp, of one second each or a tenth of a shorter run.
pub(super) fn steady_rates(run: &Transfer) -> Vec<f64> {
    let ramp = if run.span() > RAMP * 3 { RAMP } else { Nanos::ZERO };
    rates(run, ramp)
}

/// Those of the sub-intervals from a time on.
fn rates(run: &Transfer, from: Nanos) -> Vec<f64> {
    let length = Nanos((run.span().0 / 10).clamp(100_000_000, 1_000_000_000));
    let all = run.intervals(length);
    all.iter().filter(|interval| interval.from >= from).map(|interval| interval.rate.0 as f64).collect()
}

/// The verdict on a run.
#[must_use]
pub fn verdict(run: &Transfer) -> Verdict {
    let Some(shares) = shares(run) else {
        return Verdict { limit: Limit::Unstable, reason: "the run ended before it could be judged".into() };
    };
    let (limit, reason) = judged(run, &shares);
    Verdict { limit, reason }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn judged(run: &Transfer, shares: &Shares) -> (Limit, String) {
    let of = |share: f64| percent(share);
    if shares.receiver_thread >= FULL && shares.unread >= UNREAD {
        return (
            Limit::HostLimited,
            format!(
                "the receiving host: its thread was busy for {} of the time, and data waited for it at {} of the looks",
                of(shares.receiver_thread),
                of(shares.unread)
            ),
        );
    }
    if shares.sender_thread >= FULL && shares.buffer_limited + shares.receiver_limited < STALLED {
        let why = "the sending host: its thread was busy for";
        return (Limit::HostLimited, format!("{why} {} of the time", of(shares.sender_thread)));
    }
    if let Some((whose, core)) = saturated(shares) {
        return (
            Limit::HostLimited,
            format!(
                "the {whose} host: its busiest core was busy for {} of the time, and the sender had something under way \
                 for {}",
                of(core),
                of(shares.busy)
            ),
        );
    }
    if shares.busy < 1.0 - IDLE {
        return (
            Limit::SenderLimited,
            format!("the sender had something under way for {} of the time only", of(shares.busy)),
        );
    }
    if shares.unread >= UNREAD {
        let why = "data waited for the receiving program at";
        return (Limit::ReceiverLimited, format!("{why} {} of the looks", of(shares.unread)));
    }
    if shares.receiver_limited >= STALLED && !run.autotuned {
        return (
            Limit::ReceiverLimited,
            format!(
                "the window that the receiver offered held the sender for {} of the time, and its program kept up: the \
                 window is smaller than rate times round trip",
                of(shares.receiver_limited)
            ),
        );
    }
    if shares.buffer_limited >= STALLED {
        return (
            Limit::SenderLimited,
            format!("its socket buffer held the sender for {} of the time", of(shares.buffer_limited)),
        );
    }
    if let Some((least, late)) = outgrown(run).filter(|_| run.autotuned) {
        return (
            Limit::Unstable,
            format!(
                "round trips took {least} at least, and {late} at least in the last quarter, when less came: the path became longer \
                 or carries less, and the window was not yet sized anew, or others' packets wait on it"
            ),
        );
    }
    let course = run.receiver.iter().map(|sample| (sample.at.as_secs_f64(), sample.received() as f64 * 8.0));
    if let Some(bucket) = bucket(&course.collect::<Vec<_>>()) {
        return (Limit::TokenBucket, bucket.reason("payload"));
    }
    if shares.variation > UNSTEADY {
        let why = "the rate of sub-intervals varied by";
        return (Limit::Unstable, format!("{why} {} about its mean", of(shares.variation)));
    }
    (Limit::Link, link(run, shares))
}

/// The least round trip of a run and that of its last quarter, where that is longer and less came then: a queue of the
/// connection's own would carry as much.
fn outgrown(run: &Transfer) -> Option<(Nanos, Nanos)> {
    let last = run.sender.last()?;
    let least = last.connections.iter().map(|one| one.min_rtt).filter(|rtt| *rtt > Nanos::ZERO).min()?;
    let late = run.rtts(Nanos(run.span().0 / 4 * 3), Nanos::MAX).min_by(f64::total_cmp)?;
    let rates = rates(run, Nanos::ZERO);
    let most = rates.iter().copied().max_by(f64::total_cmp)?;
    let then = mean(&rates[rates.len() - rates.len().div_ceil(4)..])?;
    (late > LONGER * least.as_f64() && then < LESS * most).then(|| (least, Nanos::from_f64(late)))
}

/// A core without a pause, and threads that wanted more of it: the link was not kept busy.
fn saturated(shares: &Shares) -> Option<(&'static str, f64)> {
    const SATURATED: f64 = 0.97;
    const WANTED: f64 = 0.5;
    let full = |core: Option<f64>| core.filter(|core| *core >= SATURATED);
    let receiving = full(shares.receiver_core).map(|core| ("receiving", core));
    let thread = shares.sender_thread.max(shares.receiver_thread);
    let idle = shares.busy < 1.0 - IDLE;
    receiving.or(full(shares.sender_core).map(|core| ("sending", core))).filter(|_| idle && thread >= WANTED)
}

fn link(run: &Transfer, shares: &Shares) -> String {
    let last = run.sender.last().map(|sample| sample.connections.as_slice()).unwrap_or_default();
    let least = last.iter().map(|one| one.min_rtt).filter(|rtt| *rtt > Nanos::ZERO).min();
    let rtts: Vec<f64> = run.rtts(RAMP.min(run.span() / 3), Nanos::MAX).collect();
    let queued = match (least, median(&rtts)) {
        (Some(least), Some(median)) => {
            format!("round trip {} at the median, {least} the least that was seen", Nanos::from_f64(median))
        }
        _ => "round trips were not told".to_owned(),
    };
    let window = if run.autotuned { "a window sized to the path" } else { "the congestion window" };
    let lossy = match (least, median(&rtts)) {
        (Some(least), Some(median))
            if shares.retransmitted > LOSSY
                && median - least.as_f64() < QUEUELESS.max(0.1 * least.as_f64()) =>
        {
            ": losses without a queue are of a policer, a short queue or a link that loses packets"
        }
        _ => "",
    };
    format!(
        "{window} was the limit; {} of the segments sent again; {queued}{lossy}",
        percent2(shares.retransmitted)
    )
}

fn percent2(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::super::transfer::{Connection, HostLoad, ReceiverSample, SenderSample};
    use super::*;
    use crate::train::Direction;
    use crate::unit::Bytes;

    /// Eight seconds that carry 20 Mb/s for 1.5 s and then 5, with round trips of 11 ms before that and of `late` after.
    fn slowed(autotuned: bool, late: Nanos) -> Transfer {
        let looks = || (1..=80).map(|number| Nanos::from_millis(100 * number));
        let is_early = |at: Nanos| at <= Nanos::from_millis(1_500);
        let host = HostLoad::default();
        let sender = looks().map(|at| SenderSample {
            at,
            host,
            connections: vec![Sender {
                rtt: if is_early(at) { Nanos::from_millis(11) } else { late },
                min_rtt: Nanos::from_millis(10),
                busy: at,
                ..Sender::default()
            }],
        });
        let received = |at: Nanos| {
            let early = at.min(Nanos::from_millis(1_500));
            Bytes((early.as_secs_f64() * 2.5e6 + (at - early).as_secs_f64() * 0.625e6) as u64)
        };
        let receiver = looks().map(|at| ReceiverSample {
            at,
            host,
            connections: vec![Receiver { received: received(at), ..Receiver::default() }],
        });
        Transfer {
            direction: Direction::Forward,
            asked: Nanos::from_secs(8),
            autotuned,
            connection: Connection::default(),
            sender: sender.collect(),
            receiver: receiver.collect(),
        }
    }

    #[test]
    fn a_window_sized_for_a_shorter_path_is_no_token_bucket() {
        let [short, long] = [11, 40].map(Nanos::from_millis);
        let limit = |autotuned, late| verdict(&slowed(autotuned, late)).limit;
        assert_eq!(limit(true, long), Limit::Unstable);
        // Of a bucket that is empty a sized window keeps no queue; without one it fills it.
        assert_eq!(limit(true, short), Limit::TokenBucket);
        assert_eq!(limit(false, long), Limit::TokenBucket);
    }
}
