//! No file that is written overwrites one that is read, and none is read twice.

use crate::failure::bad_argument;
use anyhow::{Result, anyhow, bail};
use std::collections::{HashMap, HashSet};
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

/// Refuses what is read twice, by one name or by two of a file.
pub(crate) fn once<'a>(read: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    let (mut names, mut files) = (HashSet::new(), HashMap::new());
    for name in read {
        if !names.insert(name) {
            bail!("{} is given twice", name.display());
        }
        if let Some(other) = inode(name).and_then(|inode| files.insert(inode, name)) {
            let (name, other) = (name.display(), other.display());
            bail!("{name} is given twice, as {other} as well");
        }
    }
    Ok(())
}

/// Whether two names are links to one file.
fn is_one(one: &Path, other: &Path) -> bool {
    inode(one).is_some_and(|one| inode(other) == Some(one))
}

/// Which file this is, if it is one.
fn inode(name: &Path) -> Option<(u64, u64)> {
    let file = fs::metadata(name).ok().filter(fs::Metadata::is_file);
    file.map(|file| (file.dev(), file.ino()))
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

    #[test]
    fn nothing_is_read_twice_by_whatever_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "").expect("written");
        fs::write(at("b"), "").expect("written");
        fs::hard_link(at("a"), at("linked")).expect("linked");
        symlink(at("b"), at("way")).expect("linked");
        let told = |names: &[&str]| {
            let names: Vec<PathBuf> = names.iter().map(|name| at(name)).collect();
            once(names.iter().map(PathBuf::as_path)).map_err(|error| error.to_string())
        };
        assert_eq!(told(&["a", "b", "none", "other"]), Ok(()));
        let as_well = |name: &str, other: &str| {
            let (name, other) = (at(name), at(other));
            Err(format!("{} is given twice, as {} as well", name.display(), other.display()))
        };
        assert_eq!(told(&["a", "b", "linked"]), as_well("linked", "a"));
        assert_eq!(told(&["way", "a", "b"]), as_well("b", "way"));
        for name in ["a", "none"] {
            assert_eq!(told(&[name, "b", name]), Err(format!("{} is given twice", at(name).display())));
        }
    }
}
