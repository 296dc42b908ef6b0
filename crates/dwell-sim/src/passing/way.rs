//! What is true of a connection's way from probe to probe.

use super::net::Sent;
use super::plan::{Course, Kind, Plan};
use super::truth::Truth;
use dwell_core::Nanos;

/// What is true of one connection's way from probe to probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// What is true at each probe, in the order of the probes.
    pub at: Vec<Truth>,
    /// It was refused: what answered is no connection's.
    pub refused: bool,
    /// Each packet that answers at once, with the one that it answers.
    answers: Vec<Answer>,
    /// What no round trip is quicker than, section by section from the client on.
    least: Vec<Nanos>,
    tick: Nanos,
}

/// A packet that answers another at once.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    /// A SYN/ACK of the server, and not what a client answers.
    from_server: bool,
    /// From when the one passed until the other did, at each probe that heard both.
    took: Vec<Option<Nanos>>,
}

/// What can be known of the section between two probes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Between {
    /// True values by SYNs and their answers: each is of packets that passed both probes.
    pub server_side: Vec<Nanos>,
    /// True values by SYN/ACKs and their answers.
    pub client_side: Vec<Nanos>,
    /// What none can be quicker than.
    pub least: Nanos,
    /// Whether what passed proves one of them.
    pub knowable: bool,
}

impl Way {
    /// Of a connection whose truth at each probe is known; their clocks tell times to a `tick`.
    pub(crate) fn of(plan: &Plan, sent: &[Sent], at: Vec<Truth>, tick: Nanos) -> Self {
        let answers = sent.iter().filter_map(|answer| {
            let asked = &sent[answer.answers?];
            let kinds = [asked.kind, answer.kind];
            let from_server = kinds == [Kind::Syn, Kind::SynAck] && !answer.forward;
            // Where both ends open, the client answers a SYN.
            let is_acked = matches!(asked.kind, Kind::SynAck | Kind::Syn) && answer.forward;
            let took = |(asked, answer): (&Option<Nanos>, &Option<Nanos>)| Some((*answer)? - (*asked)?);
            let took = asked.passed.iter().zip(&answer.passed).map(took).collect();
            (from_server || is_acked).then_some(Answer { from_server, took })
        });
        Self {
            answers: answers.collect(),
            refused: matches!(plan.course, Course::Refused | Course::Unreachable { .. }),
            least: plan.sections.iter().map(|[there, back]| *there + *back).collect(),
            at,
            tick,
        }
    }

    /// Of the section between two probes, of which `near` is nearer to the client.
    #[must_use]
    pub fn between(&self, near: usize, far: usize) -> Between {
        let values = |from_server: bool| -> Vec<Nanos> {
            let of = self.answers.iter().filter(|answer| answer.from_server == from_server);
            of.filter_map(|answer| {
                let difference = answer.took[near]? - answer.took[far]?;
                Some(if from_server { difference } else { -difference })
            })
            .collect()
        };
        let (server_side, client_side) = (values(true), values(false));
        let [one, two] = [&self.at[near], &self.at[far]];
        let known = |longer: Option<Nanos>, shorter: Option<Nanos>, of: &[Nanos]| {
            longer.zip(shorter).is_some_and(|(longer, shorter)| of.contains(&(longer - shorter)))
        };
        let knowable = !self.refused
            && (known(one.server_half.known, two.server_half.known, &server_side)
                || known(two.client_half.known, one.client_half.known, &client_side));
        let least = self.least[near + 1..=far].iter().copied().sum::<Nanos>() - self.tick * 2;
        Between { server_side, client_side, least, knowable }
    }

    /// The probes at which a half can be known: what parts the way.
    pub fn parting(&self) -> impl Iterator<Item = usize> {
        let known = |truth: &Truth| truth.server_half.known.is_some() || truth.client_half.known.is_some();
        (0..self.at.len()).filter(move |probe| !self.refused && known(&self.at[*probe]))
    }
}
