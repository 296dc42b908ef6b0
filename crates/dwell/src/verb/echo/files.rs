//! Echoes out of capture files.

use super::EchoArgs;
use super::heard::{Heard, Told};
use crate::captures::failed;
use anyhow::Result;
use dwell_core::capture::{Captured, ReadError, each_packet};
use dwell_core::echo::{Asked, Exchanges};
use std::fs::File;
use std::io::{self, Error, ErrorKind};
use std::path::Path;

/// What the tap's file and the host's hold together.
pub(super) fn hear(args: &EchoArgs, tap: &Path) -> Result<Heard> {
    let mut warnings = Vec::new();
    let tap = read(tap, args.asked(), &mut warnings)?;
    let host =
        args.at_host.as_deref().map(|host| read(Path::new(host), args.asked(), &mut warnings)).transpose()?;
    let mut heard = Heard::of(args, "record", tap, host)?;
    heard.warnings.extend(warnings);
    Ok(heard)
}

fn read(file: &Path, asked: Asked, warnings: &mut Vec<String>) -> Result<Told> {
    let mut exchanges = Exchanges::new(asked);
    let name = each_packet_of(file, warnings, |packet| exchanges.hear(packet))?;
    let (seen, tally) = exchanges.finish();
    Ok((name, seen, tally))
}

/// The packets of one file, and its name; what is whole of it is used.
pub(super) fn each_packet_of(
    file: &Path,
    warnings: &mut Vec<String>,
    mut hear: impl FnMut(&Captured<'_>),
) -> Result<String> {
    let name = file.display().to_string();
    let open = || -> io::Result<File> {
        let file = File::open(file)?;
        // A pipe or a device might never end.
        let is_file = file.metadata()?.is_file();
        is_file.then_some(file).ok_or_else(|| Error::new(ErrorKind::InvalidInput, "it is not a file"))
    };
    let from = open().map_err(|error| failed(file, error.into()))?;
    let read = each_packet(from, |packet| {
        hear(&packet);
        Ok::<(), ReadError>(())
    });
    match read {
        Ok(()) => {}
        Err(ReadError::CutOff { whole }) => {
            warnings.push(format!("{name} is cut off after {whole} whole packets, which are used"));
        }
        Err(ReadError::Damaged { whole }) if whole > 0 => {
            warnings.push(format!("{name} is damaged after {whole} whole packets, which are used"));
        }
        Err(error) => return Err(failed(file, error)),
    }
    Ok(name)
}
