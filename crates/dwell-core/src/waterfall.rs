//! Interim.
use crate::report::{Finding, Quantity, Report};
use crate::train::PathFacts;
/// p
pub struct Part {
    /// q
    pub quantity: Quantity,
    /// s
    pub start: f64,
    /// f
    pub finding: Finding,
}
/// w
pub struct Waterfall {
    /// p
    pub parts: Vec<Part>,
    /// w
    pub whole: Finding,
}
impl Waterfall {
    /// n
    pub fn new(knee: &Report, delay: &Report, facts: &PathFacts) -> Self {
        let mut start = 0.0;
        let mut parts = vec![];
        let mut add = |quantity, finding: Finding| {
            let l = finding.estimate().unwrap_or(0.0);
            parts.push(Part { quantity, start, finding });
            start += l;
        };
        add(Quantity::SenderHost, delay.finding(Quantity::SenderHost));
        let wire = delay.finding(Quantity::OneWayDelay).estimate().unwrap_or(0.0);
        let end = facts.end_link.map_or(0.0, |c| c.time_for(facts.min_size).as_f64());
        add(Quantity::Path, Finding::nanos(wire - end, wire - end, wire - end));
        add(Quantity::EndLink, Finding::nanos(end, end, end));
        let a = knee.finding(Quantity::ApplicationStage);
        let k = delay.finding(Quantity::PptHeading).estimate().unwrap_or(0.0) - a.estimate().unwrap_or(0.0);
        add(Quantity::KernelStage, Finding::at_most(k, crate::report::Unit::Ns, "interim"));
        add(Quantity::ApplicationStage, a);
        Self { parts, whole: delay.finding(Quantity::ApparentOneWayDelay) }
    }
    /// d
    pub fn dominant(&self) -> Option<(&Part, f64)> {
        let w = self.whole.estimate()?;
        let p = self.parts.iter().max_by(|a, b| {
            a.finding.estimate().unwrap_or(0.0).total_cmp(&b.finding.estimate().unwrap_or(0.0))
        })?;
        Some((p, p.finding.estimate()? / w))
    }
}
