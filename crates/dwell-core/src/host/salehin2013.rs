//! `salehin2013`: packet processing time from an echo, a tap on the link and the host's own stamps, as published by
//! Salehin and Rojas-Cessa, 'Measurement of Packet Processing Time of an Internet Host using Asynchronous Packet
//! Capture at the Data-Link Layer', 2013 (papers/001).
//!
//! Section III: 2 PPT = (t7 - t1) - (t2 - t1) - (t5 - t3). Each difference is taken on one clock, so the tap's and the
//! host's need not agree. The paper halves the sum, as if the way up took as long as the way down; where the host's
//! kernel stamps the packets too, both halves are known, and the assumption is tested.
//!
//! The paper prints means. Here figures are medians over echoes: one reader that was kept from its core for a
//! millisecond moves the mean of a hundred echoes by 10 us.

use crate::echo::{Echo, HostTimes};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::Estimate;
use crate::stats::quantile::{quantile_interval, sorted};
use crate::unit::Nanos;

/// Its published name.
pub const NAME: &str = "salehin2013";

/// 2 PPT by section III; the same for the paper's own figures.
#[must_use]
pub fn two_way(gap: Nanos, receiving: Nanos, answer: Nanos) -> Nanos {
    gap - receiving - answer
}

impl Echo {
    /// 2 PPT of this echo; `None` where the host told no times.
    #[must_use]
    pub fn two_way(&self) -> Option<Nanos> {
        let HostTimes { t3, t5, .. } = self.host?;
        Some(two_way(self.t7 - self.t1, self.receiving, t5 - t3))
    }

    /// PPT_up and PPT_down, where the host's kernel stamped both packets.
    #[must_use]
    pub fn halves(&self) -> Option<(Nanos, Nanos)> {
        self.host.as_ref().and_then(HostTimes::halves)
    }
}

impl HostTimes {
    /// PPT_up and PPT_down, where both packets' times at the host's data link are known.
    #[must_use]
    pub fn halves(&self) -> Option<(Nanos, Nanos)> {
        Some((self.t3 - self.arrived?, self.departed? - self.t5))
    }
}

/// Fewest echoes of which a median gets an interval: of fewer, not even the whole range holds the true median in
/// 95 % of all samples.
const FEWEST: usize = 6;

/// What the echoes tell.
#[must_use]
pub fn report(echoes: &[Echo]) -> Report {
    let gaps = all(echoes, |echo| Some(echo.t7 - echo.t1));
    let known = echoes.iter().filter(|echo| echo.host.is_some()).count();
    let mut report = Report::new(NAME, Vantage::Capture).with(Quantity::TapGap, median(&gaps, ""));
    let without = "the host told no times of its own (t3, t5)";
    let answers = all(echoes, |echo| echo.host.map(|host| host.t5 - host.t3));
    report = report.with(Quantity::AnswerTime, median(&answers, without));
    let both = all(echoes, Echo::two_way);
    let half: Vec<f64> = both.iter().map(|time| time / 2.0).collect();
    let tapped = all(echoes, |echo| Some(echo.t7 - echo.t1 - echo.receiving));
    for (quantity, times, share) in [(Quantity::TwoWayPpt, &both, 1.0), (Quantity::PptAverage, &half, 0.5)] {
        let finding = match (known, estimate(&tapped)) {
            (0, Some(most)) => {
                let why = format!("{without}; t5 - t3 is taken as nothing, which it is not");
                Finding::at_most(most.high * share, Unit::Ns, why)
            }
            _ => median(times, without),
        };
        report = report.with(quantity, finding);
    }
    halves(report, echoes)
}

/// The two halves apart, and what becomes of the assumption that they are alike.
fn halves(report: Report, echoes: &[Echo]) -> Report {
    let without = "the host's kernel stamps, arrival or departure, are not known";
    let up = all(echoes, |echo| echo.halves().map(|halves| halves.0));
    let down = all(echoes, |echo| echo.halves().map(|halves| halves.1));
    let difference = all(echoes, |echo| echo.halves().map(|(up, down)| up - down));
    let mut report = report
        .with(Quantity::PptUp, median(&up, without))
        .with(Quantity::PptDown, median(&down, without))
        .with(Quantity::PptAsymmetry, median(&difference, without));
    if let (Some(up), Some(down), Some(difference)) = (estimate(&up), estimate(&down), estimate(&difference))
    {
        let time = Nanos::from_f64;
        let [value, low, high] = [difference.value, difference.low, difference.high].map(time);
        let verdict = if difference.holds(0.0) {
            format!(
                "the halves may be equal here, as the paper assumes: up minus down is {value} ({low} to {high})"
            )
        } else {
            let longer = if difference.value > 0.0 { "up" } else { "down" };
            format!(
                "the assumption of equal halves does not hold here: up takes {}, down {}; the way {longer} is longer \
                 by {} ({} to {}), so read ppt_up and ppt_down, not their mean",
                time(up.value),
                time(down.value),
                value.abs(),
                low.abs().min(high.abs()),
                low.abs().max(high.abs()),
            )
        };
        report.warnings.push(verdict);
    }
    let negative = echoes.iter().filter_map(Echo::two_way).filter(|time| *time < Nanos::ZERO).count();
    if negative > 0 {
        report.warnings.push(format!(
            "{negative} of {} echoes took less from the tap's request to its reply than the host took to answer: t3 \
             lies before the tap, or the clocks run at different rates; these are no processing times",
            echoes.len()
        ));
    }
    report
}

/// One time of each echo, in ascending order.
fn all(echoes: &[Echo], time: impl Fn(&Echo) -> Option<Nanos>) -> Vec<f64> {
    sorted(&echoes.iter().filter_map(time).map(Nanos::as_f64).collect::<Vec<_>>())
}

fn estimate(ascending: &[f64]) -> Option<Estimate> {
    if ascending.len() < FEWEST { None } else { quantile_interval(ascending, 0.5) }
}

fn median(ascending: &[f64], without: &str) -> Finding {
    match estimate(ascending) {
        Some(Estimate { value, low, high }) => Finding::nanos(value, low, high),
        None if ascending.is_empty() => {
            Finding::unmeasurable(if without.is_empty() { "no echo" } else { without })
        }
        None => Finding::unmeasurable(format!("{} echoes, and an interval takes {FEWEST}", ascending.len())),
    }
}
