//! The search of RFC 9097: live, in a lab and in the simulator.

use super::told::{Told, keys, way};
use super::{SearchType, ThroughputArgs};
use crate::failure::bad_argument;
use crate::output::Output;
use crate::picture::{Line, Panel};
use crate::screen::Progress;
use crate::secret;
use crate::target::{Bed, On, load};
use anyhow::{Context, Result, anyhow, bail};
use dwell_core::throughput::udpst::Algorithm;
use dwell_core::throughput::udpst::capacity::{Tested, rate, report};
use dwell_core::throughput::udpst::{PORT, Parameters, SubInterval, over_trains};
use dwell_core::{Circumstances, Direction, Effort, Quantity};
use dwell_lab::Lab;
use dwell_net::throughput::udpst::{UdpstConfig, UdpstServer, UdpstServerConfig, measure as test};
use dwell_sim::SimPath;
use dwell_store::{Ask, Found, Header, RecordWriter};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// A test that is over.
pub(super) struct Measured {
    pub(super) ask: Ask,
    pub(super) circumstances: Circumstances,
    pub(super) tested: Tested,
}

/// Measures what was asked for.
pub(super) fn measure(args: &ThroughputArgs, output: &Output) -> Result<Measured> {
    let algorithm = match args.search.unwrap_or_default() {
        SearchType::B => Algorithm::B,
        SearchType::C => Algorithm::C,
    };
    let how = Parameters { test: args.seconds as u16, algorithm, ..Parameters::default() };
    let progress = Progress::start();
    progress.say(format!("search for the capacity, {:.0} s", args.seconds));
    let (tested, circumstances) = match args.on {
        On::Live => live(args, how)?,
        On::Kernel => {
            let scenario = load(Path::new(&args.host))?;
            let Bed::Lab(lab, _) = Bed::make(&scenario, true, output.seed)? else { bail!("no lab was made") };
            (in_lab(&lab, args.direction(), how)?, lab.told(Circumstances::default()))
        }
        On::Sim => {
            let scenario = load(Path::new(&args.host))?;
            let mut path = SimPath::connected(&scenario, output.seed)?;
            // Trains tell of delay one way alone.
            let how = Parameters { one_way: true, ..how };
            let tested = over_trains(&mut path, &how, args.direction())?;
            let world = "simulator".to_owned();
            (tested, Circumstances { world, ..Circumstances::default() })
        }
    };
    drop(progress);
    let measured = Measured { ask: args.ask(output.seed), circumstances, tested };
    keep(&measured, output)?;
    Ok(measured)
}

/// Host and port of `HOST`, `HOST:PORT`, `[HOST]:PORT` or an address of IPv6.
fn place(host: &str, port: Option<u16>) -> Result<(String, u16)> {
    let usual = port.unwrap_or(PORT);
    let split = host.rsplit_once(':').filter(|(name, _)| !name.contains(':') || name.ends_with(']'));
    match split {
        Some((_, _)) if port.is_some() => bail!("{host}: a port is given twice"),
        Some((name, port)) => {
            let port = port.parse().ok().filter(|port| *port > 0);
            Ok((name.to_owned(), port.with_context(|| format!("{host}: no port is called so"))?))
        }
        None => Ok((host.to_owned(), usual)),
    }
}

fn live(args: &ThroughputArgs, parameters: Parameters) -> Result<(Tested, Circumstances)> {
    let (host, port) = place(&args.host, args.port).map_err(bad_argument)?;
    let secret = args.secret.as_deref().map(secret::read).transpose()?;
    let secret = secret.map(|secret| (secret, args.secret_number));
    let config = UdpstConfig { host, port, secret, direction: args.direction(), parameters };
    let circumstances = Circumstances { world: "live".to_owned(), ..Circumstances::default() };
    Ok((test(&config)?, circumstances))
}

/// Between a lab's two hosts, one of which has a server.
fn in_lab(lab: &Lab, direction: Direction, parameters: Parameters) -> Result<Tested> {
    let listen = SocketAddr::new(lab.agent_address(), PORT);
    let server =
        lab.at_destination(|| UdpstServer::bind(UdpstServerConfig { listen, secret: None, tests: 1 }))??;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| lab.at_destination(|| server.serve(&stop)));
        let (host, port) = (listen.ip().to_string(), PORT);
        let config = UdpstConfig { host, port, secret: None, direction, parameters };
        let tested = lab.at_source(|_| test(&config));
        stop.store(true, Ordering::Relaxed);
        serving.join().map_err(|_| anyhow!("the server's thread died"))???;
        Ok(tested??)
    })
}

fn effort(tested: &Tested) -> Effort {
    tested.parts.iter().fold(Effort::default(), |sum, part| {
        let (packets, lost) = (u64::from(part.packets), u64::from(part.troubles[0]));
        let headers = if tested.ipv6 { 48 } else { 28 };
        let bytes = dwell_core::Bytes(part.bytes.saturating_add(packets * headers));
        let span = dwell_core::Nanos::from_micros(part.micros.into());
        sum.plus(Effort { probes: 1, packets: packets + lost, lost, bytes, span })
    })
}

fn keep(measured: &Measured, output: &Output) -> Result<()> {
    let Some(file) = &output.record else { return Ok(()) };
    let header = Header::now(measured.ask.clone(), None, measured.circumstances.clone());
    let mut writer = RecordWriter::create(file, &header)?;
    writer.push_tested(measured.tested.clone())?;
    let (report, effort) = (report(&measured.tested), effort(&measured.tested));
    writer.finish(&[Found { stage: super::VERB.to_owned(), report, effort, used: None }])?;
    Ok(())
}

/// Tells.
pub(super) fn tell(measured: &Measured, output: &Output) -> Result<()> {
    let Measured { ask, circumstances, tested } = measured;
    let search = if tested.algorithm == Algorithm::B { "B" } else { "C" };
    let line = format!(
        "search of type {search}, load {} {}; the capacity counts IP packets, headers and all, in the best sub-interval",
        way(tested.direction),
        ask.target
    );
    let told = Told {
        ask,
        circumstances,
        report: report(tested),
        asked: Quantity::IpCapacity,
        of: "IP",
        direction: tested.direction,
        effort: effort(tested),
        line,
        keys: keys(json!({
            "search": tested.algorithm,
            "intervals": tested.parts.iter().map(|part| interval(part, tested.ipv6)).collect::<Vec<_>>(),
        })),
        panels: panels(tested),
    };
    told.tell(output)
}

/// The rate, and the delay, over time.
fn panels(tested: &Tested) -> Vec<Box<dyn Panel>> {
    let at = |part: &SubInterval| f64::from(part.until) / 1e3;
    let rates = tested.parts.iter().map(|part| (at(part), rate(part, tested.ipv6).0 as f64 / 1e6)).collect();
    let delays = tested.parts.iter().filter(|part| part.variation[3] > 0);
    let delays = delays.map(|part| (at(part), f64::from(part.variation[2]) / f64::from(part.variation[3])));
    vec![
        Box::new(Line { points: rates, upwards: "IP that arrived (Mb/s)" }),
        Box::new(Line { points: delays.collect(), upwards: "Delay over the least (ms)" }),
    ]
}

fn interval(part: &SubInterval, ipv6: bool) -> Value {
    let millis = |ms: u32| u64::from(ms) * 1_000_000;
    let [least, most, sum, count] = part.variation;
    json!({
        "until_ns": millis(part.until),
        "span_ns": u64::from(part.micros) * 1_000,
        "rate_bps": rate(part, ipv6),
        "lost": part.troubles[0],
        "reordered": part.troubles[1],
        "doubled": part.troubles[2],
        "delay_variation_ns": (count > 0).then(|| json!({
            "least": millis(least), "mean": millis(sum / count.max(1)), "most": millis(most),
        })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_may_follow_the_host() {
        let of = |host: &str, port| place(host, port).ok();
        let named = |name: &str, port| Some((name.to_owned(), port));
        assert_eq!(of("192.0.2.7", None), named("192.0.2.7", PORT));
        assert_eq!(of("192.0.2.7:25000", None), named("192.0.2.7", 25_000));
        assert_eq!(of("2001:db8::7", Some(5)), named("2001:db8::7", 5));
        assert_eq!(of("[2001:db8::7]:25000", None), named("[2001:db8::7]", 25_000));
        assert_eq!(of("host:http", None), None);
        assert_eq!(of("host:0", None), None);
        assert_eq!(of("host:1", Some(2)), None);
    }
}
