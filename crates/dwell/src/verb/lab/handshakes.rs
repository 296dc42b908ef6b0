//! `dwell lab handshakes`: handshakes of real kernels of which each segment is lost, and what the tracker says of them.

use crate::figure::counted;
use crate::output::Output;
use crate::screen::{print_json, print_text};
use crate::spare::spare;
use crate::table::Table;
use crate::target::allow_labs;
use anyhow::{Context, Result};
use clap::Args;
use dwell_core::Nanos;
use dwell_lab::{ForcedHeard, ForcedLosses, Naming};
use dwell_sim::passing::{CaptureFile, CaptureFormat, CaptureLink, HalfTally, Judge};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// Lose each segment of handshakes of real kernels, and hold what `dwell watch` says of them against what was answered
///
/// Client and server are this machine's own TCP, with a probe between them. SYN, SYN/ACK and third segment are lost
/// once, twice and three times in a row, and in each combination, on either side of the probe, over IPv4 and IPv6,
/// with and without time stamps and SYN cookies, where the client asks at once, with its first ACK, later or never,
/// where the server speaks first, and with TCP Fast Open. What is true is told by taps at the hosts' own interfaces.
/// All at once takes 11 s.
#[derive(Args)]
#[command(after_help = "Examples:
  dwell lab handshakes
  dwell lab handshakes --scatter-ms 15 --json
  dwell lab handshakes --rounds 5 --out forced.pcap --truth forced.jsonl    for other readers")]
pub(super) struct HandshakesArgs {
    /// How often each case, over either version of IP
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=i64::from(ForcedLosses::MOST_ROUNDS)))]
    rounds: u8,
    /// So much longer a packet takes at most on either side of the probe: they overtake each other
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=100))]
    scatter_ms: u16,
    /// Keep what the probe saw: pcapng by that ending, otherwise pcap
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// What is true, as JSON lines: each connection
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
}

/// The halves, as the judge calls them.
const HALVES: [&str; 2] = ["server", "client"];

impl HandshakesArgs {
    pub(super) fn run(self, output: &Output) -> Result<()> {
        super::refuse_files(output)?;
        let written: Vec<&Path> =
            [&self.out, &self.truth].into_iter().flatten().map(PathBuf::as_path).collect();
        spare(&[], &written)?;
        let files = [&self.out, &self.truth].map(|file| file.as_deref().map(create).transpose());
        let [capture, truths] = files;
        let (capture, truths) = (capture?, truths?);
        allow_labs()?;
        let scatter = Nanos::from_millis(self.scatter_ms.into());
        let heard = ForcedLosses { rounds: self.rounds, scatter, seed: output.seed }.run()?;
        if let (Some(file), Some(out)) = (capture, &self.out) {
            write(&heard, file, out)?;
        }
        if let Some(mut file) = truths {
            for truth in &heard.truths {
                serde_json::to_writer(&mut file, truth)?;
                file.write_all(b"\n")?;
            }
            file.flush()?;
        }
        let judge = heard.judged();
        if output.json { print_json(&document(&heard, &judge)) } else { print_text(&text(&heard, &judge)) }
    }
}

fn create(file: &Path) -> Result<BufWriter<File>> {
    Ok(BufWriter::new(File::create(file).with_context(|| format!("cannot create {}", file.display()))?))
}

fn write(heard: &ForcedHeard, file: BufWriter<File>, name: &Path) -> Result<()> {
    let format = CaptureFormat {
        next_generation: name.extension().is_some_and(|ending| ending == "pcapng"),
        nanoseconds: true,
        big_endian: false,
        link: CaptureLink::Ethernet,
        snap: 65_535,
        bare: true,
    };
    let mut capture = CaptureFile::new(file, format)?;
    for tapped in &heard.passed {
        capture.write_frame(tapped.at, &tapped.bytes)?;
    }
    capture.finish()?;
    Ok(())
}

/// By what is peculiar about them, in the order of the cases, and all.
fn labels(heard: &ForcedHeard) -> Vec<&'static str> {
    let mut labels = Vec::new();
    for place in 0..heard.truths.first().map_or(0, |truth| truth.labels.len()) {
        for label in heard.truths.iter().map(|truth| truth.labels[place]) {
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
    }
    labels.push("all");
    labels
}

fn connections(tally: &HalfTally) -> u64 {
    tally.knowable + tally.unknowable.values().sum::<u64>()
}

fn text(heard: &ForcedHeard, judge: &Judge) -> String {
    let mut table = Table::new(&[
        "handshakes",
        "count",
        "server half: exact, of so many that can be",
        "one of two",
        "at most",
        "wrong",
        "client half: exact",
        "one of two",
        "at most",
        "wrong",
    ]);
    for label in labels(heard) {
        let tallies = HALVES.map(|half| judge.tallies().get(&(label, half)).cloned().unwrap_or_default());
        let mut row = vec![label.to_owned(), connections(&tallies[0]).to_string()];
        for tally in tallies {
            row.push(format!("{} of {}", tally.found + tally.lucky, tally.knowable));
            row.extend(
                [tally.withheld, tally.bounded, tally.wrong + tally.neither].map(|count| count.to_string()),
            );
        }
        table.add_row(row);
    }
    let mut text = format!("{}\n", table.text());
    for (hosts, echoed) in &heard.echoed {
        for (who, naming) in [("server", echoed.by_server), ("client", echoed.by_client)] {
            let Naming { answered, first, other } = naming;
            if answered + first + other > 0 {
                let _ = writeln!(
                    text,
                    "{hosts}: the {who}'s answers to a repetition name the first {first} times, the repetition \
                     {answered} times, another {other} times"
                );
            }
        }
    }
    let _ = writeln!(
        text,
        "{} passed; {} left out, for the hosts' taps do not tell what was answered",
        counted(heard.passed.len() as u64, "packet"),
        counted(heard.doubtful as u64, "connection")
    );
    for wrong in judge.wrong() {
        let _ = writeln!(text, "wrong: {wrong:?}");
    }
    text
}

fn document(heard: &ForcedHeard, judge: &Judge) -> Value {
    let told = |tally: HalfTally| {
        json!({
            "can_be_known": tally.knowable,
            "exact": tally.found + tally.lucky,
            "one_of_two": tally.withheld,
            "at_most": tally.bounded,
            "wrong": tally.wrong + tally.neither,
        })
    };
    let rows: Vec<Value> = labels(heard)
        .into_iter()
        .map(|label| {
            let of = |half| judge.tallies().get(&(label, half)).cloned().unwrap_or_default();
            json!({
                "handshakes": label,
                "count": connections(&of("server")),
                "server_half": told(of("server")),
                "client_half": told(of("client")),
                "total": told(of("total")),
            })
        })
        .collect();
    let naming = |naming: Naming| json!({ "first": naming.first, "repetition": naming.answered, "other": naming.other });
    let echoed: Vec<Value> = heard
        .echoed
        .iter()
        .map(|(hosts, echoed)| {
            json!({ "hosts": hosts, "server_names": naming(echoed.by_server), "client_names": naming(echoed.by_client) })
        })
        .collect();
    json!({
        "verb": "lab handshakes",
        "dwell": env!("CARGO_PKG_VERSION"),
        "packets": heard.passed.len(),
        "connections": heard.truths.len(),
        "left_out": heard.doubtful,
        "rows": rows,
        "echoes": echoed,
        "wrong": judge.wrong().len(),
    })
}
