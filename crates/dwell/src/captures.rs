//! Captures of one place, as every verb reads them.

use crate::failure::{bad_argument, is_misnamed};
use crate::figure::counted;
use anyhow::{Error, Result, anyhow};
use dwell_core::Nanos;
use dwell_core::capture::{Captured, LinkType, ReadError};
use dwell_core::inside::grouped;
use dwell_core::tcp::Seen;
use dwell_core::tcp::dissect::{Skipped, Tally};
use dwell_net::capture::{Account, End, Merged};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Captures of one place, open: to be read as one, in the order of their packets' times.
pub(crate) struct Captures<'a> {
    files: &'a [PathBuf],
    opened: Merged,
}

impl<'a> Captures<'a> {
    /// Opens all, `-` being standard input.
    pub(crate) fn open(files: &'a [PathBuf]) -> Result<Self> {
        let opened = Merged::open(files).map_err(|(which, error)| failed(&files[which], error))?;
        Ok(Self { files, opened })
    }

    /// Calls `see` with each packet, and tells what is wrong with the captures.
    pub(crate) fn each(self, see: &mut impl FnMut(Captured<'_>)) -> Result<Vec<String>> {
        let read = self.opened.each(see);
        let accounts = read.map_err(|(which, error)| failed(&self.files[which], error))?;
        Ok(self.files.iter().zip(&accounts).flat_map(|(file, account)| remarks(file, account)).collect())
    }
}

/// What of the packets was of no use, by reason; of links that are not known their numbers too, of pcap's registry.
pub(crate) fn skipped(seen: &[Seen]) -> Option<String> {
    let all = seen.iter().fold(Tally::default(), |sum, seen| sum.with(&seen.skipped));
    let links: BTreeSet<LinkType> = seen.iter().flat_map(|seen| seen.unknown_links.iter().copied()).collect();
    let links: Vec<String> = links.iter().map(|link| link.0.to_string()).collect();
    let told = |(reason, count)| match reason {
        Skipped::UnknownLink => format!("{} {reason} (type {})", grouped(count), links.join(", ")),
        _ => format!("{} {reason}", grouped(count)),
    };
    let told: Vec<String> = all.iter().map(told).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// A name that stands for nothing, or for no capture, is a mistake in the arguments; what a capture holds is not.
pub(crate) fn failed(file: &Path, error: ReadError) -> Error {
    let is_misnamed = match &error {
        ReadError::Unreadable(error) => is_misnamed(error),
        ReadError::NoCapture | ReadError::Compressed => true,
        ReadError::Empty
        | ReadError::Timeless { .. }
        | ReadError::CutOff { .. }
        | ReadError::Damaged { .. } => false,
    };
    let failure = anyhow!("{} {error}", file.display());
    if is_misnamed { bad_argument(failure) } else { failure }
}

fn remarks(file: &Path, account: &Account) -> Vec<String> {
    let (name, packets) = (file.display(), counted(account.packets, "whole packet"));
    let end = match account.end {
        End::Whole => None,
        End::CutOff => Some(format!("{name} is cut off after {packets}")),
        End::Damaged => Some(format!("{name} is damaged after {packets}")),
        End::Replaced => Some(format!(
            "{name} was gone, or another capture, when its packets were due: none of it was read"
        )),
    };
    let timeless = (account.timeless > 0).then(|| {
        format!(
            "{name}: {} without a time, or with one that cannot be, of no use",
            counted(account.timeless, "packet")
        )
    });
    let coarse = (account.coarsest > Nanos::from_micros(1)).then(|| {
        let unit = account.coarsest;
        format!(
            "{name} has times in units of {unit}: each half can be off by as much, also where it is exact"
        )
    });
    end.into_iter().chain(timeless).chain(coarse).collect()
}
