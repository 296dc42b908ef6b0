//! A lab's check as a small table.

use super::checked::LabCheck;
use super::delivered::{Delivered, Spread};
use crate::salvo::SMALLEST;
use dwell_core::Nanos;
use std::fmt::{self, Display};

impl LabCheck {
    /// In one line, for a result to carry.
    #[must_use]
    pub fn in_brief(&self) -> String {
        let off = |name: &str, times: Option<Delivered>| {
            let error = times?.error?;
            Some(format!("{name} off by {} ({} to {})", error.median, error.p25, error.p75))
        };
        let rate = self.rate_delivered.zip(self.rate_asked).map(|(got, asked)| format!("{got} of {asked}"));
        let held = off("hold", self.nic.as_ref().map(|nic| nic.held));
        let parts = [rate, off("gap", self.dispersion), off("one-way delay", self.one_way_delay), held];
        let rest = [
            format!("{} packets/s", self.packets_per_second),
            format!("{} lost by the lab of {}", self.lost_otherwise, self.sent),
        ];
        parts.into_iter().flatten().chain(rest).collect::<Vec<_>>().join(", ")
    }
}

impl Display for LabCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { carriage, cores, .. } = self;
        let priority = if self.real_time { "real-time" } else { "ordinary" };
        writeln!(f, "lab `{}`: {carriage}, {cores}, {priority} priority", self.scenario)?;
        row(f, "", &["asked", "delivered", "error: median", "quartiles"])?;
        let rate = |rate: Option<dwell_core::BitRate>| rate.map_or("-".to_owned(), |rate| rate.to_string());
        row(f, "rate", &[&rate(self.rate_asked), &rate(self.rate_delivered), "", ""])?;
        for (name, times) in [
            (format!("gap of 2 x {}", self.size), self.dispersion),
            (format!("gap of 2 x {}", SMALLEST), self.smallest_dispersion),
            (format!("one-way delay, {}", self.size), self.one_way_delay),
            ("large minus small packet".to_owned(), self.size_against_delay),
            ("jitter (quartile range)".to_owned(), self.jitter),
        ] {
            if let Some(times) = times {
                times_row(f, &name, times)?;
            }
        }
        if let Some(nic) = &self.nic {
            times_row(f, "held by the NIC", nic.held)?;
            if let Some(spread) = nic.batch_spread {
                let batches = format!("{} batches, first to last", nic.batches);
                let asked = Spread::of([Nanos::ZERO]);
                times_row(f, &batches, Delivered { asked, delivered: spread, error: Some(spread) })?;
            }
        }
        writeln!(
            f,
            "{} packets sent, {} lost as asked, {} lost otherwise",
            self.sent, self.lost_as_asked, self.lost_otherwise
        )?;
        writeln!(
            f,
            "{} small packets/s carried; the lab's own threads took {} for each, {:.0} % of a core",
            self.packets_per_second,
            self.cost_per_packet,
            self.own_share * 100.0
        )?;
        for caution in &self.cautions {
            writeln!(f, "  caution: {caution}")?;
        }
        for verdict in &self.verdicts {
            let mark = if verdict.carried { "carried" } else { "for the simulator alone" };
            writeln!(f, "  {}: {mark} ({})", verdict.condition, verdict.reason)?;
        }
        Ok(())
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, cells: &[&str; 4]) -> fmt::Result {
    let [asked, delivered, error, quartiles] = cells;
    let line = format!("  {name:<26}{asked:>12}{delivered:>14}{error:>16}  {quartiles}");
    writeln!(f, "{}", line.trim_end())
}

fn times_row(f: &mut fmt::Formatter<'_>, name: &str, times: Delivered) -> fmt::Result {
    let median = |spread: Option<Spread>| spread.map_or("-".to_owned(), |spread| spread.median.to_string());
    let spread = times.error.unwrap_or(times.delivered);
    let quartiles = if spread.width().0 == 0 && times.error.is_none_or(|error| error.width().0 == 0) {
        String::new()
    } else if times.error.is_some() {
        format!("{} to {}", spread.p25, spread.p75)
    } else {
        format!("delivered {} to {}", spread.p25, spread.p75)
    };
    row(
        f,
        name,
        &[&median(times.asked), &times.delivered.median.to_string(), &median(times.error), &quartiles],
    )
}
