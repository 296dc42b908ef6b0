//! SOBAS against fixed windows: the best of those is the smallest that reaches 99 % of the most that any reached; and
//! on a route that becomes longer after three seconds, against the kernel's own window.

use super::{Failure, lab, rate, run};
use dwell_core::stats::quantile::median;
use dwell_core::throughput::Transfer;
use dwell_core::{BitRate, Bytes, Nanos};

/// Windows of the sweep, over what the link carries in one round trip without a queue.
const SWEEP: [f64; 9] = [0.6, 0.8, 1.0, 1.1, 1.2, 1.4, 2.0, 4.0, 8.0];

struct Figures {
    rate: f64,
    delay: f64,
}

/// Of several runs: the medians.
fn of(runs: &[Transfer]) -> Figures {
    let rates: Vec<f64> = runs.iter().map(rate).collect();
    let delays: Vec<f64> = runs
        .iter()
        .filter_map(|run| median(&run.rtts(Nanos::ZERO, Nanos::MAX).collect::<Vec<_>>()))
        .collect();
    Figures { rate: median(&rates).unwrap_or(f64::NAN), delay: median(&delays).unwrap_or(f64::NAN) }
}

pub(super) fn judge(runs: u32, seconds: u64) -> Result<(), Failure> {
    for (mbps, round_trip_us) in [(10, 40_000), (100, 20_000), (100, 5_000)] {
        let holds = (mbps * round_trip_us / 8) as f64;
        let queue = Bytes((holds * 8.0) as u64);
        let lab = lab(mbps, round_trip_us, queue, "")?;
        let repeat = |autotune: bool, window: Option<Bytes>| -> Result<Figures, Failure> {
            let runs: Result<Vec<Transfer>, Failure> =
                (0..runs).map(|_| run(&lab, autotune, window, seconds)).collect();
            Ok(of(&runs?))
        };
        println!(
            "{mbps} Mb/s, {} round trip, queue {queue}, cubic, medians of {runs} runs of {seconds} s",
            Nanos::from_micros(round_trip_us as i64)
        );
        let show = |name: &str, figures: &Figures| {
            println!(
                "  {name:<22} {:<12} {}",
                BitRate(figures.rate as u64).to_string(),
                Nanos::from_f64(figures.delay)
            );
        };
        let mut swept = Vec::new();
        for share in SWEEP {
            let window = Bytes((holds * share) as u64);
            let figures = repeat(false, Some(window))?;
            show(&format!("window {window}"), &figures);
            swept.push(figures);
        }
        let free = repeat(false, None)?;
        show("kernel's own window", &free);
        let tuned = repeat(true, None)?;
        show("SOBAS", &tuned);
        let most = swept.iter().map(|figures| figures.rate).fold(0.0, f64::max);
        let best =
            swept.iter().find(|figures| figures.rate >= 0.99 * most).ok_or("no window reached anything")?;
        println!(
            "  SOBAS over the best fixed window: rate {:.3}, delay {:.3}",
            tuned.rate / best.rate,
            tuned.delay / best.delay
        );
    }
    Ok(())
}

pub(super) fn longer(runs: u32, seconds: u64) -> Result<(), Failure> {
    for (mbps, before_ms, after_ms) in [(20, 10, 40), (100, 10, 20), (10, 40, 120)] {
        println!("{mbps} Mb/s, {before_ms} ms of round trip, {after_ms} from the third second on");
        for (name, autotune) in [("kernel's own window", false), ("SOBAS", true)] {
            for _ in 0..runs {
                let queue = Bytes(mbps * after_ms * 1_000);
                let more = format!(
                    "reroute = {{ at = \"3 s\", propagation = \"{} ms\" }}\n",
                    (after_ms - before_ms) / 2
                );
                let run = run(&lab(mbps, before_ms * 1_000, queue, &more)?, autotune, None, seconds)?;
                let course: Vec<String> = run
                    .intervals(Nanos::from_secs(1))
                    .iter()
                    .map(|second| {
                        format!(
                            "{:.1} in {:.0}",
                            second.rate.0 as f64 / 1e6,
                            second.rtt.map_or(f64::NAN, |rtt| rtt.as_f64() / 1e6)
                        )
                    })
                    .collect();
                println!("  {name:<20} Mb/s in ms, second by second: {}", course.join(", "));
            }
        }
    }
    Ok(())
}
