//! What the counters of links say, as a line.

use dwell_core::BitRate;
use dwell_core::truth::{LinkUse, Usage};

/// What was really free; `None`: no link of the path is limited.
pub(crate) fn counted(used: &Usage) -> Option<String> {
    let (tight, narrow) = (used.tight()?, used.narrow()?);
    let rate = |bps: f64| BitRate(bps.round() as u64).to_string();
    let carries =
        |link: &LinkUse| link.capacity.map_or(String::new(), |rate| format!(", which carries {rate}"));
    let narrow = if narrow.link == tight.link {
        String::new()
    } else {
        format!("; the narrowest is link {}{}", narrow.link, carries(narrow))
    };
    Some(format!(
        "The links' counters: {} free on link {}{}, over the {:.2} s of the measurement{narrow}.\n",
        rate(tight.free()?),
        tight.link,
        carries(tight),
        used.span.as_secs_f64(),
    ))
}
