//! Whether what passed a tap shows that it missed something.
//!
//! A tap that hears all can hear the same segments, if each of them has a cause among those before it: each SYN/ACK a
//! SYN of its own, or the server's timer; each pure ACK a SYN/ACK of its own. Then a reader that tells what is true at
//! that tap tells what is false at this one, or is silent at both.

use super::heard::{Passing, SOONEST_REPETITION, WAIT};
use super::plan::{Kind, Plan, View};

use dwell_core::Nanos;
use dwell_core::tcp::TcpFlags;
use serde::Serialize;

/// Of a tap that misses segments: whether what it heard of a connection shows it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deafness {
    /// It shows in time.
    Shown,
    /// It shows, but only after the handshake is over: what is told then cannot be taken back.
    ShownLater,
    /// A tap that misses nothing can hear the same.
    Hidden,
}

/// Timers may be a little early.
const SOONEST: Nanos = Nanos(SOONEST_REPETITION.0 - 10_000_000);

impl Deafness {
    /// What the tap at this probe heard of a connection; `None` if it hears all.
    pub(super) fn of(plan: &Plan, probe: usize, passed: &[Passing<'_>]) -> Option<Self> {
        if plan.views[probe] != View::Deaf {
            return None;
        }
        Some(match in_time(passed) {
            in_time if is_deaf(in_time) => Self::Shown,
            _ if is_deaf(passed) => Self::ShownLater,
            _ => Self::Hidden,
        })
    }
}

/// What passes before a reader must have its mind made up. Of what bears the time of the client's ACK too, by a coarse clock, that is
/// what came before it.
fn in_time<'a, 's>(passed: &'a [Passing<'s>]) -> &'a [Passing<'s>] {
    let is_third = |passing: &Passing<'_>| passing.sent.forward && !passing.is(Kind::Syn);
    let Some(place) = passed.iter().position(is_third) else { return passed };
    let (before, third) = (&passed[..place], &passed[place]);
    let of = |kind: Kind| -> Vec<usize> { (0..place).filter(|at| before[*at].is(kind)).collect() };
    let is_reset = third.segment.is_some_and(|segment| segment.flags.has(TcpFlags::RST));
    let is_whole = match (&of(Kind::Syn)[..], &of(Kind::SynAck)[..]) {
        ([syn], [answer]) => {
            let took = before[*answer].at - before[*syn].at;
            (third.is(Kind::Ack) || is_reset) && syn < answer && took < SOONEST
        }
        _ => false,
    };
    let waited = passed.iter().take_while(|passing| passing.at <= third.at + WAIT).count();
    &passed[..if is_whole { place + 1 } else { waited }]
}

/// A SYN/ACK that passed: its time stamp, and whether an ACK to it did.
struct Answer {
    value: Option<u32>,
    acknowledged: bool,
}

/// What one end was heard to send.
#[derive(Default)]
struct End {
    /// When, and with which time stamp.
    syns: Vec<(Nanos, Option<u32>)>,
    /// SYNs that no SYN/ACK of the other end was heard to answer.
    unanswered: usize,
    answers: Vec<Answer>,
}

/// Whether something that was heard has no cause among what was heard before it. Either end may open, or both: then a
/// SYN/ACK answers the other's SYN, whoever sent it.
fn is_deaf(heard: &[Passing<'_>]) -> bool {
    let mut ends = [End::default(), End::default()];
    let mut server_speaks = false;
    for passing in heard {
        let echo = passing.stamps().map(|stamps| stamps.echo).filter(|echo| *echo != 0);
        let value = passing.stamps().map(|stamps| stamps.value);
        let flags = passing.segment.map(|segment| segment.flags);
        let [client, server] = &mut ends;
        let (own, others) = if passing.sent.forward { (client, server) } else { (server, client) };
        match passing.sent.kind {
            Kind::Syn => {
                own.syns.push((passing.at, value));
                own.unanswered += 1;
            }
            Kind::SynAck => {
                if let Some((first, _)) = others.syns.first() {
                    let is_named = |echo: u32| others.syns.iter().any(|(_, syn)| *syn == Some(echo));
                    let names_none = echo.is_some_and(|echo| !is_named(echo));
                    if names_none || others.unanswered == 0 && passing.at - *first < SOONEST {
                        return true;
                    }
                    others.unanswered = others.unanswered.saturating_sub(1);
                } else if !own.syns.is_empty() {
                    return true;
                }
                own.answers.push(Answer { value, acknowledged: false });
            }
            Kind::Ack if !others.answers.is_empty() => {
                let named = |answer: &Answer| echo.is_none() || answer.value == echo;
                let since = others.answers.iter().position(named);
                let free =
                    since.and_then(|since| others.answers[since..].iter_mut().find(|one| !one.acknowledged));
                match free {
                    Some(answer) => answer.acknowledged = true,
                    None => return true,
                }
            }
            Kind::Later if !passing.sent.forward && !flags.is_some_and(|flags| flags.has(TcpFlags::RST)) => {
                server_speaks = true;
            }
            _ => {}
        }
    }
    let [client, server] = &ends;
    server_speaks && server.answers.is_empty() && !client.syns.is_empty()
}
