//! Connections that real hosts made, of which taps at the hosts tell what was answered.

use super::net::Sent;
use super::plan::{Course, Host, Kind, Plan};
use super::tap::Seen;
use super::truth::Truth;
use dwell_core::Nanos;
use dwell_core::tcp::{Endpoint, Segment, TcpFlags};

/// A segment that a host sent.
#[derive(Clone, Debug)]
pub struct WitnessedSegment {
    /// As it left its host.
    pub segment: Segment,
    /// By the client.
    pub forward: bool,
    /// The place among those that were sent of the one which it answers: which its host had from the other before it
    /// sent this, and at once. None, where a timer or a program had it sent.
    pub answers: Option<usize>,
    /// When it passed the probe, if it did.
    pub passed: Option<Nanos>,
}

/// A connection that real hosts made over a probe.
#[derive(Clone, Debug)]
pub struct Witnessed {
    /// Who opened it.
    pub client: Endpoint,
    /// Who was asked.
    pub server: Endpoint,
    /// What of it is worth a line of its own in a verdict.
    pub labels: Vec<&'static str>,
    /// The least time there and back, on the client's side of the probe and on the server's.
    pub sections: [[Nanos; 2]; 2],
    /// In the order in which they were sent.
    pub segments: Vec<WitnessedSegment>,
}

impl Witnessed {
    /// What is true of it at the probe, as connection of this number; `None` if no SYN was sent.
    #[must_use]
    pub fn truth(&self, connection: u32) -> Option<Truth> {
        let syn = &self.segments.iter().find(|sent| kind(sent) == Kind::Syn)?.segment;
        let acknowledged = |sent: &&WitnessedSegment| kind(sent) == Kind::SynAck;
        let course = match (syn.payload, self.segments.iter().find(acknowledged)) {
            (0, _) => Course::Open,
            (data, None) => Course::FastOpen { data, taken: false },
            (data, Some(answer)) => {
                let taken = answer.segment.acknowledgment != syn.sequence.wrapping_add(1);
                Course::FastOpen { data, taken }
            }
        };
        let plan = Plan::witnessed(
            Host::named(self.client, syn.sequence),
            Host::named(self.server, 0),
            self.sections.to_vec(),
            course,
            self.labels.clone(),
        );
        let sent: Vec<Sent> = self
            .segments
            .iter()
            .map(|sent| Sent {
                kind: kind(sent),
                forward: sent.forward,
                what: Seen::Segment(sent.segment),
                answers: sent.answers,
                passed: vec![sent.passed],
            })
            .collect();
        Some(Truth::of(&plan, &sent, connection, 0, Nanos(1)))
    }
}

fn kind(sent: &WitnessedSegment) -> Kind {
    let WitnessedSegment { segment, forward, answers, .. } = sent;
    let has = |flags| segment.flags.has(flags);
    match forward {
        true if has(TcpFlags::SYN) => Kind::Syn,
        false if has(TcpFlags::SYN) => Kind::SynAck,
        true if segment.payload > 0 => Kind::Data,
        true if answers.is_some() => Kind::Ack,
        _ => Kind::Later,
    }
}
