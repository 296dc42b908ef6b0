//! Rules for cross traffic.

use super::problem::Problem;
use crate::link::{LinkSpec, QueueLimit};
use crate::traffic::{CrossKind, CrossSpec, Offered, ParetoSpec, TcpSpec};
use dwell_core::{Bytes, Nanos};
use std::ops::RangeInclusive;

const SIZE: RangeInclusive<Bytes> = Bytes(1)..=Bytes(65_561);
const PERIOD: RangeInclusive<Nanos> = Nanos(1_000)..=Nanos::from_secs(3_600);

/// The mean bits per second of the flow `cross`, written at `here`, that enters at the first of `links`.
pub(super) fn offered(here: &str, cross: &CrossSpec, links: &[LinkSpec]) -> Result<f64, Problem> {
    let problem = |key: &str, problem: String| Err((format!("{here}.{key}"), problem));
    if !(1..=links.len()).contains(&cross.hops) {
        let most = links.len();
        return problem("hops", format!("{} is out of range: from this link on, 1 to {most}", cross.hops));
    }
    sizes(here, cross)?;
    let Some(mean) = links[0].bits_of(cross) else {
        let unshaped = "an unshaped link has no rate to take a share of; give `rate` instead";
        return problem("load", unshaped.to_owned());
    };
    match &cross.kind {
        CrossKind::Pareto(spec) => pareto(here, spec, mean, cross.sizes.mean_bits(links[0].framing))?,
        CrossKind::Capture(capture) if cross.offered == Offered::Own => {
            let narrowest = links[..cross.hops].iter().filter_map(|link| link.rate).min();
            if let Some(rate) = narrowest.filter(|rate| mean > rate.0 as f64) {
                let recorded = mean / 1e6;
                let told = format!(
                    "{} was recorded at {recorded:.3} Mb/s, and a link that it passes carries {rate}; \
                     give `load` or `rate`, and it is replayed more slowly",
                    capture.file(),
                );
                return problem("kind.capture.file", told);
            }
        }
        CrossKind::Tcp(spec) => tcp(here, cross, spec, &links[0])?,
        _ => {}
    }
    Ok(mean)
}

fn tcp(here: &str, cross: &CrossSpec, spec: &TcpSpec, link: &LinkSpec) -> Result<(), Problem> {
    let problem = |key: &str, problem: &str| Err((format!("{here}.{key}"), problem.to_owned()));
    if cross.hops != 1 {
        return problem(
            "hops",
            "a TCP connection reacts to one link; give 1, or one connection for each link",
        );
    }
    if link.rate.is_none() {
        return problem("kind.tcp", "an unshaped link has no queue that TCP could react to");
    }
    if !PERIOD.contains(&spec.rtt) {
        return problem("kind.tcp.rtt", &format!("{} is out of range: 1 us to 1 h", spec.rtt));
    }
    let endless =
        link.queue == QueueLimit::Unlimited && spec.window.is_none() && cross.offered == Offered::Own;
    if endless {
        let told =
            "would fill an unlimited queue without end; give a `window`, a `load` or the link a `queue`";
        return problem("kind.tcp", told);
    }
    Ok(())
}

fn sizes(here: &str, cross: &CrossSpec) -> Result<(), Problem> {
    let shares = cross.sizes.shares();
    let mixed = matches!(cross.sizes, crate::traffic::Sizes::Mix(_));
    if mixed && shares.is_empty() {
        return Err((format!("{here}.sizes"), "is empty; a mix needs at least one size".to_owned()));
    }
    for (number, share) in shares.iter().enumerate() {
        let key = if mixed { format!("{here}.sizes[{number}]") } else { here.to_owned() };
        if !SIZE.contains(&share.size) {
            return Err((format!("{key}.size"), format!("{} is out of range: 1 to 65561 B", share.size)));
        }
        if !(share.weight > 0.0 && share.weight.is_finite()) {
            return Err((format!("{key}.weight"), format!("is {}; it must be above 0", share.weight)));
        }
    }
    Ok(())
}

fn pareto(here: &str, spec: &ParetoSpec, mean: f64, packet_bits: f64) -> Result<(), Problem> {
    let problem = |key: &str, problem: String| Err((format!("{here}.kind.pareto.{key}"), problem));
    if !(spec.shape > 1.0 && spec.shape < 2.0) {
        return problem("shape", format!("{} is out of range: above 1 and below 2", spec.shape));
    }
    for (key, period) in [("on", Some(spec.on)), ("off", spec.off)] {
        if let Some(period) = period.filter(|period| !PERIOD.contains(period)) {
            return problem(key, format!("{period} is out of range: 1 us to 1 h"));
        }
    }
    let peak = spec.peak.0 as f64;
    if mean >= peak {
        let told =
            format!("{} is no more than the mean of {:.3} Mb/s that is asked for", spec.peak, mean / 1e6);
        return problem("peak", told);
    }
    let packet = Nanos::from_f64(packet_bits * 1e9 / peak);
    if spec.on < packet {
        return problem(
            "on",
            format!("{} is shorter than a packet takes at the peak rate, {packet}", spec.on),
        );
    }
    Ok(())
}
