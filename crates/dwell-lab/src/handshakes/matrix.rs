//! What is lost of which connections.

use super::hosts::Manner;

/// A segment of a handshake.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Syn,
    SynAck,
    /// What the client sends after its SYNs: the third segment, and what stands in for it.
    Third,
}

/// A section of the path: from the client to the probe, or from there to the server.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Section {
    Near,
    Far,
}

/// In `section`, the `first` ones of a kind that come there are lost.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Loss {
    pub(super) kind: Kind,
    pub(super) section: Section,
    pub(super) first: usize,
}

/// What becomes of a connection.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) manner: Manner,
    pub(super) losses: Vec<Loss>,
}

const KINDS: [Kind; 3] = [Kind::Syn, Kind::SynAck, Kind::Third];
const SECTIONS: [Section; 2] = [Section::Near, Section::Far];

/// So many of a kind are lost at most, one after the other.
const MOST: usize = 3;

/// Every way to lose: nothing; of one kind, in one section, the first, the first two, the first three; of two or three
/// kinds the first, each in either section.
fn losses() -> Vec<Vec<Loss>> {
    let mut all = Vec::new();
    let choices = |kind| {
        let lost = SECTIONS.map(|section| Some(Loss { kind, section, first: 1 }));
        [None].into_iter().chain(lost)
    };
    for syn in choices(Kind::Syn) {
        for answer in choices(Kind::SynAck) {
            for third in choices(Kind::Third) {
                all.push([syn, answer, third].into_iter().flatten().collect());
            }
        }
    }
    for kind in KINDS {
        for section in SECTIONS {
            all.extend((2..=MOST).map(|first| vec![Loss { kind, section, first }]));
        }
    }
    all
}

/// Every manner with every loss.
pub(super) fn cases() -> Vec<Case> {
    let losses = losses();
    let with = |manner| losses.iter().map(move |losses| Case { manner, losses: losses.clone() });
    Manner::ALL.into_iter().flat_map(with).collect()
}

impl Case {
    /// How a verdict calls what is lost.
    pub(super) fn lost(&self) -> &'static str {
        match self.losses.as_slice() {
            [] => "nothing lost",
            [Loss { kind, section, first }] => {
                let of_section = match section {
                    Section::Near => NEAR,
                    Section::Far => FAR,
                };
                let of_kind = match kind {
                    Kind::Syn => &of_section[0],
                    Kind::SynAck => &of_section[1],
                    Kind::Third => &of_section[2],
                };
                of_kind[first - 1]
            }
            [_, _] => "first of two kinds lost",
            _ => "first of all three lost",
        }
    }
}

const NEAR: [[&str; MOST]; 3] = [
    ["SYN lost before the probe", "2 SYNs lost before the probe", "3 SYNs lost before the probe"],
    ["SYN/ACK lost past the probe", "2 SYN/ACKs lost past the probe", "3 SYN/ACKs lost past the probe"],
    ["ACK lost before the probe", "2 ACKs lost before the probe", "3 ACKs lost before the probe"],
];

const FAR: [[&str; MOST]; 3] = [
    ["SYN lost past the probe", "2 SYNs lost past the probe", "3 SYNs lost past the probe"],
    ["SYN/ACK lost before the probe", "2 SYN/ACKs lost before the probe", "3 SYN/ACKs lost before the probe"],
    ["ACK lost past the probe", "2 ACKs lost past the probe", "3 ACKs lost past the probe"],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_segment_is_lost_on_either_side_once_twice_and_thrice() {
        let cases = cases();
        for manner in Manner::ALL {
            for kind in KINDS {
                for section in SECTIONS {
                    for first in 1..=MOST {
                        let alone = [Loss { kind, section, first }];
                        assert!(cases.iter().any(|case| case.manner == manner && case.losses == alone));
                    }
                }
            }
        }
        let mut told: Vec<_> = cases.iter().map(Case::lost).collect();
        told.sort_unstable();
        told.dedup();
        assert_eq!(told.len(), 1 + KINDS.len() * SECTIONS.len() * MOST + 2);
    }
}
