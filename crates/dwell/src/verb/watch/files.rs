//! Watching captures: all of them are of one place.

use super::account::Account;
use super::output::Outputs;
use anyhow::{Context, Result, anyhow};
use dwell_core::tcp::{Handshake, Limits, Observed, Summary};
use dwell_net::capture::{self, End, File, Merged};
use std::path::{Path, PathBuf};

pub(super) fn watch(files: &[PathBuf], limits: Limits, mut outputs: Outputs) -> Result<(Summary, Account)> {
    let open = |file: &PathBuf| File::open(file).map_err(|error| anyhow!("{} {error}", file.display()));
    let mut opened = files.iter().map(open).collect::<Result<Vec<_>>>()?;
    let (mut summary, mut observed) = (Summary::default(), Observed::new(limits));
    let mut written = Ok(());
    let mut take = |handshake: Handshake| {
        summary.add(&handshake);
        if written.is_ok() {
            written = outputs.take(&handshake);
        }
    };
    let failed = |file: &Path, error| anyhow!("{} {error}", file.display());
    let accounts = if let [one] = &mut opened[..] {
        let read = one.each(&mut |captured| observed.see(&captured, &mut take));
        vec![read.map_err(|error| failed(&files[0], error))?]
    } else {
        let read = Merged::of(opened).each(&mut |captured| observed.see(&captured, &mut take));
        read.map_err(|(which, error)| failed(&files[which], error))?
    };
    let seen = observed.finish(&mut take);
    written.and_then(|()| outputs.finish()).context("cannot write what was found")?;
    let remarks = files.iter().zip(&accounts).flat_map(|(file, account)| remarks(file, account)).collect();
    Ok((summary, Account { seen: vec![seen], live: None, remarks }))
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
