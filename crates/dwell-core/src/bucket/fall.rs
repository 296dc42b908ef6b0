//! Where the rate falls at which a burst arrives: a token bucket is empty there. A shaper lets the rest wait, a policer
//! drops it.

use crate::stats::quantile::{mean, median, quantile_of_sorted, sorted};
use crate::stream::{Passed, rate_at};
use crate::unit::Bytes;

/// A rate is taken of so many packets.
pub(crate) const WINDOW: usize = 4;

/// gamma: the rates before are so many times those after (Kanuparthy and Dovrolis 2011, section 3.1).
pub(crate) const GAMMA: f64 = 1.1;

/// How closely a burst is looked at.
struct Look {
    /// A rate is taken of so many packets.
    window: usize,
    /// So many rates at least lie on either side of a fall.
    beside: usize,
    /// And no more than so many before it.
    most: usize,
    /// The rates before are so many times those after.
    gamma: f64,
}

const FAR: Look = Look { window: WINDOW, beside: 4, most: usize::MAX, gamma: GAMMA };

/// What holds so few packets that no such windows lie before the fall is seen by single gaps, which vary more.
const NEAR: Look = Look { window: 1, beside: 6, most: FEW + WINDOW, gamma: 1.5 };

/// Behind so many packets a fall is seen by windows.
const FEW: usize = FAR.window * (FAR.beside + 1);

/// The sender is faster than what arrives if it sends so many times as much.
pub(crate) const FASTER: f64 = 1.05;

/// So many packets must have passed a policer after its first loss, and so many must have been lost.
pub(crate) const STEPS: usize = 12;

/// The steps between packets that passed, or between those that were lost, vary by less than this share of what they would if each were
/// lost by chance, or by no more than a rate that is no whole part of the sender's makes them vary.
const REGULAR: f64 = 0.1;
const ROUNDED: f64 = 0.3;

/// Where nothing waits, packets come as far apart after the fall as before it, each lost one counted, within this factor.
const ALIKE: f64 = 1.25;

/// A fall of the rate within one burst.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Fall {
    /// Nanoseconds a packet before it, as they came.
    pub(crate) before: f64,
    /// And as they were sent.
    pub(crate) sent: f64,
    /// After it.
    pub(crate) after: f64,
    /// Packets that passed before it.
    pub(crate) passed: f64,
    /// What is too much is dropped, and nothing waits.
    pub(crate) drops: bool,
}

impl Fall {
    /// The rate after it, in bits that packets of `size` take of a link in a second.
    pub(crate) fn rate(&self, size: Bytes) -> f64 {
        rate_at(size, self.after)
    }

    /// What the bucket held at the least and at the most, in bytes on the wire: while packets passed, more tokens came. What waits comes
    /// out at the pace of the slowest link, wherever that lies; what is dropped came to the policer at a pace between that at which it was
    /// sent and that at which the rest arrived, for a slower link may lie before the policer or behind it; and there was less than a
    /// packet left in the bucket when the first was dropped.
    pub(crate) fn depths(&self, size: Bytes) -> (f64, f64) {
        let held = |pace: f64| self.passed * size.0 as f64 * (1.0 - pace / self.after);
        let least = held(self.before);
        (least, if self.drops { held(self.sent).max(least) + size.0 as f64 } else { least })
    }

    /// What it was seen by.
    pub(crate) const fn reason(&self) -> &'static str {
        if self.drops {
            "the first packets of a burst pass, and then no more than a rate: the rest is dropped, and nothing waits (a policer)"
        } else {
            "the first packets of a burst pass faster than all that follow"
        }
    }
}

/// What trains that fell like this one showed, bits per second and bytes, at least and at most: what it was seen by, and both in words.
pub(crate) fn described(fall: &Fall, rate: f64, (least, most): (f64, f64)) -> String {
    let [least, most] = [least, most].map(|depth| format!("{:.1}", depth / 1e3));
    let depth = if least == most { least } else { format!("{least} to {most}") };
    format!("{}: a token bucket of {:.3} Mb/s, {depth} kB deep", fall.reason(), rate / 1e6)
}

/// What a bucket means for methods that know of none.
pub(crate) fn warned(described: &str) -> String {
    format!("{described}; figures that do not allow for it are wrong")
}

/// What a train of so many bytes that came at one rate does not show: while it passes, more tokens come.
pub(crate) fn unseen(train: Bytes) -> String {
    format!(
        "a token bucket would not show that holds {train} x (1 - its rate / the train's rate) or more, or whose rate is nearly the train's"
    )
}

/// Whether bursts fell at one place, within a factor of `place`, and to one rate, within a factor of `rate`: a bucket empties at the same
/// place each time, and the traffic of others does not.
pub(crate) fn alike(falls: &[Fall], place: f64, rate: f64) -> bool {
    let within = |figure: fn(&Fall) -> f64, factor: f64| {
        let figures = sorted(&falls.iter().map(figure).collect::<Vec<_>>());
        figures.first().zip(figures.last()).is_some_and(|(least, most)| *most <= least * factor)
    };
    within(|fall| fall.passed, place) && within(|fall| fall.after, rate)
}

/// The fall of the rate within a burst, if there is one that lasts.
pub(crate) fn fall(passed: &[Passed]) -> Option<Fall> {
    policed(passed).or_else(|| slower(passed, &FAR))
}

/// The same, where it may lie behind few packets: a window that is of both rates would be a large part of those before it.
pub(crate) fn fall_of_few(passed: &[Passed]) -> Option<Fall> {
    let of_few = || slower(passed, &NEAR).filter(|fall| fall.passed < FEW as f64);
    policed(passed).or_else(of_few).or_else(|| slower(passed, &FAR))
}

/// All pass up to the first loss, and then at regular steps, no later than before: by chance nothing is lost so evenly, and
/// a link whose queue is full has delayed what it lets pass.
pub(crate) fn policed(passed: &[Passed]) -> Option<Fall> {
    let whole = passed.iter().enumerate().position(|(place, packet)| packet.number != place)?;
    let (rest, first) = (&passed[whole..], passed.first().filter(|_| whole > 0)?);
    let (after, before) = (pace(rest)?, pace(&[*first, rest[0]])?);
    let alike = before < after * ALIKE && after < before * ALIKE;
    let rate = served(rest)?;
    // A link that is little slower than what is sent lets packets come little further apart, and so does a shaper with room for few:
    // that they waited tells of either.
    let is_prompt = waited(&passed[..whole], rest)? < rate;
    (alike && is_prompt && is_regular(rest)?).then_some(Fall {
        before: after,
        sent: spread_before(passed, whole),
        after: rate,
        passed: whole as f64,
        drops: true,
    })
}

/// Whether a train fell because the queue of a link was full: until then it lost nothing, and was held up from its beginning on, for others were
/// between its packets; from there on it lost, to others whose packets found room. A shaper's queue begins to fill where the
/// rate falls, and what passes later has waited for all of it.
pub(crate) fn overflowed(fall: &Fall, passed: &[Passed]) -> bool {
    let lost = passed.iter().enumerate().position(|(place, packet)| packet.number != place);
    let near = |lost: &usize| (*lost as f64 - fall.passed).abs() <= (2 * WINDOW) as f64;
    let whole = lost.filter(near).map_or(0, |lost| lost.min(fall.passed as usize));
    let (before, later) = passed.split_at(whole);
    let (Some(first), Some(last)) = (before.first(), before.get(2 * WINDOW..).and_then(<[_]>::last)) else {
        return false;
    };
    let risen = last.delay() - first.delay();
    let is_held = risen > (FASTER - 1.0) * (last.sent - first.sent);
    !fall.drops && is_held && waited(&[*last], later).is_some_and(|more| more < risen)
}

/// Whether packets passed, or were lost, at regular steps, whichever are rarer and so the more regular. `None` of too few to say so.
fn is_regular(passed: &[Passed]) -> Option<bool> {
    let passes: Vec<f64> = passed.iter().map(|packet| packet.number as f64).collect();
    let losses: Vec<f64> = passed
        .windows(2)
        .flat_map(|two| two[0].number + 1..two[1].number)
        .map(|number| number as f64)
        .collect();
    let rarer = if losses.len() < passes.len() { losses } else { passes };
    let steps: Vec<f64> = rarer.windows(2).map(|two| two[1] - two[0]).collect();
    let step = mean(&steps).filter(|_| steps.len() >= STEPS)?;
    let squares: Vec<f64> = steps.iter().map(|one| (one - step).powi(2)).collect();
    Some(mean(&squares)? < ROUNDED.max(REGULAR * step * (step - 1.0)))
}

/// Nanoseconds for each packet that a policer passed after its first loss. The first of them may have waited behind it for what passed at
/// once, and later ones before it: the longer of the two times is its own.
fn served(passed: &[Passed]) -> Option<f64> {
    let (first, last) = passed.first().zip(passed.last())?;
    let time = (last.came - first.came).max(last.sent - first.sent);
    (passed.len() > STEPS).then(|| time / (passed.len() - 1) as f64)
}

/// How much longer packets were on the way later than before.
fn waited(before: &[Passed], later: &[Passed]) -> Option<f64> {
    let delay = |part: &[Passed]| median(&part.iter().map(Passed::delay).collect::<Vec<_>>());
    Some(delay(later)? - delay(before)?)
}

/// All but a quarter of the windows before it are quicker than all but a quarter of those after it, their medians by a factor
/// of gamma, and the sender was not slower.
fn slower(passed: &[Passed], look: &Look) -> Option<Fall> {
    let (window, beside) = (look.window, look.beside);
    let ends: Vec<Passed> = passed.iter().copied().step_by(window).collect();
    let windows: Vec<f64> = ends.windows(2).map(|two| (two[1].came - two[0].came) / window as f64).collect();
    let rest = |from: usize| windows[from..].iter().sum::<f64>();
    let count = windows.len();
    // The two levels that leave the least about them.
    let squares = |part: &[f64]| {
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        part.iter().map(|window| (window - mean).powi(2)).sum::<f64>()
    };
    let cut = (beside..(count.checked_sub(beside)? + 1).min(look.most)).min_by(|a, b| {
        let about = |cut: usize| squares(&windows[..cut]) + squares(&windows[cut..]);
        about(*a).total_cmp(&about(*b))
    })?;
    let (early, late) = (sorted(&windows[..cut]), sorted(&windows[cut..]));
    let (before, after) = (median(&early)?, median(&late)?);
    let apart = quantile_of_sorted(&early, 0.75)? < quantile_of_sorted(&late, 0.25)?;
    let (from, to) = (ends[cut], ends.last()?);
    // What was lost was sent too.
    let late_sent = (to.sent - from.sent) / (to.number - from.number).max(1) as f64;
    let pushed = late_sent * FASTER < rest(cut) / (count - cut) as f64;
    let lost = to.number - from.number > window * (count - cut);
    // A shaper whose queue overflows drops as many: those that pass have waited in it.
    let as_before = pace(&ends[cut..])? < pace(&ends[..=cut])? * ALIKE;
    let drops = lost && as_before && waited(&ends[..=cut], &ends[cut..])? < after;
    if !(apart && before > 0.0 && after > before * look.gamma && pushed) {
        return None;
    }
    // Packets that are sent evenly come, of a policer, in windows of one of two lengths, neither of which is its rate.
    let first_lost = passed.iter().enumerate().position(|(place, packet)| packet.number != place);
    let rest = &passed[first_lost.filter(|_| drops).unwrap_or(passed.len())..];
    Some(match served(rest) {
        Some(after) => {
            let whole = passed.len() - rest.len();
            Fall { before, sent: spread_before(passed, whole), after, passed: whole as f64, drops }
        }
        // The window in which it fell is of both rates: the lines before and after meet where it did.
        None => {
            let whole = meeting(&ends, window, cut, before, after);
            Fall { before, sent: spread_before(passed, whole as usize), after, passed: whole, drops }
        }
    })
}

/// How far apart the first so many packets that passed were sent, each lost one counted.
fn spread_before(passed: &[Passed], whole: usize) -> f64 {
    match (passed.first(), passed.get(whole.saturating_sub(1))) {
        (Some(first), Some(last)) if last.number > first.number => {
            (last.sent - first.sent) / (last.number - first.number) as f64
        }
        _ => 0.0,
    }
}

/// How far apart packets came, each lost one counted.
fn pace(passed: &[Passed]) -> Option<f64> {
    let (first, last) = passed.first().zip(passed.last())?;
    Some((last.came - first.came) / (last.number - first.number) as f64).filter(|pace| *pace > 0.0)
}

/// How many packets had passed when the rate fell: where the line of the first windows meets that of the last.
fn meeting(ends: &[Passed], window: usize, cut: usize, before: f64, after: f64) -> f64 {
    let (first, last) = (ends[0].came, ends[ends.len() - 1].came);
    let packets = ((ends.len() - 1) * window) as f64;
    // first + before * k + after * (packets - k) = last.
    let met = (first + after * packets - last) / (after - before);
    met.clamp(((cut - 1) * window) as f64, ((cut + 1) * window) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burst(gaps: impl Iterator<Item = f64>, sent: f64) -> Vec<Passed> {
        let mut came = 0.0;
        let mut passed = vec![Passed { number: 0, sent: 0.0, came }];
        for (i, gap) in gaps.enumerate() {
            came += gap;
            passed.push(Passed { number: i + 1, sent: sent * (i + 1) as f64, came });
        }
        passed
    }

    /// 300 packets sent 12 apart, of which these passed, each as late as `wait` says by its place among them.
    fn of_burst(passes: impl Fn(usize) -> bool, wait: impl Fn(usize) -> f64) -> Vec<Passed> {
        let numbers = (0..300).filter(|number| passes(*number));
        let sent = |number: usize| 12.0 * number as f64;
        let one = |(place, number)| Passed { number, sent: sent(number), came: sent(number) + wait(place) };
        numbers.enumerate().map(one).collect()
    }

    #[test]
    fn a_fall_is_where_the_rate_changes() {
        let gaps = (0..127).map(|i| if i < 50 { 12.0 } else { 120.0 });
        let fall = fall(&burst(gaps.clone(), 12.0)).unwrap();
        assert_eq!((fall.before, fall.after, fall.drops), (12.0, 120.0, false));
        assert!((fall.passed - 50.0).abs() < 4.0, "{fall:?}");
        // Not if the sender itself slowed down as much.
        assert_eq!(super::fall(&burst(gaps, 120.0)), None);
    }

    #[test]
    fn a_shaper_whose_queue_overflows_is_no_policer() {
        // Fifty pass at once, then one in ten sent; as many as that wait, twenty at most, and the rest is lost.
        let sent = |number: usize| 12.0 * number as f64;
        let passes = |number: &usize| *number < 72 || number % 10 == 2;
        let came = |number: usize| sent(number) + 108.0 * (number.saturating_sub(50)).min(22) as f64;
        let burst: Vec<Passed> = (0..3_000)
            .filter(passes)
            .map(|number| Passed { number, sent: sent(number), came: came(number) })
            .collect();
        let found = fall(&burst).unwrap();
        assert!((found.after / 120.0 - 1.0).abs() < 0.05 && !found.drops, "{found:?}");
    }

    #[test]
    fn a_full_queue_is_no_bucket() {
        // Others take half a packet's time behind each until the queue is full; then theirs find room, and ours lose as much.
        let sent = |number: usize| 12.0 * number as f64;
        let passes = |number: &usize| *number < 143 || number.is_multiple_of(2);
        let came = |number: usize| sent(number) + 6.0 * number.min(143) as f64;
        let burst: Vec<Passed> = (0..400)
            .filter(passes)
            .map(|number| Passed { number, sent: sent(number), came: came(number) })
            .collect();
        let found = fall(&burst).unwrap();
        assert!((found.after / 24.0 - 1.0).abs() < 0.05 && !found.drops, "{found:?}");
        assert!(overflowed(&found, &burst));
        // A shaper behind others: those are between the packets that empty it too, but what it then makes wait was not there before.
        let passes = |number: &usize| *number < 55 || number % 10 == 2;
        let came = |number: usize| sent(number) + 0.9 * number.min(50) as f64;
        let wait = |number: usize| 108.0 * number.saturating_sub(50).min(5) as f64;
        let burst: Vec<Passed> = (0..3_000)
            .filter(passes)
            .map(|number| Passed { number, sent: sent(number), came: came(number) + wait(number) })
            .collect();
        let found = fall(&burst).unwrap();
        assert!((found.after / 120.0 - 1.0).abs() < 0.05 && !overflowed(&found, &burst), "{found:?}");
    }

    #[test]
    fn a_shaper_with_room_for_few_packets_is_no_policer() {
        for room in [2, 3, 4] {
            // Forty-three pass at once, then one in three sent, behind so many that wait.
            let passes = |number: usize| number < 43 + room || number.is_multiple_of(3);
            let wait = |place: usize| 24.0 * (place.saturating_sub(43)).min(room) as f64;
            let found = fall(&of_burst(passes, wait)).unwrap();
            assert!((found.after / 36.0 - 1.0).abs() < 0.02 && !found.drops, "{room}: {found:?}");
        }
    }

    #[test]
    fn a_bucket_shows_that_holds_less_than_is_said() {
        let (packets, size, own, token) = (128_u32, 1_500.0, 12.0, 24.0);
        assert!(unseen(Bytes(192_000)).contains("192000 B x (1 - its rate / the train's rate)"));
        let most = f64::from(packets) * size * (1.0 - own / token);
        let through = |depth: f64| {
            let passed = depth / size / (1.0 - own / token);
            burst((0..packets).map(|i| if f64::from(i) < passed { own } else { token }), own)
        };
        assert_eq!(fall(&through(most)), None);
        assert!(fall(&through(0.7 * most)).is_some());
    }

    #[test]
    fn a_fall_behind_few_packets_is_seen_by_single_gaps() {
        let gaps = |few: u32, after: f64| (0..60).map(move |i| if i < few { 12.0 } else { after });
        let found = fall_of_few(&burst(gaps(10, 240.0), 12.0)).unwrap();
        assert_eq!((found.before, found.after, found.passed, found.drops), (12.0, 240.0, 10.0, false));
        let by_windows = fall(&burst(gaps(10, 240.0), 12.0)).unwrap();
        assert!(by_windows.before > 60.0 && by_windows.passed > 13.0, "{by_windows:?}");
        // So few may pass sooner by chance.
        assert_eq!(fall_of_few(&burst(gaps(3, 240.0), 12.0)), None);
        // Behind as many as windows need they say what windows say.
        let many: Vec<Passed> = burst(gaps(24, 240.0), 12.0);
        assert_eq!(fall_of_few(&many), fall(&many));
    }

    #[test]
    fn one_rate_does_not_fall() {
        assert_eq!(fall(&burst((0..127).map(|i| 120.0 + f64::from(i % 7)), 12.0)), None);
        assert_eq!(fall(&burst((0..20).map(|_| 120.0), 12.0)), None);
        assert_eq!(fall(&[]), None);
    }

    #[test]
    fn a_policer_drops_at_regular_steps() {
        let found = fall(&of_burst(|number| number < 43 || number % 10 == 3, |_| 0.0)).unwrap();
        assert_eq!((found.before, found.after, found.passed, found.drops), (12.0, 120.0, 44.0, true));
        // One that lets no two packets pass together.
        let found = fall(&of_burst(|number| number % 10 == 0, |_| 0.0)).unwrap();
        assert_eq!((found.before, found.after, found.passed, found.drops), (12.0, 120.0, 1.0, true));
    }

    #[test]
    fn a_policer_that_drops_few_is_told_with_its_rate() {
        for percent in [50, 60, 67, 70, 75, 80, 85, 90, 93] {
            // As many as so many in a hundred of those sent so far.
            let passes = |number: usize| number < 43 || (number + 1) * percent / 100 > number * percent / 100;
            let found = fall(&of_burst(passes, |_| 0.0)).unwrap_or_else(|| panic!("{percent}"));
            let rate = 12.0 / found.after * 100.0;
            assert!((rate - percent as f64).abs() < 1.0 && found.drops, "{percent}: {found:?}");
            // A link of that rate, whose queue is full when it drops the first.
            let wait = |place: usize| 12.0 * (100 - percent) as f64 / percent as f64 * place.min(43) as f64;
            assert_eq!(policed(&of_burst(passes, wait)), None, "{percent}");
        }
    }

    #[test]
    fn chance_and_full_queues_are_no_policers() {
        // Each tenth by chance, near enough.
        let chance = |number: usize| !(number * number / 3 + number * 7).is_multiple_of(10);
        assert_eq!(fall(&of_burst(chance, |_| 0.0)), None);
        // Each second packet by chance, near enough.
        let chance = |number: usize| number == 0 || (number * number / 7 + number) % 4 < 2;
        assert_eq!(fall(&of_burst(chance, |_| 0.0)), None);
        // A link of a tenth of the rate with room for five: each waits for those before it.
        let queued = |number: usize| number < 6 || number % 10 == 5;
        assert_eq!(fall(&of_burst(queued, |place| 108.0 * place.min(6) as f64)), None);
    }
}
