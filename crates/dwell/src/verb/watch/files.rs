//! Watching captures: all of them are of one place.

use super::account::Account;
use super::output::Outputs;
use super::taken::{Figures, Taken};
use anyhow::{Context, Result, anyhow};
use dwell_core::capture::Captured;
use dwell_core::tcp::Observed;
use dwell_net::capture::{self, End, File, Merged};
use std::path::{Path, PathBuf};

pub(super) fn watch(
    files: &[PathBuf],
    mut observed: Observed,
    outputs: Outputs,
) -> Result<(Figures, Account)> {
    let open = |file: &PathBuf| File::open(file).map_err(|error| anyhow!("{} {error}", file.display()));
    let mut opened = files.iter().map(open).collect::<Result<Vec<_>>>()?;
    let mut taken = Taken::by(outputs);
    let mut written = Ok(());
    let mut see = |captured: Captured<'_>| {
        observed.see(&captured, &mut |handshake| keep(&mut written, || taken.handshake(&handshake)));
        observed.round_trips().for_each(|told| keep(&mut written, || taken.round_trips(&told)));
    };
    let failed = |file: &Path, error| anyhow!("{} {error}", file.display());
    let accounts = if let [one] = &mut opened[..] {
        vec![one.each(&mut see).map_err(|error| failed(&files[0], error))?]
    } else {
        let read = Merged::of(opened).each(&mut see);
        read.map_err(|(which, error)| failed(&files[which], error))?
    };
    observed.last_round_trips().for_each(|told| keep(&mut written, || taken.round_trips(&told)));
    let seen = observed.finish(&mut |handshake| keep(&mut written, || taken.handshake(&handshake)));
    written.context("cannot write what was found")?;
    let figures = taken.finish()?;
    let remarks = files.iter().zip(&accounts).flat_map(|(file, account)| remarks(file, account)).collect();
    Ok((figures, Account { seen: vec![seen], live: None, remarks }))
}

/// Goes on until the first failure, which stays.
fn keep(so_far: &mut Result<()>, next: impl FnOnce() -> Result<()>) {
    if so_far.is_ok() {
        *so_far = next();
    }
}

/// What is wrong with a capture.
fn remarks(file: &Path, account: &capture::Account) -> Vec<String> {
    let (name, packets) = (file.display(), account.packets);
    let end = match account.end {
        End::Whole => None,
        End::CutOff => Some(format!("{name} is cut off after {packets} whole packets")),
        End::Damaged => Some(format!("{name} is damaged after {packets} whole packets")),
    };
    let timeless = (account.timeless > 0)
        .then(|| format!("{name}: {} packets have no time, and are of no use", account.timeless));
    end.into_iter().chain(timeless).collect()
}
