//! One connection, section by section.

use super::{Connection, Estimate, Order, Sight, Way};
use crate::tcp::tracker::TIMEOUT;
use crate::tcp::{Flag, Half, Quality};
use crate::unit::Nanos;
use std::fmt;

/// What the stamps of the coarsest probes resolve: captures with microseconds.
pub const RESOLUTION: Nanos = Nanos::from_micros(1);

/// An inner section is the difference of two spans, each between two stamps that were cut off at [`RESOLUTION`].
pub(super) const ROUNDING: Nanos = Nanos(2 * RESOLUTION.0);

/// An end of a section.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Who opened the connections.
    Client,
    /// The probe of this rank, 0 next to the client, for the way that the connection runs.
    Probe(usize),
    /// Who was asked.
    Server,
}

/// How far the figure of a section can be trusted.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SectionQuality {
    /// All that can be known of it is exact.
    Exact,
    /// An inner one of which one estimate is known: nothing checks it.
    OneSided,
    /// It takes so long or shorter.
    UpperBound,
    /// It takes so long or longer.
    LowerBound,
    /// An estimate is negative beyond what the stamps resolve: told as it is.
    Inconsistent,
    /// A half that it needs may be to the first segment or to its repetition, or those of its two probes to different
    /// ones, or both ends opened: withheld.
    Ambiguous,
    /// The connection was refused, and the half that it needs ended with that.
    Refused,
    /// A half that it needs was not seen.
    Unfinished,
}

impl SectionQuality {
    /// Its name in every output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::OneSided => "one-sided",
            Self::UpperBound => "upper-bound",
            Self::LowerBound => "lower-bound",
            Self::Inconsistent => "inconsistent",
            Self::Ambiguous => "ambiguous",
            Self::Refused => "refused",
            Self::Unfinished => "unfinished",
        }
    }
}

impl fmt::Display for SectionQuality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which section: its ends, and which way the connections run that tell it. One that runs the other way has another
/// client, at the other side, and passes the probes the other way.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Leg {
    /// Which way they run.
    pub way: Way,
    /// Its end towards the client.
    pub from: Place,
    /// Its end towards the server.
    pub to: Place,
}

/// What one connection says of one section.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Which way the connection runs.
    pub way: Way,
    /// Its end towards the client.
    pub from: Place,
    /// Its end towards the server.
    pub to: Place,
    /// Its round trip: the mean of both estimates, or the one there is, or a bound as [`Self::quality`] says.
    pub rtt: Option<Nanos>,
    /// From the halves towards the server.
    pub server_side: Estimate,
    /// From the halves towards the client.
    pub client_side: Estimate,
    /// The first less the second, where both are exact.
    pub consistency: Option<Nanos>,
    /// How far it can be trusted.
    pub quality: SectionQuality,
}

impl Section {
    /// Which section it is.
    #[must_use]
    pub const fn leg(&self) -> Leg {
        Leg { way: self.way, from: self.from, to: self.to }
    }

    /// Its round trip, where that is a value and not a bound, be it consistent or not.
    #[must_use]
    pub fn measured(&self) -> Option<Nanos> {
        use SectionQuality::{Exact, Inconsistent, OneSided};
        self.rtt.filter(|_| matches!(self.quality, Exact | OneSided | Inconsistent))
    }
}

/// The sections that a connection tells, from its client to its server, whichever way it runs. Where a probe did not see
/// it, or saw neither half, one section spans both that the probe would have parted.
#[must_use]
pub fn split(connection: &Connection, order: &Order) -> Vec<Section> {
    let way = Way::of(connection, order);
    let seen: Vec<(Place, &Sight)> = (0..order.probes().len())
        .filter_map(|rank| Some((Place::Probe(rank), connection.by(order.probe(way, rank))?)))
        .collect();
    let tells = |sight: &Sight| sight.server != Half::Unknown || client_half(sight) != Half::Unknown;
    let (telling, silent): (Vec<_>, Vec<_>) = seen.into_iter().partition(|(_, sight)| tells(sight));
    let seen = if telling.is_empty() { silent } else { telling };
    let (Some((first, nearest)), Some((last, farthest))) = (seen.first(), seen.last()) else {
        return Vec::new();
    };
    if connection.both_opened() {
        let places = [Place::Client].into_iter().chain(seen.iter().map(|(place, _)| *place));
        let places: Vec<Place> = places.chain([Place::Server]).collect();
        return places.windows(2).map(|pair| unsided(Leg { way, from: pair[0], to: pair[1] })).collect();
    }
    let leg = |from, to| Leg { way, from, to };
    let mut sections =
        vec![outer(leg(Place::Client, *first), Estimate::whole(client_half(nearest)), nearest, false)];
    for pair in seen.windows(2) {
        let ((from, one), (to, two)) = (pair[0], pair[1]);
        sections.push(inner(leg(from, to), one, two));
    }
    sections.push(outer(leg(*last, Place::Server), Estimate::whole(farthest.server), farthest, true));
    sections
}

/// A refused connection that joins had a SYN/ACK, to which its server half was; the other ended with the refusal, which
/// any host may send at any time.
fn client_half(sight: &Sight) -> Half {
    if sight.quality == Quality::Refused { Half::Unknown } else { sight.client }
}

/// Each probe reads its halves off what it saw first, and that is not the same packet at both where one was lost between
/// them and repeated. Whatever passes the nearer probe before the ACK has passed the farther one: with as many SYN/ACKs
/// at both, these are the same, and so is the ACK, for another one would answer another SYN/ACK. Where a mirror shows each
/// twice, repetitions cannot be counted.
fn saw_the_same(one: &Sight, two: &Sight) -> bool {
    let is_counted = |sight: &Sight| sight.syn_acks <= 1 || !sight.flags.has(Flag::Duplicated);
    one.syn_acks == two.syn_acks && is_counted(one) && is_counted(two)
}

/// A probe that misses segments may count as many as another, and other ones. Then what it heard the client do was for
/// another SYN/ACK than it heard, a time-out after that one, or one of the two heard nothing of it.
pub(super) fn server_side(one: &Sight, two: &Sight) -> Estimate {
    // One SYN has one first answer; its repetition comes late enough to be told from it.
    let is_once = |sight: &Sight| !sight.flags.has(Flag::SynRepeated);
    let is_late = |sight: &Sight| matches!(client_half(sight), Half::AtMost(bound) if bound >= TIMEOUT);
    // Of a refused connection nothing shows which SYN/ACK the client heard: where one probe heard one SYN, and the other more, several
    // SYN/ACKs may be to different ones.
    let is_refused = !is_followed(one) && one.syn_acks > 1 && is_once(one) != is_once(two);
    let is_deaf = is_late(one) || is_late(two) || is_followed(one) != is_followed(two) || is_refused;
    if saw_the_same(one, two) && !is_deaf || is_once(one) && is_once(two) {
        Estimate::between(one.server, two.server)
    } else {
        Estimate::Unknown
    }
}

/// Whether the client was heard to go on after the SYN/ACK, be it that nothing tells which one it answers.
fn is_followed(sight: &Sight) -> bool {
    client_half(sight) != Half::Unknown || sight.quality == Quality::Ambiguous
}

pub(super) fn client_side(one: &Sight, two: &Sight) -> Estimate {
    let (longer, shorter) = (client_half(two), client_half(one));
    if saw_the_same(one, two) { Estimate::between(longer, shorter) } else { Estimate::Unknown }
}

/// Each probe takes for the client whose SYN passed it first: what is the client's half of one is the server's of another.
fn unsided(Leg { way, from, to }: Leg) -> Section {
    Section {
        way,
        from,
        to,
        rtt: None,
        server_side: Estimate::Unknown,
        client_side: Estimate::Unknown,
        consistency: None,
        quality: SectionQuality::Ambiguous,
    }
}

fn outer(Leg { way, from, to }: Leg, whole: Estimate, sight: &Sight, server_side: bool) -> Section {
    let (rtt, quality) = match whole {
        Estimate::Exact(time) if time < Nanos(-RESOLUTION.0) => (Some(time), SectionQuality::Inconsistent),
        Estimate::Exact(time) => (Some(time), SectionQuality::Exact),
        Estimate::AtMost(time) => (Some(time), SectionQuality::UpperBound),
        Estimate::AtLeast(time) => (Some(time), SectionQuality::LowerBound),
        Estimate::Unknown => (None, withheld(&[sight])),
    };
    let (server_side, client_side) =
        if server_side { (whole, Estimate::Unknown) } else { (Estimate::Unknown, whole) };
    Section { way, from, to, rtt, server_side, client_side, consistency: None, quality }
}

fn inner(Leg { way, from, to }: Leg, one: &Sight, two: &Sight) -> Section {
    let (server_side, client_side) = (server_side(one, two), client_side(one, two));
    let negative = |time: Nanos| time < Nanos(-ROUNDING.0);
    let (rtt, quality) = match (server_side, client_side) {
        (Estimate::Exact(a), Estimate::Exact(b)) => {
            let wrong = negative(a) || negative(b);
            (Some(mean(a, b)), if wrong { SectionQuality::Inconsistent } else { SectionQuality::Exact })
        }
        // What the other side has as a bound is of other packets, at another time: it need not agree.
        (Estimate::Exact(time), _) | (_, Estimate::Exact(time)) => {
            (Some(time), if negative(time) { SectionQuality::Inconsistent } else { SectionQuality::OneSided })
        }
        (Estimate::AtMost(a), Estimate::AtMost(b)) => upper(a.min(b)),
        (Estimate::AtMost(bound), _) | (_, Estimate::AtMost(bound)) => upper(bound),
        (Estimate::AtLeast(a), Estimate::AtLeast(b)) => (Some(a.max(b)), SectionQuality::LowerBound),
        (Estimate::AtLeast(bound), _) | (_, Estimate::AtLeast(bound)) => {
            (Some(bound), SectionQuality::LowerBound)
        }
        (Estimate::Unknown, Estimate::Unknown) => (None, withheld(&[one, two])),
    };
    let consistency = server_side.exact().zip(client_side.exact()).map(|(a, b)| a - b);
    Section { way, from, to, rtt, server_side, client_side, consistency, quality }
}

/// A round trip cannot be shorter than nothing: an upper bound below that contradicts itself.
fn upper(bound: Nanos) -> (Option<Nanos>, SectionQuality) {
    if bound < Nanos(-ROUNDING.0) {
        (None, SectionQuality::Inconsistent)
    } else {
        (Some(bound), SectionQuality::UpperBound)
    }
}

fn mean(a: Nanos, b: Nanos) -> Nanos {
    Nanos(((i128::from(a.0) + i128::from(b.0)) / 2) as i64)
}

fn withheld(sights: &[&Sight]) -> SectionQuality {
    let any = |quality| sights.iter().any(|sight| sight.quality == quality);
    let is_told = |sight: &&Sight| sight.server != Half::Unknown && sight.client != Half::Unknown;
    if any(Quality::Refused) {
        SectionQuality::Refused
    } else if any(Quality::Ambiguous) || sights.len() > 1 && sights.iter().all(is_told) {
        SectionQuality::Ambiguous
    } else {
        SectionQuality::Unfinished
    }
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
