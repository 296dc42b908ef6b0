//! One way through a lab of kernel shapers: which node each of its links hangs on.

use crate::wiring::{DOWN_PORT, UP_PORT};
use dwell_core::Direction;
use dwell_sim::LinkSpec;

/// The links of one way. Each leads from one node to the next: the first forward one begins at the first node, and the
/// last of the way back ends there.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Way<'a> {
    pub(crate) direction: Direction,
    pub(crate) links: &'a [LinkSpec],
}

impl Way<'_> {
    /// The nodes at which the link `index` begins, and the one after it that is `hops` links further ends.
    pub(crate) fn ends(&self, index: usize, hops: usize) -> [usize; 2] {
        let count = self.links.len();
        let far = (index + hops.max(1)).min(count);
        match self.direction {
            Direction::Forward => [index, far],
            Direction::Reverse => [count - index, count - far],
        }
    }

    /// The port by which a node sends what goes this way.
    pub(crate) fn port(&self) -> &'static str {
        match self.direction {
            Direction::Forward => DOWN_PORT,
            Direction::Reverse => UP_PORT,
        }
    }

    pub(crate) fn has_cross(&self) -> bool {
        self.links.iter().any(|link| !link.cross.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_link_leads_from_node_to_node() {
        let links = vec![LinkSpec::new(None); 3];
        let forward = Way { direction: Direction::Forward, links: &links };
        assert_eq!([0, 1, 2].map(|index| forward.ends(index, 1)), [[0, 1], [1, 2], [2, 3]]);
        assert_eq!(forward.ends(1, 9), [1, 3]);
        let reverse = Way { direction: Direction::Reverse, links: &links };
        assert_eq!([0, 1, 2].map(|index| reverse.ends(index, 1)), [[3, 2], [2, 1], [1, 0]]);
        assert_eq!(reverse.ends(0, 2), [3, 1]);
    }
}
