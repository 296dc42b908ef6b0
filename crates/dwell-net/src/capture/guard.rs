//! What keeps the process alive when a mapped file is cut off: the kernel sends a signal to whoever touches a page that
//! is no longer there.

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, raise, sigaction};
use std::ffi::{c_int, c_void};
use std::io;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// So many files are mapped at once at most: one more is read.
const GUARDS: usize = 64;

/// No page is smaller, and any begins at a multiple of this.
const PAGE: usize = 1 << 12;

/// A part of memory that is watched.
struct Place {
    taken: AtomicBool,
    start: AtomicUsize,
    end: AtomicUsize,
    torn: AtomicBool,
}

static PLACES: [Place; GUARDS] = [const {
    Place {
        taken: AtomicBool::new(false),
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        torn: AtomicBool::new(false),
    }
}; GUARDS];

/// What was done about the signal before.
static FORMER: OnceLock<io::Result<SigAction>> = OnceLock::new();

/// Watches over a part of memory that stands for a file: where the file has been cut off, there are zeros instead.
pub(super) struct Guard(&'static Place);

impl Guard {
    /// One that is free, if any is.
    pub(super) fn free() -> io::Result<Option<Self>> {
        let own = SigHandler::SigAction(fault);
        let own = SigAction::new(own, SaFlags::SA_SIGINFO | SaFlags::SA_ONSTACK, SigSet::empty());
        // SAFETY: what handles the signal reads and writes atomic numbers and calls the kernel, nothing else, but for
        // what handled it before.
        #[allow(unsafe_code)]
        let set = FORMER.get_or_init(|| unsafe { sigaction(Signal::SIGBUS, &own) }.map_err(io::Error::from));
        if let Err(error) = set {
            return Err(error.kind().into());
        }
        let free = PLACES.iter().find(|place| !place.taken.swap(true, Ordering::AcqRel));
        Ok(free.map(|place| {
            place.torn.store(false, Ordering::Relaxed);
            Self(place)
        }))
    }

    /// Watches over this part, and no other any longer.
    pub(super) fn watch(&self, part: Range<usize>) {
        self.0.end.store(0, Ordering::Release);
        self.0.start.store(part.start, Ordering::Release);
        self.0.end.store(part.end, Ordering::Release);
    }

    /// Whether something of what it has watched over was not there.
    pub(super) fn is_torn(&self) -> bool {
        self.0.torn.load(Ordering::Acquire)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.watch(0..0);
        self.0.taken.store(false, Ordering::Release);
    }
}

/// Handles the signal.
extern "C" fn fault(signal: c_int, about: *mut libc::siginfo_t, context: *mut c_void) {
    let error = Errno::last_raw();
    // SAFETY: the kernel hands over what it tells about the signal.
    #[allow(unsafe_code)]
    let (code, address) = unsafe { ((*about).si_code, (*about).si_addr().addr()) };
    // Any other kind is none of a file's.
    if code != libc::BUS_ADRERR || !mend(address) {
        pass_on(signal, code, about, context);
    }
    Errno::set_raw(error);
}

/// Puts zeros from this page on to the end of what is watched there; tells whether anything is.
fn mend(address: usize) -> bool {
    let mut mended = false;
    for place in &PLACES {
        let (start, end) = (place.start.load(Ordering::Acquire), place.end.load(Ordering::Acquire));
        if !(start..end).contains(&address) {
            continue;
        }
        let page = address - address % PAGE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: the pages are those of a mapping that is watched, to be read alone: where they are replaced, whoever
        // holds it still finds memory that is readable and holds bytes.
        #[allow(unsafe_code)]
        let put = unsafe {
            libc::mmap(std::ptr::without_provenance_mut(page), end - page, libc::PROT_READ, flags, -1, 0)
        };
        if put != libc::MAP_FAILED {
            place.torn.store(true, Ordering::Release);
            mended = true;
        }
    }
    mended
}

/// Leaves the signal to whoever handled it before.
fn pass_on(signal: c_int, code: c_int, about: *mut libc::siginfo_t, context: *mut c_void) {
    match FORMER.get().and_then(|former| former.as_ref().ok()).map(SigAction::handler) {
        Some(SigHandler::Handler(former)) => former(signal),
        Some(SigHandler::SigAction(former)) => former(signal, about, context),
        // One that somebody sent can be ignored, a fault cannot.
        Some(SigHandler::SigIgn) if code <= 0 => {}
        Some(SigHandler::SigIgn | SigHandler::SigDfl) | None => {
            let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
            // SAFETY: nothing of ours is called by it any longer: the process ends.
            #[allow(unsafe_code)]
            let _ = unsafe { sigaction(Signal::SIGBUS, &default) };
            let _ = raise(Signal::SIGBUS);
        }
    }
}
