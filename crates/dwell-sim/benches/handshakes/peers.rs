//! Other readers of captures, each asked for what it knows of handshakes.

use super::verdict::Said;
use dwell_core::Nanos;
use dwell_core::tcp::Endpoint;
use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Stdio};

/// A reader: what it said, or nothing if it is not installed.
type Peer = fn(&Path) -> Option<Vec<Said>>;

pub(super) const ALL: [(&str, Peer); 3] = [("tshark", tshark), ("tcptrace", tcptrace), ("argus", argus)];

fn output(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn end(address: &str, port: &str) -> Option<Endpoint> {
    Some(Endpoint { address: address.parse().ok()?, port: port.parse().ok()? })
}

fn seconds(text: &str) -> Option<Nanos> {
    text.parse().ok().map(|seconds: f64| Nanos::from_f64(seconds * 1e9))
}

/// `tcp.analysis.ack_rtt` of the SYN/ACK and of the third segment, `tcp.analysis.initial_rtt` of the whole.
fn tshark(file: &Path) -> Option<Vec<Said>> {
    let fields = [
        "ip.src",
        "ipv6.src",
        "ip.dst",
        "ipv6.dst",
        "tcp.srcport",
        "tcp.dstport",
        "tcp.flags.syn",
        "tcp.seq_raw",
        "tcp.ack_raw",
        "tcp.analysis.ack_rtt",
        "tcp.analysis.initial_rtt",
        "tcp.stream",
        "tcp.seq",
        "tcp.ack",
    ];
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["-n", "-T", "fields", "-E", "separator=,", "-E", "occurrence=l"]);
    command.args(["-Y", "tcp.analysis.ack_rtt"]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let text = output(&mut command)?;
    let mut streams = HashSet::new();
    let said = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let either = |one: usize| if cells[one].is_empty() { cells[one + 1] } else { cells[one] };
        let (from, to) = (end(either(0), cells[4])?, end(either(2), cells[5])?);
        let number = |cell: usize| cells[cell].parse::<u32>().ok();
        let tolerance = Nanos(1_000);
        let syn = matches!(cells[6], "1" | "True");
        if syn {
            let halves = [seconds(cells[9]), None, None];
            return Some(Said {
                client: to,
                server: from,
                isn: Some(number(8)?.wrapping_sub(1)),
                halves,
                tolerance,
            });
        }
        let third = (cells[12], cells[13]) == ("1", "1") && streams.insert(cells[11].to_owned());
        let halves = [None, seconds(cells[9]), seconds(cells[10])];
        third.then_some(Said {
            client: from,
            server: to,
            isn: Some(number(7)?.wrapping_sub(1)),
            halves,
            tolerance,
        })
    });
    Some(said.collect())
}

/// `RTT from 3WHS` of both directions, in milliseconds with one digit behind the point.
fn tcptrace(file: &Path) -> Option<Vec<Said>> {
    let text = output(Command::new("tcptrace").args(["-n", "-l", "-r", "--csv"]).arg(file))?;
    let mut lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let names: Vec<&str> = lines.next()?.split(',').map(str::trim).collect();
    let column = |name: &str| names.iter().position(|other| *other == name);
    let ends = [column("host_a")?, column("port_a")?, column("host_b")?, column("port_b")?];
    let (there, back) = (column("RTT_from_3WHS_a2b")?, column("RTT_from_3WHS_b2a")?);
    let said = lines.filter_map(|line| {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let value = |cell: usize| {
            let milliseconds: f64 = cells.get(cell)?.parse().ok()?;
            (milliseconds > 0.0).then(|| Nanos::from_f64(milliseconds * 1e6))
        };
        let halves = [value(there), value(back), None];
        let [client, server] = [end(cells[ends[0]], cells[ends[1]])?, end(cells[ends[2]], cells[ends[3]])?];
        Some(Said { client, server, isn: None, halves, tolerance: Nanos(100_000) })
    });
    Some(said.collect())
}

/// `synack`, `ackdat` and `tcprtt`, in seconds to the microsecond.
fn argus(file: &Path) -> Option<Vec<Said>> {
    let folder = file.parent()?;
    let flows = folder.join("flows");
    Command::new("argus").arg("-r").arg(file).arg("-w").arg(&flows).stderr(Stdio::null()).status().ok()?;
    let mut command = Command::new("ra");
    command
        .arg("-r")
        .arg(&flows)
        .args(["-n", "-p", "6", "-c", ",", "-s", "saddr", "sport", "daddr", "dport", "stcpb"]);
    let text = output(command.args(["synack", "ackdat", "tcprtt", "-", "tcp"]))?;
    let said = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let [source, source_port, sink, sink_port, isn, synack, ackdat, total] = cells.as_slice() else {
            return None;
        };
        let value = |text: &str| seconds(text).filter(|value| *value > Nanos::ZERO);
        let halves = [value(synack), value(ackdat), value(total)];
        let (client, server) = (end(source, source_port)?, end(sink, sink_port)?);
        Some(Said { client, server, isn: isn.parse().ok(), halves, tolerance: Nanos(2_000) })
    });
    Some(said.collect())
}
