//! Loads the programs, reads what they tell, and takes them away again.

use super::error::ObserverError;
use super::hook::{self, Hook};
use super::reason::Reasons;
use super::record::Record;
use super::watching::{Told, Watching};
use crate::{bpf_rights, clock};
use dwell_core::inside::{Event, Flow, HookCost, Losses, Missing, Protocol};
use libbpf_rs::btf::Btf;
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, OpenObject, RingBuffer, RingBufferBuilder};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The compiled programs.
static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/inside.bpf.o"));

/// How often the ring is looked at: its room is for some 8,000 journeys, and each look costs.
const LOOK: Duration = Duration::from_millis(5);

/// The programs at the kernel's tracepoints, and what they tell. They are taken away when this is dropped, and by the
/// kernel when the process ends.
pub struct Observer {
    missing: Vec<Missing>,
    reasons: Reasons,
    told: Arc<Mutex<Vec<Record>>>,
    ring: RingBuffer<'static>,
    /// When the ring was last looked at.
    looked: Instant,
    /// Where one process or group alone is watched: this host's ends of the flows that it reads. A packet that is
    /// dropped is nobody's but by its end.
    ends: Option<HashSet<(Protocol, SocketAddr)>>,
    /// While it is there, the kernel keeps account of what the programs cost.
    account: OnceLock<OwnedFd>,
    // Dropped before the object: no program runs without its maps.
    _links: Vec<Link>,
    object: Object,
}

fn kernel_types() -> Result<Btf<'static>, ObserverError> {
    // What libbpf has to say, our errors say.
    libbpf_rs::set_print(None);
    Btf::from_vmlinux().map_err(|_| ObserverError::NoBtf)
}

impl Observer {
    /// The points that cannot be seen here, and why; before anything starts.
    ///
    /// # Errors
    /// When nothing can be seen: no BTF, or no privilege.
    pub fn survey(watching: &Watching) -> Result<Vec<Missing>, ObserverError> {
        let btf = kernel_types()?;
        bpf_rights::check("observe the kernel", "cap_bpf,cap_perfmon")
            .map_err(ObserverError::NotPermitted)?;
        let mut missing = hook::missing(&btf, watching);
        missing.extend(super::device::missing(watching));
        Ok(missing)
    }

    /// Starts to watch.
    ///
    /// # Errors
    /// As [`Self::survey`]; or when the kernel refuses the programs.
    pub fn attach(watching: &Watching) -> Result<Self, ObserverError> {
        let missing = Self::survey(watching)?;
        let btf = kernel_types()?;
        let object = load(watching, &btf, super::device::completes(watching))?;
        let told = Arc::new(Mutex::new(Vec::new()));
        let ring = ring(&object, &told)?;
        let attach = |program: libbpf_rs::ProgramMut<'_>| program.attach();
        let links = object.progs_mut().filter(|program| program.autoload()).map(attach);
        let links: Result<_, _> = links.collect();
        let _links = links.map_err(ObserverError::refused("attach a program to a tracepoint"))?;
        let ends = (watching.pid.is_some() || watching.cgroup.is_some()).then(HashSet::new);
        Ok(Self {
            missing,
            reasons: Reasons::of(&btf),
            told,
            ring,
            looked: Instant::now(),
            ends,
            account: OnceLock::new(),
            _links,
            object,
        })
    }

    /// The points that cannot be seen here, and why.
    #[must_use]
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// Tells what happened; returns once something was told, or nothing happened for `timeout`.
    ///
    /// # Errors
    /// When the programs can no longer be read from.
    pub fn wait(&mut self, timeout: Duration, tell: &mut dyn FnMut(Event)) -> Result<(), ObserverError> {
        let until = Instant::now() + timeout;
        loop {
            let due = (self.looked + LOOK).min(until);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            self.looked = Instant::now();
            self.ring.consume().map_err(ObserverError::refused("read from the ring of journeys"))?;
            let records = std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner));
            if !records.is_empty() {
                // Read anew each time: somebody may step the clock.
                let ahead = clock::realtime_minus_monotonic();
                for record in &records {
                    let event = record.event(ahead, &self.reasons);
                    if self.is_watched(&event) {
                        tell(event);
                    }
                }
                return Ok(());
            }
            if self.looked >= until {
                return Ok(());
            }
        }
    }

    fn is_watched(&mut self, event: &Event) -> bool {
        let Some(ends) = &mut self.ends else { return true };
        let end = |flow: &Flow| (flow.protocol, flow.local);
        match event {
            Event::Journey(journey) => {
                ends.insert(end(&journey.flow));
                true
            }
            Event::Dropped(dropped) => dropped.flow.is_some_and(|flow| ends.contains(&end(&flow))),
        }
    }

    /// Packets whose journeys are not told.
    #[must_use]
    pub fn losses(&self) -> Losses {
        let map = self.object.maps().find(|map| map.name() == OsStr::new("losses"));
        let cores = map.and_then(|map| map.lookup_percpu(&0_u32.to_ne_bytes(), MapFlags::ANY).ok().flatten());
        let skipped_runs = super::cost::skipped_runs(&self.object).unwrap_or_default();
        let mut losses = Losses { skipped_runs, ..Losses::default() };
        for core in cores.iter().flatten() {
            let counts: Vec<_> = core
                .chunks_exact(8)
                .filter_map(|bytes| Some(u64::from_ne_bytes(bytes.try_into().ok()?)))
                .collect();
            if let [buffer_full, table_full, unmatched] = counts[..] {
                losses.buffer_full += buffer_full;
                losses.table_full += table_full;
                losses.unmatched += unmatched;
            }
        }
        losses
    }

    /// What the hooks cost by the kernel's own account, since this was first asked: the kernel keeps it from then on,
    /// which itself costs some tens of nanoseconds a run.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn hook_costs(&self) -> Result<Vec<HookCost>, ObserverError> {
        if self.account.get().is_none() {
            let _ = self.account.set(super::cost::keep_account()?);
        }
        super::cost::costs(&self.object)
    }
}

fn load(watching: &Watching, btf: &Btf<'_>, completes: bool) -> Result<Object, ObserverError> {
    let told = Told::new(watching, completes)?;
    let mut builder = ObjectBuilder::default();
    let open: Result<OpenObject, _> = builder.open_memory(PROGRAMS);
    let mut open = open.map_err(ObserverError::refused("open the programs"))?;
    for mut map in open.maps_mut() {
        let constants = map.name().to_str().is_some_and(|name| name.ends_with(".rodata"));
        if let (true, Some(place)) = (constants, map.initial_value_mut()) {
            place[..told.bytes().len()].copy_from_slice(told.bytes());
        }
    }
    for mut program in open.progs_mut() {
        let run = Hook::of_section(program.section()).is_some_and(|hook| {
            hook.exists(btf) && hook.wanted(watching) && (completes || hook.name != "consume_skb")
        });
        program.set_autoload(run);
    }
    open.load().map_err(ObserverError::refused("load the programs"))
}

fn ring(object: &Object, told: &Arc<Mutex<Vec<Record>>>) -> Result<RingBuffer<'static>, ObserverError> {
    let doing = "open the ring of journeys";
    let map = object.maps().find(|map| map.name() == OsStr::new("told"));
    let map = map.ok_or_else(|| ObserverError::System {
        doing,
        source: std::io::Error::other("the programs have none"),
    })?;
    let mut builder = RingBufferBuilder::new();
    let told = Arc::clone(told);
    builder
        .add(&map, move |bytes| {
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            told.extend(Record::read(bytes));
            0
        })
        .map_err(ObserverError::refused(doing))?;
    builder.build().map_err(ObserverError::refused(doing))
}
