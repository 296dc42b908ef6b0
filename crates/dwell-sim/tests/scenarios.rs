//! The scenario files that come with Dwell, and the page that describes them.

mod recorded;

use dwell_core::{BitRate, Bytes, Nanos};
use dwell_sim::nic::{NicChange, NicSpec};
use dwell_sim::{
    Algorithm, Balance, BusySpec, ClockStep, CrossKind, CrossSpec, Discipline, LinkSpec, Offered, ParetoSpec,
    Policer, Reordering, Scenario, Shaper, SizeShare, Sizes, TcpSpec, Times,
};
use std::path::Path;

#[test]
fn every_shipped_scenario_reads_and_writes_back() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    assert!(files.len() >= 5, "only {} scenarios found", files.len());
    for file in files {
        let scenario = Scenario::load(&file).unwrap();
        assert_eq!(
            scenario.name,
            file.file_stem().unwrap().to_str().unwrap(),
            "a file is named as its scenario"
        );
        assert!(!scenario.description.is_empty());
        let again = Scenario::parse("again", &scenario.to_toml()).unwrap();
        assert_eq!(again, scenario);
    }
}

const PAGE: &str = include_str!("../../../docs/book/src/reference/scenario.md");

#[test]
fn the_page_shows_a_scenario_that_reads() {
    let shown = PAGE.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    Scenario::parse("page", shown).unwrap();
}

#[test]
fn the_page_shows_links_that_read() {
    let links: Vec<_> = PAGE.split("```toml\n").filter(|shown| shown.starts_with("[[links]]")).collect();
    assert!(links.len() >= 2, "a shaper and parallel links");
    for shown in links {
        let link = shown.split("```").next().unwrap();
        let end = "[[links]]\nrate = \"unshaped\"\n";
        let text = format!("name = \"x\"\n{end}{link}{end}");
        let scenario = Scenario::parse("page", &text).unwrap();
        assert_eq!(Scenario::parse("again", &scenario.to_toml()).unwrap(), scenario);
    }
}

#[test]
fn the_page_names_every_key() {
    let mut all =
        Scenario::parse("all", "name = \"x\"\ndescription = \"y\"\n[[links]]\nrate = \"1 Gb/s\"").unwrap();
    let step = ClockStep { at: Nanos(1), by: Nanos(1) };
    for host in [&mut all.source, &mut all.destination] {
        host.wake_up_cold = Some(Times::default());
        host.answer_cold = Some(Times::default());
        host.interrupt_cold = Some(Times::default());
        host.busy = Some(BusySpec { share: 0.5, slice: Nanos(1) });
        host.clock.step = Some(step);
        host.nic = NicSpec::Adaptive {
            least: Nanos(1_000),
            most: Nanos(2_000),
            slow: 1e3,
            fast: 1e4,
            window: Nanos(1_000),
        };
        let to = NicSpec::Hold { period: Nanos(1_000), frames: Some(3) };
        host.nic_change = Some(NicChange { at: Nanos(1), to });
    }
    let flow = |kind, offered, sizes| CrossSpec { kind, offered, sizes, hops: 1, priority: 1 };
    let pareto = ParetoSpec { shape: 1.5, on: Nanos(1), off: Some(Nanos(1)), peak: BitRate(1_000) };
    let tcp = TcpSpec { rtt: Nanos(1), algorithm: Algorithm::Reno, window: Some(Bytes(1)) };
    let mix = Sizes::Mix(vec![SizeShare { size: Bytes(100), weight: 1.0 }]);
    all.links[0].cross = vec![
        flow(CrossKind::Poisson, Offered::Load(0.1), Bytes(100).into()),
        flow(CrossKind::Pareto(pareto), Offered::Rate(BitRate(1_000)), mix),
        flow(CrossKind::Capture(recorded::some()), Offered::Own, Sizes::Own),
        flow(CrossKind::Tcp(tcp), Offered::Own, Bytes(100).into()),
    ];
    let link = &mut all.links[0];
    link.discipline = Discipline::Priority { probes: 1 };
    link.shaper = Some(Shaper { rate: BitRate(1_000), burst: Bytes(2_000), peak: Some(BitRate(2_000)) });
    link.policer = Some(Policer { rate: BitRate(1_000), burst: Bytes(2_000) });
    link.mtu = Some(Bytes(1_000));
    link.duplication = 0.1;
    link.reordering = Some(Reordering { share: 0.1, by: Times::default() });
    let bundle = LinkSpec::bundle(vec![LinkSpec::new(None)], Balance::Packet);
    all.links.extend([bundle, LinkSpec::new(None)]);
    all.reverse = Some(all.links.clone());
    for line in all.to_toml().lines() {
        let name = line.trim_matches(['[', ']']).split(" = ").next().unwrap().trim();
        let last = name.rsplit('.').next().unwrap();
        let named = [
            format!("`{last}`"),
            format!("[{last}]"),
            format!("[[{last}]]"),
            format!(".{last}]"),
            format!("{last} = "),
        ];
        assert!(
            named.iter().any(|way| PAGE.contains(way)),
            "{name} is missing from docs/book/src/reference/scenario.md"
        );
    }
}
