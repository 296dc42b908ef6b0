//! Where a run stands in its grid: so it is named in rows and on the command line, and from it follows its seed.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// A run of a grid, written `BLOCK:CONDITION:RUN`, both counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(super) struct Place {
    /// Name of its block.
    pub(super) block: String,
    /// Its condition, in the order of the block.
    pub(super) condition: u32,
    /// Its run of that condition.
    pub(super) run: u32,
}

impl Place {
    /// The seed of this run: another one in every run, the same in every evaluation, whatever else is evaluated.
    pub(super) fn seed(&self, seed: u64) -> u64 {
        let digest = Sha256::digest(format!("{seed} {self}"));
        digest.iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.block, self.condition, self.run)
    }
}

impl From<Place> for String {
    fn from(place: Place) -> Self {
        place.to_string()
    }
}

impl TryFrom<String> for Place {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.parse()? {
            Only { block, condition: Some(condition), run: Some(run) } => Ok(Self { block, condition, run }),
            _ => Err(format!("`{text}` names no run; expected BLOCK:CONDITION:RUN")),
        }
    }
}

/// A part of a grid: `BLOCK`, `BLOCK:CONDITION` or `BLOCK:CONDITION:RUN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Only {
    pub(super) block: String,
    pub(super) condition: Option<u32>,
    pub(super) run: Option<u32>,
}

impl FromStr for Only {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let block = parts.next().unwrap_or_default().to_owned();
        let mut number = |what: &str| match parts.next() {
            None => Ok(None),
            Some(part) => part
                .parse()
                .map(Some)
                .map_err(|_| format!("`{part}` is no {what}; expected its number, counted from 0")),
        };
        let only = Self { block, condition: number("condition")?, run: number("run")? };
        match parts.next() {
            None if !only.block.is_empty() => Ok(only),
            _ => Err(format!("`{text}`: expected BLOCK, BLOCK:CONDITION or BLOCK:CONDITION:RUN")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_back() {
        let place = Place { block: "end link".to_owned(), condition: 17, run: 3 };
        assert_eq!(Place::try_from(place.to_string()), Ok(place));
        assert!(Place::try_from("end link:17".to_owned()).is_err());
    }

    #[test]
    fn parts_of_a_grid_are_named_from_the_left() {
        let only = |text: &str| text.parse::<Only>();
        assert_eq!(only("any"), Ok(Only { block: "any".to_owned(), condition: None, run: None }));
        assert_eq!(only("any:2").unwrap().condition, Some(2));
        assert!(only("any:x").unwrap_err().contains("`x` is no condition"));
        assert!(only("any:1:2:3").is_err() && only("").is_err() && only(":1").is_err());
    }

    #[test]
    fn seeds_differ_and_repeat() {
        let place = |condition, run| Place { block: "b".to_owned(), condition, run };
        let mut seeds: Vec<u64> = (0..20)
            .flat_map(|condition| (0..20).map(move |run| (condition, run)))
            .map(|(c, r)| place(c, r).seed(1))
            .collect();
        assert_eq!(seeds[21], place(1, 1).seed(1));
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 400);
        assert_ne!(place(0, 0).seed(1), place(0, 0).seed(2));
    }
}
