//! A disk that is soon full.

use std::path::Path;
use std::process::{Command, Stdio};

/// Where it is mounted, for the process that works on it.
const SMALL: &str = "DWELL_TEST_SMALL_DISK";

/// Does the work of this test on a disk of so many bytes (`64k`, `4m`), in a process of its own. Where nothing can be mounted,
/// which is so for users whom the system lets make no namespace, that is said.
pub(crate) fn on_a_small_disk(test: &str, size: &str, work: fn(&Path)) {
    if let Ok(folder) = std::env::var(SMALL) {
        return work(Path::new(&folder));
    }
    let may = |options: &&[&str]| {
        let tried = Command::new("unshare").args(*options).arg("true").stderr(Stdio::null()).status();
        tried.expect("unshare").success()
    };
    let ways: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];
    let Some(options) = ways.into_iter().find(may) else {
        return eprintln!("left out: no disk can be mounted here");
    };
    let folder = tempfile::tempdir().expect("a folder");
    // The mount is seen by the child alone, and gone with it.
    let script = format!(r#"mount -t tmpfs -o size={size} none "$0" && exec "$@""#);
    let status = Command::new("unshare")
        .args(options)
        .args(["sh", "-c", &script])
        .arg(folder.path())
        .arg(std::env::current_exe().expect("our name"))
        .args(["--exact", test])
        .env(SMALL, folder.path())
        .status()
        .expect("unshare");
    assert!(status.success());
}
