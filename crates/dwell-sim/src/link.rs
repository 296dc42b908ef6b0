//! What a link is, as scenario files say it.

mod bundle;
mod discipline;
mod node;
mod reroute;

pub use bundle::Balance;
pub use discipline::{Discipline, Policer, Reordering, Shaper};
pub use node::{Node, RouterSpec};
pub use reroute::Reroute;

use crate::framing::Framing;
use crate::scenario::quantity_text::{self, QuantityText, rate_text, read, size_text, with, word_pattern};
use crate::times::Times;
use crate::traffic::{CrossKind, CrossSpec, Offered};
use dwell_core::{BitRate, Bytes, Nanos};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// One store-and-forward link with the queue in front of it, or several between the same two points.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(remote = "Self", deny_unknown_fields)]
#[schemars(transform = bundle::with_rate_or_links)]
pub struct LinkSpec {
    /// `None`: unshaped, a packet passes in no time.
    #[schemars(description = "Bits per second; unshaped: a packet passes in no time.")]
    #[serde(with = "rate_or_unshaped", default = "bundle::no_rate_given")]
    pub rate: Option<BitRate>,
    /// Time that a bit takes to the far end.
    #[serde(with = "quantity_text::duration", default)]
    pub propagation: Nanos,
    /// Another way from some time on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reroute: Option<Reroute>,
    /// What the queue holds besides the packet being sent.
    #[serde(default)]
    pub queue: QueueLimit,
    /// Which of the waiting packets goes next.
    #[serde(default, skip_serializing_if = "Discipline::is_fifo")]
    pub discipline: Discipline,
    /// Holds packets back that would go over a rate, besides the link's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<Shaper>,
    /// Drops packets that would go over a rate, before they come to the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer: Option<Policer>,
    /// Largest IP packet that passes; a larger one is lost without a word. Without it, as large as the path's.
    #[serde(with = "quantity_text::some_size", default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
    /// What is sent around a packet.
    #[serde(default)]
    pub framing: Framing,
    /// Share of packets that are damaged on the link, after they took its time.
    #[serde(with = "quantity_text::share", default)]
    pub loss: f64,
    /// Share of packets that come out twice, the copy right behind its original.
    #[serde(with = "quantity_text::share", default, skip_serializing_if = "is_zero")]
    pub duplication: f64,
    /// Added to the propagation of each packet; never changes their order.
    #[serde(default)]
    pub jitter: Times,
    /// Packets that others overtake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reordering: Option<Reordering>,
    /// Cross traffic that enters here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cross: Vec<CrossSpec>,
    /// Links between the same two points, over which packets are spread; then nothing else is said here but
    /// `balance`.
    #[serde(default, deserialize_with = "bundle::at_least_one", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub parallel: Vec<LinkSpec>,
    /// How packets are spread over `parallel`.
    #[serde(default, skip_serializing_if = "Balance::is_flow")]
    pub balance: Balance,
    /// What stands at the far end.
    #[serde(default, skip_serializing_if = "Node::is_usual")]
    pub node: Node,
}

impl LinkSpec {
    /// A link of `rate` with Ethernet framing and nothing else.
    #[must_use]
    pub fn new(rate: Option<BitRate>) -> Self {
        Self {
            rate,
            propagation: Nanos::ZERO,
            reroute: None,
            queue: QueueLimit::default(),
            discipline: Discipline::default(),
            shaper: None,
            policer: None,
            mtu: None,
            framing: Framing::default(),
            loss: 0.0,
            duplication: 0.0,
            jitter: Times::default(),
            reordering: None,
            cross: Vec::new(),
            parallel: Vec::new(),
            balance: Balance::default(),
            node: Node::default(),
        }
    }

    /// The least and the most that its propagation is, over all ways that packets take in a run.
    #[must_use]
    pub fn propagations(&self) -> (Nanos, Nanos) {
        let later = self.reroute.map_or(self.propagation, |reroute| reroute.propagation);
        let own = (self.propagation.min(later), self.propagation.max(later));
        let either = |one: (Nanos, Nanos), other: (Nanos, Nanos)| (one.0.min(other.0), one.1.max(other.1));
        self.parallel.iter().map(Self::propagations).reduce(either).unwrap_or(own)
    }

    /// Makes each way that a packet may take `more` longer.
    pub fn lengthen(&mut self, more: Nanos) {
        if self.parallel.is_empty() {
            self.propagation += more;
            self.reroute.iter_mut().for_each(|reroute| reroute.propagation += more);
        }
        self.parallel.iter_mut().for_each(|link| link.lengthen(more));
    }

    /// Several links between the same two points.
    #[must_use]
    pub fn bundle(parallel: Vec<LinkSpec>, balance: Balance) -> Self {
        Self { parallel, balance, ..Self::new(None) }
    }

    /// Mean packets per second that cross traffic offers which enters here.
    pub(crate) fn packets_of(&self, cross: &CrossSpec) -> f64 {
        match (&cross.kind, self.bits_of(cross)) {
            (_, None) => 0.0,
            (CrossKind::Capture(capture), Some(bits)) => {
                let trace = capture.trace();
                let recorded = trace.packets() as f64 * 1e9 / trace.round().as_f64();
                recorded * bits / trace.bits_per_second(self.framing)
            }
            (_, Some(bits)) => bits / cross.sizes.mean_bits(self.framing),
        }
    }

    /// Mean bits per second that cross traffic offers which enters here, framing counted; `None`: a share of a link that has no
    /// rate.
    #[must_use]
    pub fn bits_of(&self, cross: &CrossSpec) -> Option<f64> {
        match (cross.offered, &cross.kind) {
            (Offered::Rate(rate), _) => Some(rate.0 as f64),
            (Offered::Load(load), _) => self.rate.map(|rate| load * rate.0 as f64),
            (Offered::Own, CrossKind::Pareto(pareto)) => Some(pareto.mean_rate()),
            (Offered::Own, CrossKind::Capture(capture)) => {
                Some(capture.trace().bits_per_second(self.framing))
            }
            // Greedy TCP takes what the others leave.
            (Offered::Own, CrossKind::Constant | CrossKind::Poisson | CrossKind::Tcp(_)) => Some(0.0),
        }
    }

    /// The least rate of the token buckets before it, where there are any.
    #[must_use]
    pub fn tokens(&self) -> Option<BitRate> {
        let shaper = self.shaper.map(|shaper| shaper.rate);
        shaper.into_iter().chain(self.policer.map(|policer| policer.rate)).min()
    }
}

fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

/// What a queue holds; a packet that would go over it is dropped.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// Everything.
    Unlimited,
    /// Packets waiting, whatever their size.
    Packets(u64),
    /// Bytes waiting.
    Bytes(Bytes),
}

impl Default for QueueLimit {
    /// Linux's `txqueuelen`.
    fn default() -> Self {
        Self::Packets(1000)
    }
}

impl QuantityText for QueueLimit {
    const EXPECTED: &'static str = "a limit such as \"64 KiB\", \"100 packets\" or \"unlimited\"";

    fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("unlimited") {
            return Ok(Self::Unlimited);
        }
        if let Some(count) = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet")) {
            let count = count.trim().replace('_', "").parse();
            return count
                .map(Self::Packets)
                .map_err(|_| format!("\"{text}\" is no queue limit; expected {}", Self::EXPECTED));
        }
        Bytes::read(text)
            .map(Self::Bytes)
            .map_err(|_| format!("\"{text}\" is no queue limit; expected {}", Self::EXPECTED))
    }

    fn pattern() -> String {
        format!("{}|{}|^\\s*\\+?[0-9_]+\\s*packets?\\s*$", Bytes::pattern(), word_pattern("unlimited"))
    }
}

impl JsonSchema for QueueLimit {
    fn schema_name() -> Cow<'static, str> {
        "queue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Self::schema()
    }
}

impl<'de> Deserialize<'de> for QueueLimit {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        read(from)
    }
}

impl Serialize for QueueLimit {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unlimited => to.serialize_str("unlimited"),
            Self::Packets(count) => to.serialize_str(&format!("{count} packets")),
            Self::Bytes(size) => to.serialize_str(&size_text(*size)),
        }
    }
}

/// A rate, or the word `unshaped`.
struct RateOrUnshaped(Option<BitRate>);

impl QuantityText for RateOrUnshaped {
    const EXPECTED: &'static str = "a rate in b/s, kb/s, Mb/s or Gb/s, such as \"100 Mb/s\", or \"unshaped\"";

    fn read(text: &str) -> Result<Self, String> {
        if text.trim().eq_ignore_ascii_case("unshaped") {
            return Ok(Self(None));
        }
        BitRate::read(text).map(|rate| Self(Some(rate))).map_err(|problem| match problem.split_once(';') {
            Some((what, _)) => format!("{what}; expected {}", Self::EXPECTED),
            None => problem,
        })
    }

    fn pattern() -> String {
        format!("{}|{}", BitRate::pattern(), word_pattern("unshaped"))
    }
}

with!(
    /// A rate, or the word `unshaped`.
    rate_or_unshaped, Option<BitRate>, |rate: RateOrUnshaped| rate.0,
    |rate: Option<BitRate>| rate.map_or("unshaped".to_owned(), rate_text)
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_link_is_longer_by_each_of_its_ways() {
        let (more, far) = (Nanos(60), Nanos(500));
        let reroute = Some(Reroute { at: Nanos(7), propagation: far });
        let turning = LinkSpec { reroute, ..LinkSpec::new(None) };
        let mut bundle = LinkSpec::bundle(vec![turning.clone(), LinkSpec::new(None)], Balance::default());
        let mut alone = turning;
        assert_eq!(alone.propagations(), (Nanos::ZERO, far));
        alone.lengthen(more);
        assert_eq!(alone.propagations(), (more, far + more));
        bundle.lengthen(more);
        assert_eq!(bundle.propagations(), (more, far + more));
        // Of a bundle nothing else is said than its links and how packets are spread.
        assert_eq!(bundle.propagation, Nanos::ZERO);
    }
}
