//! Watching captures: all of them are of one place.

use super::account::Account;
use super::output::{Outputs, Targets};
use super::taken::{Figures, Taken};
use crate::captures::Captures;
use anyhow::Result;
use dwell_core::capture::Captured;
use dwell_core::tcp::Observed;
use std::path::PathBuf;

pub(super) fn watch(
    files: &[PathBuf],
    mut observed: Observed,
    targets: &Targets,
) -> Result<(Figures, Account)> {
    // Where one cannot be read, nothing is overwritten.
    let captures = Captures::open(files)?;
    let mut taken = Taken::by(Outputs::open(targets)?);
    let mut written = Ok(());
    let remarks = captures.each(&mut |captured: Captured<'_>| {
        observed.see(&captured, &mut |handshake| keep(&mut written, || taken.handshake(&handshake)));
        if let Some(told) = observed.round_trips() {
            told.for_each(|told| keep(&mut written, || taken.round_trips(&told)));
        }
    })?;
    observed.last_round_trips().for_each(|told| keep(&mut written, || taken.round_trips(&told)));
    let seen = observed.finish(&mut |handshake| keep(&mut written, || taken.handshake(&handshake)));
    // Where one output failed, the others come to their ends.
    let figures = taken.finish();
    written?;
    Ok((figures?, Account { seen: vec![seen], live: None, remarks }))
}

/// Goes on until the first failure, which stays.
fn keep(so_far: &mut Result<()>, next: impl FnOnce() -> Result<()>) {
    if so_far.is_ok() {
        *so_far = next();
    }
}
