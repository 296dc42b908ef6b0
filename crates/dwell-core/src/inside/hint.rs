//! Settings that explain what packets waited for, and what to do about them.

use super::diagnosis::{Diagnosis, Kind};
use super::settings::Settings;
use super::story::grouped;
use crate::unit::Nanos;
use serde::Serialize;

/// A setting that explains a delay that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hint {
    /// What it explains.
    pub kind: Kind,
    /// The setting, and what to do.
    pub sentence: String,
}

/// The hints of these settings: only of those that explain what was found.
#[must_use]
pub fn hints(found: &[Diagnosis], settings: &Settings) -> Vec<Hint> {
    let mut hints: Vec<Hint> = Vec::new();
    for diagnosis in found {
        let kind = diagnosis.kind;
        if hints.iter().all(|hint| hint.kind != kind) {
            hints.extend(explain(kind, settings).into_iter().map(|sentence| Hint { kind, sentence }));
        }
    }
    hints
}

fn explain(kind: Kind, settings: &Settings) -> Vec<String> {
    match kind {
        Kind::BusyCore | Kind::Backlog | Kind::FullBacklog => placement(kind, settings),
        Kind::SleepingCore => sleep(settings),
        Kind::SlowReader => reader(),
        Kind::Coalescing => gathering(settings),
        Kind::FullSocketQueue => room(settings),
        Kind::Discipline | Kind::FullDiscipline => discipline(settings),
    }
}

fn sleep(settings: &Settings) -> Vec<String> {
    // In this one a guest halts: what it gives as the time to leave is not what its hypervisor takes.
    let halts = |name: &str| name.starts_with("haltpoll");
    let allowed = settings.idle_states.iter().filter(|state| !state.disabled && !halts(&state.name));
    let deepest = allowed.max_by_key(|state| state.exit).filter(|state| state.exit > Nanos::ZERO);
    let state = deepest.map(|state| {
        format!(
            "cores may sleep as deep as {}, which takes {} to leave: hold /dev/cpu_dma_latency open with a smaller figure, \
             or disable that state",
            state.name, state.exit
        )
    });
    let hypervisor = (state.is_none() && settings.hypervisor).then(|| {
        "this host runs under a hypervisor, which decides how an idle core is woken: a reader that asks without \
         sleeping keeps the core awake, and so does the kernel's idle governor haltpoll, for as long as \
         /sys/module/haltpoll/parameters/guest_halt_poll_ns lets it"
            .to_owned()
    });
    let governor = settings.governor.as_deref().filter(|governor| *governor != "performance");
    let governor = governor.map(|name| {
        format!("the CPU governor is `{name}`: a core that wakes begins slowly; `performance` does not")
    });
    [state, hypervisor, governor].into_iter().flatten().collect()
}

/// No setting explains it: it is the program's own doing.
fn reader() -> Vec<String> {
    vec![
        "no setting of this host makes a program ask sooner: let a thread of its own read, several read (each a socket, \
         SO_REUSEPORT), or each call take all that lies there (recvmmsg)"
            .to_owned(),
    ]
}

fn gathering(settings: &Settings) -> Vec<String> {
    let name = settings.interface.as_deref().unwrap_or("the interface");
    let set = |key: &str| settings.coalescing.get(key).copied().filter(|value| *value > 0);
    let mut hints = Vec::new();
    if let Some(us) = set("rx-usecs") {
        hints.push(format!(
            "{name} gathers packets for {us} us (rx-usecs): `ethtool -C {name} rx-usecs 0` ends that"
        ));
    }
    if set("adaptive-rx").is_some() {
        hints.push(format!(
            "{name} adapts its gathering to the packet rate: `ethtool -C {name} adaptive-rx off` ends that"
        ));
    }
    let deferred = settings.gro_flush_timeout.filter(|timeout| *timeout > Nanos::ZERO);
    if let (Some(timeout), Some(1..)) = (deferred, settings.napi_defer_hard_irqs) {
        hints.push(format!(
            "the kernel polls {name} each {timeout} instead of taking interrupts: 0 in \
             /sys/class/net/{name}/gro_flush_timeout and napi_defer_hard_irqs ends that"
        ));
    }
    hints
}

fn room(settings: &Settings) -> Vec<String> {
    let (Some(default), Some(max)) = (settings.room_default, settings.room_max) else { return Vec::new() };
    vec![format!(
        "a socket gets room for {} B (net.core.rmem_default) and can ask for {} B (SO_RCVBUF up to net.core.rmem_max): \
         more room outlasts a longer stall, but packets then wait",
        grouped(default.0),
        grouped(max.0)
    )]
}

fn discipline(settings: &Settings) -> Vec<String> {
    let name = settings.interface.as_deref().unwrap_or("the interface");
    let discipline = settings.discipline.as_deref();
    discipline
        .map(|kind| {
            format!(
                "{name}'s queueing discipline is `{kind}`: `tc -s qdisc show dev {name}` tells its limits"
            )
        })
        .into_iter()
        .collect()
}

fn placement(kind: Kind, settings: &Settings) -> Vec<String> {
    let mut hints = Vec::new();
    let cores: Vec<&str> = settings.interrupts.iter().map(|interrupt| interrupt.cores.as_str()).collect();
    if let [first, rest @ ..] = cores.as_slice()
        && rest.iter().all(|cores| cores == first)
        && !first.contains([',', '-'])
    {
        let advice = if kind == Kind::BusyCore { "keep the reader off it" } else { "spread them" };
        hints.push(format!(
            "all interrupts of the interface go to core {first}: {advice} (/proc/irq/N/smp_affinity_list)"
        ));
    }
    let spread: Vec<_> = settings.receive_queues.iter().filter(|queue| !queue.spread_to.is_empty()).collect();
    if let (false, Kind::Backlog | Kind::FullBacklog) = (spread.is_empty(), kind) {
        let queues: Vec<String> =
            spread.iter().map(|queue| format!("{} to {:?}", queue.name, queue.spread_to)).collect();
        hints.push(format!(
            "packets are spread over cores by software (RPS: {}), each hop an interrupt between cores: leave it to the NIC's \
             queues, or choose cores that are idle",
            queues.join(", ")
        ));
    }
    let offloads = settings.offloads.get("rx-gro").is_some_and(|on| *on);
    let held = settings.gro_flush_timeout.filter(|timeout| *timeout > Nanos::ZERO);
    if let (Kind::Backlog, true, Some(timeout)) = (kind, offloads, held) {
        hints.push(format!(
            "receive offload may hold packets for {timeout} (gro_flush_timeout) to merge them"
        ));
    }
    hints
}

#[cfg(test)]
mod tests {
    use super::super::settings::{IdleState, Interrupt};
    use super::super::stage::Way;
    use super::*;
    use crate::report::Finding;
    use crate::unit::Bytes;

    fn settings() -> Settings {
        let state = |name: &str, us, disabled| IdleState {
            name: name.into(),
            exit: Nanos::from_micros(us),
            disabled,
        };
        Settings {
            interface: Some("eth0".into()),
            coalescing: [("rx-usecs".into(), 50)].into(),
            idle_states: vec![
                state("POLL", 0, false),
                state("C1", 2, false),
                state("C6", 133, false),
                state("C8", 300, true),
            ],
            governor: Some("powersave".into()),
            interrupts: vec![Interrupt { number: 24, name: "eth0".into(), cores: "1".into() }],
            room_default: Some(Bytes(212_992)),
            room_max: Some(Bytes(4_194_304)),
            ..Settings::default()
        }
    }

    fn told(kind: Kind) -> Vec<String> {
        let share = Finding::unmeasurable("made by hand");
        let found = [Diagnosis { kind, way: Way::Receive, share, sentence: String::new() }];
        hints(&found, &settings()).into_iter().map(|hint| hint.sentence).collect()
    }

    #[test]
    fn a_hint_only_where_it_explains_what_was_seen() {
        assert_eq!(hints(&[], &settings()), []);
        let sleep = told(Kind::SleepingCore);
        assert!(
            sleep[0].contains("C6") && sleep[0].contains("133.0 us") && sleep[1].contains("powersave"),
            "{sleep:?}"
        );
        assert!(told(Kind::Coalescing)[0].contains("rx-usecs 0"));
        assert!(told(Kind::FullSocketQueue)[0].contains("212 992 B"));
        assert!(told(Kind::BusyCore)[0].contains("core 1"));
        assert!(told(Kind::SlowReader)[0].contains("SO_REUSEPORT"));
    }

    #[test]
    fn what_a_guest_says_of_halting_explains_nothing() {
        let halt = IdleState { name: "haltpoll idle".into(), exit: Nanos::from_micros(1), disabled: false };
        let settings = Settings { idle_states: vec![halt], hypervisor: true, ..Settings::default() };
        let told = explain(Kind::SleepingCore, &settings);
        assert!(told.len() == 1 && told[0].contains("guest_halt_poll_ns"), "{told:?}");
    }
}
