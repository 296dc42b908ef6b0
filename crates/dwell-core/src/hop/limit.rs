//! What limits the path, by what its hops tell.

use crate::limit::{Limit, Verdict};
use crate::report::Finding;

/// The limit where `narrow` was found of the link in front of `hop`. A host that makes no faster packets than the path
/// passes on finds no link.
pub(super) fn limit(hop: Option<u8>, narrow: &Finding, is_sender_limited: bool) -> Verdict {
    let place = hop.map_or_else(String::new, |hop| format!(" in front of hop {hop}"));
    let (limit, reason) = match narrow {
        Finding::Value { .. } => {
            (Limit::Link, format!("the link{place} is the narrowest up to the last hop that answers"))
        }
        Finding::Bound { reason, .. } => {
            (Limit::Link, format!("the link{place} is the narrowest that is known; {reason}"))
        }
        Finding::Unmeasurable { .. } if is_sender_limited => (
            Limit::SenderLimited,
            "packets left this host as far apart as the messages about them came".to_owned(),
        ),
        Finding::Unmeasurable { reason } => (Limit::Unstable, reason.clone()),
    };
    Verdict { limit, reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Unit;

    #[test]
    fn a_link_is_told_where_one_is_known_and_else_the_sender_or_none() {
        let told = |narrow: Finding, is_sender_limited| limit(Some(2), &narrow, is_sender_limited);
        let link = told(Finding::value(1e8, 9e7, 1.1e8, Unit::Bps), true);
        assert_eq!(link.limit, Limit::Link);
        assert!(link.reason.contains("in front of hop 2"), "{link}");
        let bound = told(Finding::at_most(1e8, Unit::Bps, "hop 3 is not known"), false);
        assert!(bound.limit == Limit::Link && bound.reason.ends_with("hop 3 is not known"), "{bound}");
        let none = || Finding::unmeasurable("nobody answers");
        assert_eq!(told(none(), true).limit, Limit::SenderLimited);
        assert_eq!(told(none(), false), Verdict { limit: Limit::Unstable, reason: "nobody answers".into() });
    }
}
