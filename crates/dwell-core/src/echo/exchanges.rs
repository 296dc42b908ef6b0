//! Requests and their replies at one place. What cannot be matched beyond doubt is counted by its reason, and not
//! used.

use super::HostTimes;
use super::heard::{Asked, Heard, Key, Part, hear};
use super::message::Answer;
use crate::capture::{Captured, LinkType};
use crate::unit::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::SocketAddr;

/// One echo as one place saw it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Which.
    pub key: Key,
    /// When the request passed.
    pub request: Nanos,
    /// When the reply passed.
    pub reply: Nanos,
    /// The request on the wire.
    pub size: Bytes,
    /// The host's own times, where its reply tells them.
    pub host: Option<HostTimes>,
}

/// What a place saw, by what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Packets of any kind.
    pub packets: u64,
    /// Echoes whose request and reply were seen once each, in this order.
    pub echoes: u64,
    /// Requests without a reply.
    pub lost: u64,
    /// Echoes of which the request or the reply came more than once.
    pub duplicated: u64,
    /// Requests that another host answered than the one that was asked.
    pub other_host: u64,
    /// Replies to no request.
    pub unasked: u64,
    /// Replies before their requests.
    pub backwards: u64,
    /// Requests on a TCP connection on which an earlier one was still unanswered: whose answer the next one is cannot
    /// be told.
    pub crowded: u64,
    /// Echoes beyond the most that are held.
    pub beyond: u64,
    /// Packets of links that are not known, by the link's name.
    pub unknown_link: BTreeMap<String, u64>,
}

/// Echoes that are held at once.
const MOST: usize = 1_000_000;

/// Hears packets, and matches them when all were heard.
#[derive(Debug)]
pub struct Exchanges {
    asked: Asked,
    heard: HashMap<Key, Ends>,
    /// When Dwell's responder says that its answers departed, by their numbers.
    departed: HashMap<u64, Nanos>,
    /// The request that is unanswered on each TCP connection of others than Dwell.
    waiting: HashMap<(SocketAddr, SocketAddr), Key>,
    tally: Tally,
    unknown: BTreeMap<LinkType, u64>,
}

/// The first request and the first reply, and how many there were.
#[derive(Debug, Default)]
struct Ends {
    request: Option<(Nanos, Bytes)>,
    reply: Option<Nanos>,
    answer: Option<Answer>,
    repeated: bool,
    crowded: bool,
}

impl Exchanges {
    /// None so far.
    #[must_use]
    pub fn new(asked: Asked) -> Self {
        Self {
            asked,
            heard: HashMap::new(),
            departed: HashMap::new(),
            waiting: HashMap::new(),
            tally: Tally::default(),
            unknown: BTreeMap::new(),
        }
    }

    /// One more packet.
    pub fn hear(&mut self, packet: &Captured<'_>) {
        self.tally.packets += 1;
        if packet.link.framing().is_none() {
            *self.unknown.entry(packet.link).or_default() += 1;
        }
        let Some(Heard { at, part, key, size, numbered, answer }) = hear(packet, self.asked) else { return };
        if self.heard.len() >= MOST && !self.heard.contains_key(&key) {
            self.tally.beyond += 1;
            return;
        }
        self.departed.extend(answer.and_then(|answer| answer.earlier));
        if matches!(self.asked, Asked::Tcp { .. }) && !numbered {
            self.watch(part, &key);
        }
        let ends = self.heard.entry(key).or_default();
        ends.answer = ends.answer.or(answer);
        match part {
            Part::Request => ends.repeated |= ends.request.replace((at, size)).is_some(),
            // Later segments of a long answer acknowledge the same request: the first is the answer.
            Part::Reply if matches!(self.asked, Asked::Tcp { .. }) => {
                ends.reply.get_or_insert(at);
            }
            Part::Reply => ends.repeated |= ends.reply.replace(at).is_some(),
        }
    }

    /// Marks requests that wait together on one connection.
    fn watch(&mut self, part: Part, key: &Key) {
        let connection = (key.requester, key.responder);
        if part == Part::Reply {
            self.waiting.remove(&connection);
        } else if let Some(earlier) = self.waiting.insert(connection, *key)
            && earlier != *key
        {
            for crowded in [&earlier, key] {
                self.heard.entry(*crowded).or_default().crowded = true;
            }
        }
    }

    /// Those beyond doubt, in the order of their requests, and what became of all others.
    #[must_use]
    pub fn finish(self) -> (Vec<Exchange>, Tally) {
        let Self { heard, departed, mut tally, unknown, .. } = self;
        tally.unknown_link = unknown.iter().map(|(link, count)| (link.to_string(), *count)).collect();
        let question = |key: &Key| -> (SocketAddr, [u8; 16]) { (key.requester, key.id) };
        let asked: HashSet<_> =
            heard.iter().filter(|(_, ends)| ends.request.is_some()).map(|(key, _)| question(key)).collect();
        let mut strangers = HashSet::new();
        for (key, ends) in &heard {
            if ends.request.is_none() && asked.contains(&question(key)) {
                strangers.insert(question(key));
            }
        }
        let mut matched = Vec::new();
        for (key, ends) in heard {
            let count = match (ends.request, ends.reply) {
                _ if ends.repeated => &mut tally.duplicated,
                _ if ends.crowded => &mut tally.crowded,
                (Some(_), None) if strangers.contains(&question(&key)) => &mut tally.other_host,
                (Some(_), None) => &mut tally.lost,
                // Counted with the request that it claims to answer.
                (None, _) if strangers.contains(&question(&key)) => continue,
                (None, _) => &mut tally.unasked,
                (Some((request, _)), Some(reply)) if reply < request => &mut tally.backwards,
                (Some((request, size)), Some(reply)) => {
                    let host = ends.answer.map(|answer| HostTimes {
                        arrived: answer.arrived,
                        t3: answer.t3,
                        t5: answer.t5,
                        departed: departed.get(&answer.number).copied(),
                    });
                    matched.push(Exchange { key, request, reply, size, host });
                    &mut tally.echoes
                }
            };
            *count += 1;
        }
        matched.sort_unstable_by_key(|exchange| (exchange.request, exchange.key));
        (matched, tally)
    }
}

impl Tally {
    /// What was not used, each reason in words with its count; empty where all was.
    #[must_use]
    pub fn unused(&self) -> Vec<String> {
        let counts = [
            (self.lost, "without a reply"),
            (self.duplicated, "of which the request or the reply came more than once"),
            (self.other_host, "answered by another host than the one that was asked"),
            (self.unasked, "of which the reply alone was seen"),
            (self.backwards, "whose reply comes before the request"),
            (self.crowded, "asked on a connection on which another waited for its answer"),
            (self.beyond, "beyond the first 1,000,000"),
        ];
        let echoes = counts.into_iter().filter(|(count, _)| *count > 0);
        let echoes = echoes.map(|(count, why)| format!("{count} echoes {why}"));
        let links = self.unknown_link.iter().map(|(link, count)| {
            format!("{count} packets of a link that cannot be read here ({link}); Ethernet, Linux cooked, BSD loopback and bare IP can")
        });
        echoes.chain(links).collect()
    }
}
