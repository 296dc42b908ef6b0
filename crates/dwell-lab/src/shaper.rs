//! Links shaped by the kernel's own token buckets (carriers `tbf` and `htb`).
//!
//! A bucket of one packet, the smallest that works, still lets a lone packet pass without delay: it makes a pair's
//! gap right and a packet's own serialisation wrong. Where size against delay matters, the emulated carrier is due.
//! The kernel's timer is late for each packet that waits, and a bucket of one packet spills what comes meanwhile: at 100
//! Mb/s such a link carried 86. So the bucket holds what comes in that time too.

use crate::error::LabError;
use crate::namespace::Namespace;
use crate::wiring::ETHERNET_HEADER;
use dwell_core::{BitRate, Bytes, Nanos};
use dwell_sim::{Carrier, LinkSpec, QueueLimit, Shaper};

/// What a frame is longer on the wire than the kernel counts: check sequence and preamble.
const UNCOUNTED: Bytes = Bytes(12);

/// By how much the timer that lets a packet go is late, generously: 15 to 22 us on a virtual machine.
const TIMER_LATE: Nanos = Nanos::from_micros(25);

/// What an unlimited queue is to the kernel: more than a lab ever holds.
const UNLIMITED: u64 = 1 << 30;

/// Shapes what leaves by `port` of `node` as `link` says.
pub(crate) fn shape(
    node: &Namespace,
    port: &str,
    link: &LinkSpec,
    carrier: Carrier,
    mtu: u32,
) -> Result<(), LabError> {
    let Some(rate) = link.rate.into_iter().chain(link.tokens()).min() else { return Ok(()) };
    node.tc(&lines(port, rate, link, carrier, mtu))
}

fn lines(port: &str, rate: BitRate, link: &LinkSpec, carrier: Carrier, mtu: u32) -> Vec<String> {
    let overhead = (UNCOUNTED + link.framing.gap()).0;
    let frame = u64::from(mtu + ETHERNET_HEADER) + overhead;
    let burst = frame + (rate.0 as f64 / 8.0 * TIMER_LATE.as_secs_f64()).ceil() as u64;
    let table = format!("stab overhead {overhead} linklayer ethernet");
    let rate = rate.0;
    match carrier {
        Carrier::Htb => vec![
            format!("qdisc add dev {port} root handle 1: {table} htb default 1"),
            format!(
                "class add dev {port} parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit \
                 burst {burst} cburst {burst} quantum {frame}"
            ),
            match link.queue {
                QueueLimit::Packets(count) => format!("qdisc add dev {port} parent 1:1 pfifo limit {count}"),
                QueueLimit::Bytes(size) => format!("qdisc add dev {port} parent 1:1 bfifo limit {}", size.0),
                QueueLimit::Unlimited => format!("qdisc add dev {port} parent 1:1 bfifo limit {UNLIMITED}"),
            },
        ],
        Carrier::Tbf | Carrier::Emulated => {
            let limit = match link.queue {
                QueueLimit::Packets(count) => count.saturating_mul(frame),
                QueueLimit::Bytes(size) => size.0,
                QueueLimit::Unlimited => UNLIMITED,
            };
            let limit = limit.clamp(frame, UNLIMITED);
            let Some(Shaper { rate: tokens, burst: depth, peak }) =
                link.shaper.filter(|it| it.rate.0 == rate)
            else {
                return vec![format!(
                    "qdisc add dev {port} root handle 1: {table} tbf rate {rate}bit burst {burst} limit {limit}"
                )];
            };
            // Of a shaper's bucket the gap takes no tokens.
            let table = format!("stab overhead {} linklayer ethernet", UNCOUNTED.0);
            let fastest = link.rate.into_iter().chain(peak).min().filter(|fastest| *fastest > tokens);
            let peak = fastest.map_or(String::new(), |fastest| {
                let late = (fastest.0 as f64 / 8.0 * TIMER_LATE.as_secs_f64()).ceil() as u64;
                format!(" peakrate {}bit mtu {}", fastest.0, frame + late)
            });
            vec![format!(
                "qdisc add dev {port} root handle 1: {table} tbf rate {rate}bit burst {} limit {limit}{peak}",
                depth.0
            )]
        }
    }
}
