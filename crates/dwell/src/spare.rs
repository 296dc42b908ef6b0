//! No file that is written overwrites one that is read.

use crate::failure::bad_argument;
use anyhow::{Result, anyhow, bail};
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf, absolute};

/// Refuses to write over what is read, a file or a folder with all that is in it, or over another file that is written.
pub(crate) fn spare(read: &[&Path], written: &[&Path]) -> Result<()> {
    let mut taken: Vec<PathBuf> = read.iter().map(|file| real(file)).collect();
    for file in written {
        if file.as_os_str() == "-" {
            bail!(bad_argument(anyhow!("- is standard output, where no file goes; ./- would be a file")));
        }
        // A device takes what several give.
        if fs::metadata(file).is_ok_and(|found| !found.is_file()) {
            continue;
        }
        let place = real(file);
        if is_capture(&place) {
            let text = "is a capture and would be overwritten; give another name";
            bail!(bad_argument(anyhow!("{} {text}", file.display())));
        }
        if taken.iter().any(|taken| place.starts_with(taken) || is_one(&place, taken)) {
            bail!(bad_argument(anyhow!("{} would be overwritten; give another name", file.display())));
        }
        taken.push(place);
    }
    Ok(())
}

/// Whether a file begins as pcap, of either byte order and resolution, or pcapng: nothing that Dwell tells replaces what was captured.
fn is_capture(file: &Path) -> bool {
    const MAGICS: [u32; 5] = [0xa1b2_c3d4, 0xd4c3_b2a1, 0xa1b2_3c4d, 0x4d3c_b2a1, 0x0a0d_0d0a];
    let mut magic = [0; 4];
    let read = File::open(file).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && MAGICS.contains(&u32::from_be_bytes(magic))
}

/// Where a file is or will be, by whatever name.
fn real(file: &Path) -> PathBuf {
    let whole = fs::canonicalize(file);
    let beside = || {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(fs::canonicalize(folder).ok()?.join(file.file_name()?))
    };
    whole.ok().or_else(beside).or_else(|| absolute(file).ok()).unwrap_or_else(|| file.to_owned())
}

/// Whether two names are links to one file.
pub(crate) fn is_one(one: &Path, other: &Path) -> bool {
    let file = |path: &Path| fs::metadata(path).ok().filter(fs::Metadata::is_file);
    file(one)
        .zip(file(other))
        .is_some_and(|(one, other)| (one.dev(), one.ino()) == (other.dev(), other.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_read_or_written_is_not_written_over_by_whatever_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("store")).expect("made");
        fs::write(at("store/day.sqlite"), "").expect("written");
        fs::write(at("a.pcap"), "").expect("written");
        symlink(at("a.pcap"), at("link.csv")).expect("linked");
        fs::hard_link(at("a.pcap"), at("other.csv")).expect("linked");
        symlink(at("store"), at("way")).expect("linked");
        let told = |read: &str, written: &[&str]| {
            let written: Vec<PathBuf> = written.iter().map(|name| at(name)).collect();
            let written: Vec<&Path> = written.iter().map(PathBuf::as_path).collect();
            spare(&[&at(read)], &written).map_err(|error| error.to_string())
        };
        for (read, written) in [
            ("a.pcap", &["a.pcap"][..]),
            ("a.pcap", &["link.csv"]),
            ("a.pcap", &["other.csv"]),
            ("store", &["a.pcap", "other.csv"]),
            ("a.pcap", &["store/../a.pcap"]),
            ("store", &["store/day.sqlite"]),
            ("way", &["store/new.csv"]),
            ("store", &["way/new.csv"]),
            ("a.pcap", &["new", "store/../new"]),
        ] {
            let told = told(read, written).expect_err(read);
            assert!(told.contains("would be overwritten"), "{read} {written:?}: {told}");
        }
        assert_eq!(told("a.pcap", &["a.csv", "b.csv", "store/c.csv"]), Ok(()));
        let device = Path::new("/dev/null");
        spare(&[], &[device, device]).expect("a device takes all");
        assert!(spare(&[], &[Path::new("-")]).is_err());
    }
}
