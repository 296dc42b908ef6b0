//! What is true of a connection at a probe, and whether it can be known there.

use super::deaf::Deafness;
use super::heard::{Passing, SOONEST_REPETITION, WAIT};
use super::net::Sent;
use super::plan::{Course, Kind, Plan};
use dwell_core::Nanos;
use dwell_core::tcp::{Endpoint, TcpFlags, Timestamps};
use serde::Serialize;

/// What is true of one connection at one probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Truth {
    /// Which connection.
    pub connection: u32,
    /// Which probe, counted from the clients.
    pub probe: usize,
    /// Who opened it.
    pub client: Endpoint,
    /// Who was asked.
    pub server: Endpoint,
    /// The client's initial sequence number.
    pub isn_client: u32,
    /// Bytes of data on its SYN.
    pub syn_data: u32,
    /// What is peculiar about it.
    pub labels: Vec<&'static str>,
    /// Whether what passed shows that the tap misses something, if it does.
    pub deafness: Option<Deafness>,
    /// From the probe to the server and back.
    pub server_half: HalfTruth,
    /// From the probe to the client and back.
    pub client_half: HalfTruth,
    /// Both.
    pub total: HalfTruth,
}

/// What is true of one half.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HalfTruth {
    /// The time from each packet that was really answered, as it passed, until its answer passed.
    #[serde(rename = "values_ns")]
    pub values: Vec<Nanos>,
    /// What no answer can be quicker than.
    #[serde(rename = "least_ns")]
    pub least: Nanos,
    /// That of the values that what passed proves.
    #[serde(rename = "known_ns")]
    pub known: Option<Nanos>,
    /// Why nothing proves one.
    pub why: Option<WhyUnknown>,
}

/// Why a half cannot be known.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhyUnknown {
    /// What would have been answered did not pass.
    NotAsked,
    /// No answer passed.
    NotAnswered,
    /// It passed more than once, and nothing tells which one was answered.
    Ambiguous,
    /// A second or more: a repetition that did not pass here may have been answered (RFC 6298, 2.1).
    Repetition,
    /// The client's first segment that passed carries data or a FIN, and a program chose its time.
    DataInstead,
    /// The client broke off.
    Reset,
    /// Both ends opened.
    SimultaneousOpen,
    /// The tap misses segments, as what passed shows: a SYN/ACK that names a SYN not heard, or the server's direction
    /// without its SYN/ACK. What was answered may be among them.
    Missed,
    /// What passed tells a value, and it is wrong: the tap missed what was really answered.
    Trap,
}

fn known(value: Nanos) -> HalfTruth {
    HalfTruth { known: Some(value), ..HalfTruth::default() }
}

fn unknown(why: WhyUnknown) -> HalfTruth {
    HalfTruth { why: Some(why), ..HalfTruth::default() }
}

/// What `answer` proves, if it is the answer to one of `asked`, all of which passed before it.
fn proven(asked: &[&Passing<'_>], answer: &Passing<'_>) -> HalfTruth {
    let Some(newest) = asked.last() else { return unknown(WhyUnknown::NotAsked) };
    let named = match (newest.stamps(), answer.stamps()) {
        (Some(_), Some(stamps)) => {
            let same = |asked: &&&Passing<'_>| asked.stamps().is_some_and(|asked| asked.value == stamps.echo);
            same(&newest) && asked.iter().filter(same).count() == 1
        }
        _ => asked.len() == 1,
    };
    let value = answer.at - newest.at;
    match named {
        false => unknown(WhyUnknown::Ambiguous),
        true if value >= SOONEST_REPETITION => unknown(WhyUnknown::Repetition),
        true => known(value),
    }
}

impl Truth {
    /// Of a connection at a probe whose clock tells times to a `tick`.
    pub(crate) fn of(plan: &Plan, sent: &[Sent], connection: u32, probe: usize, tick: Nanos) -> Self {
        let mut passed: Vec<_> = sent
            .iter()
            .enumerate()
            .filter_map(|(number, sent)| {
                Some(Passing { number, at: sent.passed[probe]?, segment: sent.segment(), sent })
            })
            .collect();
        passed.sort_by_key(|passing| passing.at);
        let least =
            |sections: &[[Nanos; 2]]| sections.iter().flatten().copied().sum::<Nanos>() - (tick - Nanos(1));
        let (near, far) = plan.sections.split_at(probe + 1);
        let beyond = match plan.course {
            Course::Unreachable { behind } => least(&plan.sections[(probe + 1).min(behind)..behind]),
            _ => least(far),
        };
        let server_half =
            HalfTruth { values: pairs(&passed, true), least: beyond, ..server_half(plan, &passed, beyond) };
        let least = least(near);
        let client_half =
            HalfTruth { values: pairs(&passed, false), least, ..client_half(plan, &passed, least) };
        let mut values = chains(sent, probe);
        for one in &server_half.values {
            values.extend(client_half.values.iter().map(|other| *one + *other));
        }
        let total = HalfTruth {
            values,
            least: server_half.least + client_half.least,
            ..total(plan, &passed, &server_half, &client_half)
        };
        let syn_data = match plan.course {
            Course::FastOpen { data, .. } => data,
            _ => 0,
        };
        Self {
            connection,
            probe,
            client: plan.client.end,
            server: plan.server.end,
            isn_client: plan.client.isn,
            syn_data,
            labels: plan.labels.clone(),
            deafness: Deafness::of(plan, probe, &passed),
            server_half: server_half.checked(),
            client_half: client_half.checked(),
            total: total.checked(),
        }
    }

    /// Whether the tap missed something, and no reader could know that when the handshake was over.
    #[must_use]
    pub const fn is_hidden(&self) -> bool {
        matches!(self.deafness, Some(Deafness::Hidden | Deafness::ShownLater))
    }

    /// Its halves with their names.
    #[must_use]
    pub fn halves(&self) -> [(&'static str, &HalfTruth); 3] {
        [("server", &self.server_half), ("client", &self.client_half), ("total", &self.total)]
    }
}

impl HalfTruth {
    fn checked(self) -> Self {
        match self.known {
            Some(known) if !self.values.contains(&known) => {
                Self { known: None, why: Some(WhyUnknown::Trap), ..self }
            }
            _ => self,
        }
    }
}

/// The times of all answers of one side that passed after what they really answer.
fn pairs(passed: &[Passing<'_>], from_server: bool) -> Vec<Nanos> {
    let time = |answer: &Passing<'_>| {
        let asked = answer.sent.answers.filter(|_| answer.sent.forward != from_server)?;
        Some(answer.at - passed.iter().find(|asking| asking.number == asked)?.at)
    };
    passed.iter().filter_map(time).collect()
}

/// The times from SYNs that passed to ACKs that passed, of which the SYN/ACK between them did not, or did.
fn chains(sent: &[Sent], probe: usize) -> Vec<Nanos> {
    let time = |ack: &Sent| {
        let syn = &sent[sent[ack.answers?].answers?];
        Some(ack.passed[probe]? - syn.passed[probe]?)
    };
    sent.iter().filter_map(time).collect()
}

fn server_half(plan: &Plan, passed: &[Passing<'_>], least: Nanos) -> HalfTruth {
    if plan.course == Course::Simultaneous {
        return unknown(WhyUnknown::SimultaneousOpen);
    }
    let answers = |passing: &&Passing<'_>| passing.is(Kind::SynAck) || passing.is(Kind::Refusal);
    let Some(answer) = passed.iter().find(answers) else { return unknown(WhyUnknown::NotAnswered) };
    let syns: Vec<_> =
        passed.iter().filter(|passing| passing.is(Kind::Syn) && passing.at < answer.at).collect();
    match (proven(&syns, answer), syns.last()) {
        // A tap that missed the SYN which was answered: not even the bound is true.
        (HalfTruth { why: Some(WhyUnknown::Repetition), .. }, Some(syn)) if answer.at - syn.at < least => {
            unknown(WhyUnknown::Trap)
        }
        (proven, _) => proven,
    }
}

/// The client's first segment after its SYN that passed.
fn third<'a, 's>(passed: &'a [Passing<'s>]) -> Result<&'a Passing<'s>, WhyUnknown> {
    let third = passed.iter().find(|passing| passing.sent.forward && !passing.is(Kind::Syn));
    let third = third.ok_or(WhyUnknown::NotAnswered)?;
    let Some(segment) = third.segment else { return Err(WhyUnknown::NotAnswered) };
    if segment.flags.has(TcpFlags::RST) {
        Err(WhyUnknown::Reset)
    } else if segment.payload > 0 || segment.flags.has(TcpFlags::FIN) {
        Err(WhyUnknown::DataInstead)
    } else if !third.is(Kind::Ack) {
        Err(WhyUnknown::NotAnswered)
    } else {
        Ok(third)
    }
}

/// Whether data, which came for a SYN/ACK that did not pass here, followed another one sooner than an answer can.
fn bound_is_false(passed: &[Passing<'_>], least: Nanos) -> bool {
    let first = passed.iter().find(|passing| passing.is(Kind::SynAck));
    let data = passed.iter().find(|passing| passing.sent.forward && !passing.is(Kind::Syn));
    first.zip(data).is_some_and(|(first, data)| data.at > first.at && data.at - first.at < least)
}

/// Whether the client's answer followed its first SYN that passed, without a SYN/ACK between them, sooner than an answer
/// can: a tap missed the SYN that was answered, and the SYN/ACK.
fn seems_too_soon(passed: &[Passing<'_>], least: Nanos) -> bool {
    let syn = passed.iter().find(|passing| passing.is(Kind::Syn));
    let third = passed.iter().find(|passing| passing.sent.forward && !passing.is(Kind::Syn));
    syn.zip(third).is_some_and(|(syn, third)| {
        let is_between = |passing: &Passing<'_>| passing.is(Kind::SynAck) && passing.at < third.at;
        third.at > syn.at && third.at - syn.at < least && !passed.iter().any(is_between)
    })
}

fn client_half(plan: &Plan, passed: &[Passing<'_>], least: Nanos) -> HalfTruth {
    if plan.course == Course::Simultaneous {
        return unknown(WhyUnknown::SimultaneousOpen);
    }
    let third = match third(passed) {
        Ok(third) => third,
        Err(WhyUnknown::DataInstead) if bound_is_false(passed, least) => {
            return unknown(WhyUnknown::Trap);
        }
        Err(why) => return unknown(why),
    };
    let names = |passing: &&Passing<'_>| {
        let number = passing.segment.map(|segment| segment.sequence.wrapping_add(1));
        passing.is(Kind::SynAck) && passing.at < third.at && number == third.acknowledges()
    };
    // A tap that missed the SYN/ACK, and heard its repetition after the ACK: it seems overtaken.
    let seems_overtaken = |passing: &Passing<'_>| {
        let same = |named: Timestamps, by: Timestamps| named.value == by.echo;
        let number = passing.segment.map(|segment| segment.sequence.wrapping_add(1));
        passing.is(Kind::SynAck)
            && passing.at > third.at
            && number == third.acknowledges()
            && passing.stamps().zip(third.stamps()).is_none_or(|(named, by)| same(named, by))
    };
    let asked: Vec<_> = passed.iter().filter(names).collect();
    let names_missed = |answer: &&&Passing<'_>| {
        let echo = answer.stamps().map(|stamps| stamps.echo).filter(|echo| *echo != 0);
        let syns: Vec<_> = passed.iter().filter(|passing| passing.is(Kind::Syn)).collect();
        let named = |syn: &&Passing<'_>| syn.stamps().map(|stamps| stamps.value) == echo;
        !syns.is_empty() && echo.is_some() && !syns.iter().any(named)
    };
    if asked.iter().any(|answer| names_missed(&answer)) {
        return unknown(WhyUnknown::Missed);
    }
    if asked.is_empty() && passed.iter().any(seems_overtaken) {
        return unknown(WhyUnknown::Trap);
    }
    proven(&asked, third)
}

fn total(plan: &Plan, passed: &[Passing<'_>], server: &HalfTruth, client: &HalfTruth) -> HalfTruth {
    match (server.known, client.known) {
        (Some(one), Some(other)) => return known(one + other),
        _ if plan.course != Course::Simultaneous && seems_too_soon(passed, server.least + client.least) => {
            return unknown(WhyUnknown::Trap);
        }
        _ if passed.iter().any(|passing| passing.is(Kind::SynAck)) => {
            return unknown(server.why.or(client.why).unwrap_or(WhyUnknown::Ambiguous));
        }
        _ if plan.course == Course::Simultaneous => return unknown(WhyUnknown::SimultaneousOpen),
        // Where the server may speak before the third segment, an ACK may be to what it said.
        _ if matches!(plan.course, Course::FastOpen { data: 1.., .. }) => {
            return unknown(WhyUnknown::DataInstead);
        }
        _ => {}
    }
    let third = match third(passed) {
        Ok(third) => third,
        Err(why) => return unknown(why),
    };
    let server_speaks = |passing: &Passing<'_>| {
        !passing.sent.forward && passing.is(Kind::Later) && passing.at - third.at <= WAIT
    };
    let syns: Vec<_> =
        passed.iter().filter(|passing| passing.is(Kind::Syn) && passing.at < third.at).collect();
    match syns.as_slice() {
        _ if passed.iter().any(server_speaks) => unknown(WhyUnknown::Missed),
        [] => unknown(WhyUnknown::NotAsked),
        [syn] if third.at - syn.at < SOONEST_REPETITION => known(third.at - syn.at),
        [_] => unknown(WhyUnknown::Repetition),
        _ => unknown(WhyUnknown::Ambiguous),
    }
}
