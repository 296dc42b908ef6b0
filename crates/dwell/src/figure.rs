//! Figures with their units, as people read them.

use dwell_core::inside::grouped;
use dwell_core::nic::Kind;
use dwell_core::{BitRate, Bytes, Effort, Finding, Nanos, Side, Unit};

/// A figure with its unit.
pub(crate) fn figure(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ns => Nanos::from_f64(value).to_string(),
        Unit::Bps => BitRate(value.max(0.0).round() as u64).to_string(),
        Unit::Ppm => format!("{value:.3} ppm"),
        Unit::Ratio => share(value),
        Unit::Bytes => Bytes(value.max(0.0).round() as u64).to_string(),
        Unit::Flag => (if value == 0.0 { "no" } else { "yes" }).to_owned(),
        Unit::Kind => Kind::of_code(value).map_or_else(|| "?".to_owned(), |kind| kind.to_string()),
    }
}

/// So many of what has this name: `1 packet`, `2,000 packets`.
pub(crate) fn counted(count: u64, name: &str) -> String {
    format!("{} {name}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A figure with its unit, and with digits enough to see an interval of `width`: the offset of two clocks is known to microseconds of seconds.
fn sized(value: f64, width: f64, unit: Unit) -> String {
    let decimals = match width {
        1.0..1e6 => Some(6),
        1e6..1e8 => Some(3),
        _ => None,
    };
    match decimals.filter(|_| unit == Unit::Ns && value.abs() >= 1e9) {
        Some(decimals) => format!("{:.decimals$}", Nanos::from_f64(value)),
        None => figure(value, unit),
    }
}

/// A share of one, in per cent.
pub(crate) fn share(value: f64) -> String {
    let percent = value * 100.0;
    if percent.abs() < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// A finding in two cells: what was found, and how sure that is or why it is no more.
pub(crate) fn cells(finding: &Finding) -> [String; 2] {
    match finding {
        Finding::Value { value, unit, .. } if unit.is_named() => [figure(*value, *unit), String::new()],
        // A span that was kept, or a share that was counted, is no estimate.
        Finding::Value { value, low, high, unit } if low == high => [figure(*value, *unit), String::new()],
        Finding::Value { value, low, high, unit } => {
            let shown = |figure| sized(figure, high - low, *unit);
            [shown(*value), format!("{} to {}", shown(*low), shown(*high))]
        }
        Finding::Bound { bound, side, unit, reason } => {
            let side = match side {
                Side::Upper => "at most",
                Side::Lower => "at least",
            };
            [format!("{side} {}", figure(*bound, *unit)), reason.clone()]
        }
        Finding::Unmeasurable { reason } => ["not measurable".to_owned(), reason.clone()],
    }
}

/// What a run cost, as a line. Its time is that of the sender: nobody waits for answers in it.
pub(crate) fn cost(effort: &Effort, end_link: Option<BitRate>) -> String {
    let load = end_link.and_then(|link| effort.share_of(link));
    let load = load.map(|load| format!(", {} of the end link", share(load))).unwrap_or_default();
    format!("{}, {:.1} s of sending{load}", sent(effort), effort.span.as_secs_f64())
}

/// What a run sent, as the beginning of that line.
pub(crate) fn sent(effort: &Effort) -> String {
    let lost =
        if effort.lost == 0 { "none lost".to_owned() } else { format!("{} lost", grouped(effort.lost)) };
    format!(
        "{} of {} ({lost}), {}",
        counted(effort.probes, "probe"),
        counted(effort.packets, "packet"),
        counted(effort.bytes.0, "byte")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        let effort = Effort { probes: 1, packets: 1, bytes: Bytes(1), ..Effort::default() };
        assert_eq!(cost(&effort, None), "1 probe of 1 packet (none lost), 1 byte, 0.0 s of sending");
    }

    #[test]
    fn figures_read_well() {
        assert_eq!(figure(31_400.0, Unit::Ns), "31.4 us");
        assert_eq!(figure(1e8, Unit::Bps), "100 Mb/s");
        assert_eq!(figure(0.02, Unit::Ratio), "2.0 %");
        let offset = Finding::nanos(1.500_312e9, 1.500_302e9, 1.500_322e9);
        assert_eq!(cells(&offset), ["1.500312 s", "1.500302 s to 1.500322 s"]);
        let far = Finding::nanos(-3.250_542e9, -3.255_6e9, -3.245_6e9);
        assert_eq!(cells(&far), ["-3.251 s", "-3.256 s to -3.246 s"]);
        let counted = Finding::nanos(1.093_412_345e9, 1.093_412_345e9, 1.093_412_345e9);
        assert_eq!(cells(&counted), ["1.1 s", ""]);
        assert_eq!(cells(&Finding::at_most(67_200.0, Unit::Ns, "smallest dispersion"))[0], "at most 67.2 us");
    }
}
