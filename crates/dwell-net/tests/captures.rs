//! Capture files: packed, cut off, damaged, and several as one.

use dwell_core::Nanos;
use dwell_core::capture::{Captured, ReadError};
use dwell_net::capture::{Account, End, File, Merged};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::OpenOptions;
use std::io::{self, Cursor, Read, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// A capture of frames of Ethernet, in microseconds.
fn capture(packets: impl IntoIterator<Item = (u32, u8)>) -> Vec<u8> {
    let mut file = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_le_bytes).concat();
    for (micros, byte) in packets {
        file.extend([micros / 1_000_000, micros % 1_000_000, 60, 60].map(u32::to_le_bytes).concat());
        file.extend([byte; 60]);
    }
    file
}

fn long() -> Vec<u8> {
    capture((0..20_000u32).map(|n| (n * 3, (n.wrapping_mul(2_654_435_761) >> 24) as u8)))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).expect("memory");
    packed.finish().expect("memory")
}

fn read(bytes: Vec<u8>) -> Result<(Vec<(i128, u8)>, Account), ReadError> {
    let mut packets = Vec::new();
    let account = File::of(Cursor::new(bytes))?
        .each(&mut |packet: Captured<'_>| packets.push((packet.at, packet.bytes[0])))?;
    assert_eq!(account.packets - account.timeless, packets.len() as u64);
    Ok((packets, account))
}

#[test]
fn packed_or_not_the_packets_are_the_same() {
    let plain = long();
    let wanted = read(plain.clone()).expect("a capture");
    assert_eq!(
        wanted.1,
        Account { packets: 20_000, timeless: 0, coarsest: Nanos::from_micros(1), end: End::Whole }
    );
    let (one, other) = plain.split_at(plain.len() / 2);
    let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 1).expect("memory");
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4].to_vec();
    for packed in [
        gzip(&plain),
        // In several members, as tools that rotate files or pack in parallel write them.
        [gzip(one), gzip(other)].concat(),
        // Filled up to whole blocks; the zeros behind the last are more than what is read at once.
        [gzip(one), vec![0; 512], gzip(other), vec![0; 100_000]].concat(),
        zstd(&plain),
        [skippable, zstd(one), zstd(other)].concat(),
    ] {
        assert!(packed.len() < plain.len());
        assert_eq!(read(packed).expect("a capture"), wanted);
    }
}

#[test]
fn what_is_whole_of_a_packed_capture_is_used() {
    let plain = long();
    let (wanted, _) = read(plain.clone()).expect("a capture");
    for (packed, damaged) in
        [(gzip(&plain), End::Damaged), (zstd::encode_all(&plain[..], 1).unwrap(), End::Damaged)]
    {
        let mut most = 0;
        for part in 1..20 {
            let cut = packed[..packed.len() * part / 20].to_vec();
            let (packets, account) = match read(cut) {
                // So little of it that no block is whole.
                Err(ReadError::CutOff { whole: 0 }) if part < 5 => continue,
                read => read.expect("a capture, cut off"),
            };
            assert_eq!(account.end, End::CutOff);
            assert_eq!(packets, wanted[..packets.len()]);
            assert!(packets.len() >= most);
            most = packets.len();
        }
        assert!(most > 10_000, "{most}");
        // Garbage in the middle: what is told until then is true.
        let mut torn = packed.clone();
        let middle = torn.len() / 2;
        torn[middle..].fill(0xff);
        if let Ok((packets, account)) = read(torn) {
            assert_ne!(account.end, End::Whole);
            assert!([damaged, End::CutOff].contains(&account.end));
            assert!(packets.len() < wanted.len());
        }
    }
}

#[test]
fn what_is_no_capture_says_so() {
    let error = |bytes: &[u8]| read(bytes.to_vec()).expect_err("no capture").to_string();
    assert!(error(b"").contains("holds no packets"));
    assert!(error(&gzip(b"")).contains("holds no packets"));
    assert!(error(b"name = \"x\"\n").contains("is not a capture"));
    assert!(error(&gzip(b"name = \"x\"\n")).contains("is not a capture"));
    assert!(error(&gzip(&gzip(&long()))).contains("is compressed"));
    assert!(error(&[0xfd, b'7', b'z', b'X', b'Z', 0]).contains("is compressed"));
    assert!(matches!(File::open(Path::new("/")), Err(ReadError::Unreadable(_))));
    assert!(matches!(File::open(Path::new("/no/such/capture")), Err(ReadError::Unreadable(_))));
}

/// Gives some bytes, then fails.
struct Failing(Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.0.read(into)? {
            0 => Err(io::Error::from_raw_os_error(5)),
            some => Ok(some),
        }
    }
}

#[test]
fn a_source_that_fails_is_told_apart_from_one_that_ends() {
    let mut file = File::of(Failing(Cursor::new(long()))).expect("it begins well");
    let mut packets = 0;
    let error = file.each(&mut |_| packets += 1).expect_err("it fails");
    assert!(matches!(error, ReadError::Unreadable(_)) && packets == 20_000, "{error} {packets}");
}

#[test]
fn a_file_that_shrinks_meanwhile_is_cut_off() {
    let path = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(path.path(), long()).expect("written");
    let mut file = File::open(path.path()).expect("a capture");
    std::fs::write(path.path(), &long()[..1_000]).expect("written");
    let account = file.each(&mut |_| {}).expect("what was there");
    assert!(account.packets < 20_000 && account.end != End::Damaged, "{account:?}");
}

/// What is told of a file of which so many bytes are left once its first packet has passed.
fn read_while_cut(left: u64) -> Account {
    let path = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(path.path(), long()).expect("written");
    let mut file = File::open(path.path()).expect("a capture");
    let cut = OpenOptions::new().write(true).open(path.path()).expect("the same");
    let mut packets = 0;
    let account = file.each(&mut |packet| {
        if packets == 0 {
            cut.set_len(left).expect("cut");
        }
        assert!(!packet.bytes.is_empty(), "what is not there is no packet");
        packets += 1;
    });
    let account = account.expect("what was there");
    assert_eq!(account.packets, packets);
    account
}

/// Whoever takes all that can be mapped at once has this: others' files would be read then.
static MAPPING: Mutex<()> = Mutex::new(());

#[test]
fn a_file_that_is_cut_off_while_it_is_mapped_ends_there_and_not_the_process() {
    let _mapping = MAPPING.lock();
    let length = long().len() as u64;
    let record = (length - 24) / 20_000;
    for left in [0, 1, 5_000, 8_192, length / 2, length - 1] {
        let account = read_while_cut(left);
        // The one that the cut goes through may be told of, with zeros where it was; none that lay behind it is.
        let begun = left.saturating_sub(24).div_ceil(record).max(1);
        assert!(account.packets <= begun && account.end == End::CutOff, "{left}: {account:?}");
    }
}

#[test]
fn more_files_than_can_be_mapped_are_read() {
    let _mapping = MAPPING.lock();
    let path = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(path.path(), long()).expect("written");
    let files: Vec<File> = (0..70).map(|_| File::open(path.path()).expect("a capture")).collect();
    for mut file in files {
        assert_eq!(file.each(&mut |_| {}).expect("read").packets, 20_000);
    }
}

#[test]
fn a_fault_in_another_mapping_still_ends_the_process() {
    let myself = std::env::current_exe().expect("this program");
    // What it does not come to remove goes with this.
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(myself);
    command.args(["--ignored", "--exact", "faults_in_another_mapping"]).env("TMPDIR", folder.path());
    let status = command.output().expect("a child").status;
    assert_eq!(status.signal(), Some(nix::libc::SIGBUS), "{status}");
}

#[test]
#[ignore = "ends the process, for the test that runs it"]
#[allow(unsafe_code)] // There is no mapping a file without.
fn faults_in_another_mapping() {
    let path = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(path.path(), long()).expect("written");
    let _watched = File::open(path.path()).expect("a capture");
    let another = tempfile::tempfile().expect("a file");
    another.set_len(1 << 16).expect("room");
    // SAFETY: nobody else has the file; that it is cut off is what this is for.
    let bytes = unsafe { memmap2::Mmap::map(&another) }.expect("a mapping");
    another.set_len(0).expect("cut");
    assert_eq!(bytes[1 << 15], 0);
}

#[test]
fn a_file_that_grows_meanwhile_is_read_to_its_new_end() {
    let path = tempfile::NamedTempFile::new().expect("a file");
    let whole = long();
    std::fs::write(path.path(), &whole[..whole.len() / 2]).expect("written");
    let mut file = File::open(path.path()).expect("a capture");
    std::fs::write(path.path(), &whole).expect("written");
    assert_eq!(file.each(&mut |_| {}).expect("read").packets, 20_000);
}

/// Writes captures into a folder, and reads them as one.
fn merged(folder: &Path, captures: &[Vec<u8>], take: &mut impl FnMut(Captured<'_>)) -> Vec<Account> {
    let write = |(number, bytes)| {
        let path = folder.join(format!("{number}.pcap"));
        std::fs::write(&path, bytes).expect("written");
        path
    };
    let paths: Vec<PathBuf> = captures.iter().enumerate().map(write).collect();
    Merged::open(&paths).and_then(|merged| merged.each(take)).expect("read")
}

#[test]
fn several_captures_are_one_in_the_order_of_their_times() {
    let every = |first: u32, byte| capture((0..500).map(move |n| (first + n * 30, byte)));
    let cut = { every(20, 3)[..24 + 76 * 100 + 7].to_vec() };
    let (folder, mut packets) = (tempfile::tempdir().expect("a folder"), Vec::new());
    let accounts =
        merged(folder.path(), &[every(0, 1), every(10, 2), cut, capture([])], &mut |packet: Captured<'_>| {
            packets.push((packet.at, packet.bytes[0]));
        });
    let told: Vec<_> = accounts.iter().map(|account| (account.packets, account.end)).collect();
    assert_eq!(told, [(500, End::Whole), (500, End::Whole), (100, End::CutOff), (0, End::Whole)]);
    assert!(packets.is_sorted() && packets.len() == 1_100);
    assert_eq!(packets[..4], [(0, 1), (10_000, 2), (20_000, 3), (30_000, 1)]);
    // Of the same time, the first capture's comes first.
    let mut order = Vec::new();
    merged(folder.path(), &[every(0, 9), every(0, 4)], &mut |packet: Captured<'_>| {
        order.push(packet.bytes[0])
    });
    assert_eq!(order[..4], [9, 4, 9, 4]);
}

#[test]
fn a_capture_that_is_gone_or_another_when_it_is_due_is_told_and_the_others_are_read() {
    let of = |first: u32, byte| capture((0..3).map(move |n| (first + n, byte)));
    let captures = [of(0, 1), of(100, 2), of(200, 3), of(300, 4), of(400, 5)];
    let folder = tempfile::tempdir().expect("a folder");
    let mut order = Vec::new();
    let accounts = merged(folder.path(), &captures, &mut |packet: Captured<'_>| {
        if order.is_empty() {
            let at = |number: u8| folder.path().join(format!("{number}.pcap"));
            std::fs::remove_file(at(1)).expect("removed");
            std::fs::write(at(2), of(900, 9)).expect("written");
            std::fs::write(at(3), "no capture").expect("written");
        }
        order.push(packet.bytes[0]);
    });
    assert_eq!(order, [1, 1, 1, 5, 5, 5]);
    let told: Vec<End> = accounts.iter().map(|account| account.end).collect();
    assert_eq!(told, [End::Whole, End::Replaced, End::Replaced, End::Replaced, End::Whole]);
}

#[test]
fn of_captures_that_follow_each_other_one_is_open_at_a_time() {
    const CAPTURES: u32 = 40;
    let rotated: Vec<Vec<u8>> =
        (0..CAPTURES).map(|of| capture((0..3).map(move |n| (of * 1_000 + n, of as u8)))).collect();
    let folder = tempfile::tempdir().expect("a folder");
    // Of this folder: other tests have files of their own open.
    let open = || {
        let is_ours = |open: &std::fs::DirEntry| {
            std::fs::read_link(open.path()).is_ok_and(|file| file.starts_with(folder.path()))
        };
        std::fs::read_dir("/proc/self/fd").expect("a list").flatten().filter(is_ours).count()
    };
    let (mut most, mut order) = (0, Vec::new());
    merged(folder.path(), &rotated, &mut |packet: Captured<'_>| {
        most = most.max(open());
        order.push(packet.bytes[0]);
    });
    assert!(order.is_sorted() && order.len() == 3 * CAPTURES as usize, "{order:?}");
    assert_eq!(most, 1);
}
