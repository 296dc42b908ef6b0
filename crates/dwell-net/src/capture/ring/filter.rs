//! The kernel's part: which packets pass to the rings, and to which.

use super::{Filtered, Wanted};
use crate::bpf_rights;
use crate::capture::mapped::Mapped;
use libbpf_rs::{MapCore as _, Object, ObjectBuilder, ProgramType};
use nix::sys::mman::ProtFlags;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/filter.bpf.o"));

/// Lines of the table of counts, and bytes of each: those of `struct counts`.
const CORES: usize = 256;
const LINE: usize = 64;

/// The programs in the kernel, for as long as a ring uses them.
pub(super) struct Filter {
    object: Object,
    counted: Mapped,
}

impl Filter {
    /// # Errors
    /// When the kernel does not run such programs, or not for this process.
    pub(super) fn load(wanted: Wanted) -> io::Result<Self> {
        // A container may have been given what its capabilities do not show (a BPF token): what the kernel says comes first, though
        // not as plain.
        Self::try_load(wanted).map_err(|error| {
            match bpf_rights::check("filter in the kernel", "cap_net_raw,cap_bpf,cap_perfmon") {
                Ok(()) => error,
                Err(why) => io::Error::new(io::ErrorKind::PermissionDenied, why),
            }
        })
    }

    fn try_load(wanted: Wanted) -> io::Result<Self> {
        libbpf_rs::set_print(None);
        let mut builder = ObjectBuilder::default();
        let mut open = builder.open_memory(PROGRAMS).map_err(told)?;
        for mut map in open.maps_mut() {
            let constants = map.name().to_str().is_some_and(|name| name.ends_with(".rodata"));
            if let (true, Some([throughout, ..])) = (constants, map.initial_value_mut()) {
                *throughout = u8::from(wanted == Wanted::Throughout);
            }
        }
        open.progs_mut().for_each(|mut program| program.set_prog_type(ProgramType::SocketFilter));
        let object = open.load().map_err(told)?;
        let map = object.maps().find(|map| map.name() == OsStr::new("counted"));
        let map = map.ok_or_else(|| io::Error::other("the programs do not count"))?;
        let counted = Mapped::shared(map.as_fd(), CORES * LINE, ProtFlags::PROT_READ)?;
        Ok(Self { object, counted })
    }

    /// The program of this name.
    pub(super) fn program(&self, name: &str) -> io::Result<Program<'_>> {
        let found = self.object.progs().find(|program| program.name() == OsStr::new(name));
        found.map(Program).ok_or_else(|| io::Error::other(format!("there is no program {name}")))
    }

    /// What became of the packets that the filter saw.
    pub(super) fn counts(&self) -> Filtered {
        let sum = |member: usize| {
            let one = |core: usize| {
                let place = self.counted.place::<AtomicU64>(core * LINE + member * 8, 8);
                // SAFETY: the place is inside, aligned, and written to by the kernel alone, atomically.
                #[allow(unsafe_code)]
                place.map_or(0, |place| unsafe { place.as_ref() }.load(Ordering::Relaxed))
            };
            (0..CORES).map(one).sum::<u64>()
        };
        Filtered { seen: sum(0), cut: sum(1), too_deep: sum(2) }
    }
}

/// A program in the kernel.
pub(super) struct Program<'a>(libbpf_rs::Program<'a>);

impl Program<'_> {
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn told(error: libbpf_rs::Error) -> io::Error {
    let kind = match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => io::ErrorKind::PermissionDenied,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}
