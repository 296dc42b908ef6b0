//! What the counters of links say, as a line.

use crate::figure::share;
use dwell_core::BitRate;
use dwell_core::truth::{LinkUse, Usage};

/// What was really free; `None`: no link of the path is limited.
pub(crate) fn counted(used: &Usage) -> Option<String> {
    let (tight, narrow) = (used.tight()?, used.narrow()?);
    let rate = |bps: f64| BitRate(bps.round() as u64).to_string();
    let carries = |link: &LinkUse| match (link.alone(), link.capacity) {
        (Some(all), Some(one)) if link.share < 1.0 => {
            let share = share(link.share);
            format!(
                ", which carries {} on parallel links, this one {one} and {share} of the packets",
                rate(all)
            )
        }
        (Some(all), _) => format!(", which carries {}", rate(all)),
        (None, _) => String::new(),
    };
    let narrow = if narrow.link == tight.link {
        String::new()
    } else {
        format!("; the narrowest is link {}{}", narrow.link, carries(narrow))
    };
    Some(format!(
        "The links' counters: {} free on link {}{}, over the {:.2} s until all had come{narrow}.\n",
        rate(tight.free()?),
        tight.link,
        carries(tight),
        used.span.as_secs_f64(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_core::Nanos;

    #[test]
    fn parallel_links_carry_more_than_one_of_them() {
        let of = |link, cross| LinkUse {
            link,
            capacity: Some(BitRate::from_mbps(100)),
            share: 0.5,
            own: 0.0,
            cross,
            offered: cross,
        };
        let used = Usage { span: Nanos::from_secs(1), links: vec![of(1, 45e6), of(1, 0.0)] };
        assert_eq!(
            counted(&used).expect("a line"),
            "The links' counters: 110 Mb/s free on link 1, which carries 200 Mb/s on parallel links, this one 100 Mb/s and 50 % of \
             the packets, over the 1.00 s until all had come.\n"
        );
    }
}
