//! One packet's way, told in a sentence.

use super::journey::{Before, Journey, Process, Protocol};
use super::stage::{Point, Stage, Way};
use super::tally::Numbered;
use std::net::SocketAddr;

/// Where a slow packet's time went: the longest stage, and the second where the first is less than half of it.
#[must_use]
pub fn story(packet: &Numbered) -> String {
    let journey = &packet.journey;
    let total = journey.total();
    let mut stages: Vec<_> = journey.stages().collect();
    stages.sort_by_key(|(_, span)| std::cmp::Reverse(*span));
    let told = if stages.first().is_some_and(|(_, span)| *span * 2 < total) { 2 } else { 1 };
    let parts: Vec<String> = stages
        .iter()
        .take(told)
        .map(|(stage, span)| format!("{span:.2} {}", place(journey, *stage)))
        .collect();
    let (number, whose) = (grouped(packet.number), whose(journey));
    format!("packet {number} of {whose} took {total:.2}: {}", parts.join(", "))
}

/// A number with its digits in groups of three.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|one| std::str::from_utf8(one).ok()).collect();
    groups.join(" ")
}

fn whose(journey: &Journey) -> String {
    let flow = &journey.flow;
    let protocol = match flow.protocol {
        Protocol::Tcp => "tcp".to_owned(),
        Protocol::Udp => "udp".to_owned(),
        Protocol::Icmp => "icmp".to_owned(),
        Protocol::Other(number) => format!("protocol {number}"),
    };
    let ported = matches!(flow.protocol, Protocol::Tcp | Protocol::Udp);
    let far = |end: SocketAddr| if ported { end.to_string() } else { end.ip().to_string() };
    let near = |end: SocketAddr| if ported { format!(":{}", end.port()) } else { end.ip().to_string() };
    match journey.way {
        Way::Send => format!("{protocol} {} -> {}", near(flow.local), far(flow.remote)),
        Way::Receive | Way::Answer => format!("{protocol} {} -> {}", far(flow.remote), near(flow.local)),
    }
}

/// Where in its way the time went.
fn place(journey: &Journey, stage: Stage) -> String {
    let who = journey.process.as_ref().map_or_else(|| "the program".to_owned(), thread);
    match stage {
        Stage::Nic => "between the NIC's stamp and the driver".to_owned(),
        Stage::Driver if journey.times.at(Point::Protocol).is_none() => {
            "between the driver's hand-over and where it was seen next".to_owned()
        }
        Stage::Driver => {
            "between driver and protocol input (receive offload, or a core's backlog)".to_owned()
        }
        Stage::Protocol => "between protocol input and the socket's queue".to_owned(),
        Stage::SocketQueue if journey.times.at(Point::Asked).is_some() => {
            let behind = match journey.ahead {
                0 => String::new(),
                1 => ", behind one other packet,".to_owned(),
                more => format!(", behind {more} other packets,"),
            };
            format!("in the socket's queue{behind} until {who} asked for it")
        }
        Stage::SocketQueue => format!("in the socket's queue before {who} was woken"),
        Stage::WakeUp => {
            let core =
                journey.reader_core.map_or_else(|| "its core".to_owned(), |core| format!("core {core}"));
            let meanwhile = match &journey.before {
                Some(Before::Ran(other)) => {
                    format!(", while {core} ran {}", named(other, "pid", other.pid))
                }
                Some(Before::Idle(slept)) => format!(", on {core}, which had slept for {slept}"),
                None => String::new(),
            };
            format!("between waking of {who} and its running{meanwhile}")
        }
        Stage::Reader => format!("between {who}'s running and its asking for the packet"),
        Stage::Copy => format!("in the read by {who}"),
        Stage::Application => format!("between the read's return and the stamp of {who}"),
        Stage::Call => format!("between the system call of {who} and the queueing discipline"),
        Stage::Discipline => "in the queueing discipline".to_owned(),
        Stage::Xmit => "in the driver".to_owned(),
        Stage::Completion => "between the driver and its report that the packet was sent".to_owned(),
        Stage::Answer => "between protocol input and the kernel's own answer".to_owned(),
    }
}

fn thread(process: &Process) -> String {
    named(process, "tid", process.tid)
}

fn named(process: &Process, what: &str, number: u32) -> String {
    let whose = if process.outside { " of the host" } else { "" };
    format!("`{}` ({what} {number}{whose})", process.name)
}

#[cfg(test)]
mod tests {
    use super::super::made::{after, journey, late, received, sleeper, thread};
    use super::*;
    use crate::unit::Nanos;

    #[test]
    fn a_busy_core_is_named_with_who_ran() {
        let journey = after(received(Nanos(0), sleeper(1_900_000)), Before::Ran(thread("stress", 9)));
        assert_eq!(
            story(&Numbered { number: 4_711, journey }),
            "packet 4 711 of udp 10.0.0.1:9 -> :7 took 1.90 ms: 1.90 ms between waking of `reader` (tid 12) and its \
             running, while core 1 ran `stress` (pid 9)"
        );
    }

    #[test]
    fn numbers_of_the_host_are_told_as_such() {
        let other = Process { outside: true, ..thread("ksoftirqd/1", 23) };
        let mut journey = after(received(Nanos(0), sleeper(1_900_000)), Before::Ran(other));
        journey.process = Some(Process { outside: true, ..thread("reader", 4_012) });
        let told = story(&Numbered { number: 1, journey });
        assert!(told.contains("`reader` (tid 4012 of the host)"), "{told}");
        assert!(told.ends_with("ran `ksoftirqd/1` (pid 23 of the host)"), "{told}");
    }

    #[test]
    fn a_queue_is_named_with_what_lay_in_it() {
        let mut journey = received(Nanos(0), late(250_000));
        journey.ahead = 6;
        assert_eq!(
            story(&Numbered { number: 12, journey }),
            "packet 12 of udp 10.0.0.1:9 -> :7 took 253.70 us: 250.00 us in the socket's queue, behind 6 other packets, \
             until `reader` (tid 12) asked for it"
        );
    }

    #[test]
    fn what_was_not_seen_is_not_named() {
        let points = [(Point::Driver, 0), (Point::Stamped, 12_000)];
        let journey = journey(Way::Receive, Nanos(0), &points);
        assert_eq!(
            story(&Numbered { number: 3, journey }),
            "packet 3 of udp 10.0.0.1:9 -> :7 took 12.00 us: 12.00 us between the driver's hand-over and where it was \
             seen next"
        );
    }

    #[test]
    fn numbers_in_groups() {
        assert_eq!([7, 1_000, 1_234_567].map(grouped), ["7", "1 000", "1 234 567"]);
    }
}
