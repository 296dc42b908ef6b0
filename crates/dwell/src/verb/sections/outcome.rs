//! What many connections say, section by section.

use super::By;
use super::groups::Groups;
use super::lines::Lines;
use super::source::{Reach, Source};
use crate::figure::counted;
use anyhow::Result;
use dwell_core::inside::grouped;
use dwell_core::tcp::Flag;
use dwell_core::tcp::section::{
    Blame, Connection, Course, Leg, NatCounts, NatJoin, NoBlame, Order, Place, Section, SectionQuality,
    Summary, Votes, Way, split,
};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::ControlFlow;

/// So many connections are enough to tell the order of the probes by.
const ENOUGH: u64 = 20_000;

/// Chooses among connections.
pub(super) trait Choice {
    /// How much is read to choose from.
    fn reach(&self) -> Reach {
        Reach::Whole
    }

    /// There is this one; it may be part of another that is joined by its numbers.
    fn see(&mut self, connection: &Connection);

    /// Whether this one is heard.
    fn wants(&mut self, connection: &Connection) -> bool;
}

/// All are heard.
struct All;

impl Choice for All {
    fn see(&mut self, _: &Connection) {}

    fn wants(&mut self, _: &Connection) -> bool {
        true
    }
}

/// Whether it was joined by its numbers alone.
pub(super) fn is_nat(connection: &Connection) -> bool {
    connection.sights.iter().any(|sight| sight.flags.has(Flag::Nat))
}

/// What many connections say, section by section.
pub(super) struct Outcome {
    probes: Vec<String>,
    order: Order,
    pinned: bool,
    votes: Votes,
    connections: u64,
    nat: NatCounts,
    twice: u64,
    pub(super) sections: BTreeMap<Leg, (Summary, Course)>,
    pub(super) groups: Option<Groups>,
}

impl Outcome {
    /// Of no probes yet.
    pub(super) fn new(pinned: bool, by: Option<By>) -> Self {
        Self {
            order: Order::pinned(Vec::new()),
            pinned,
            votes: Votes::new(0),
            connections: 0,
            nat: NatCounts::default(),
            twice: 0,
            sections: BTreeMap::new(),
            groups: by.map(Groups::new),
            probes: Vec::new(),
        }
    }

    /// It is of these probes, in this order until another is learned; before anything is told of others. Returns whether
    /// that is new.
    pub(super) fn be_of(&mut self, probes: &[String]) -> bool {
        let is_new = self.probes != probes;
        if is_new {
            self.probes = probes.to_vec();
            self.order = Order::pinned((0..probes.len()).collect());
        }
        is_new
    }

    pub(super) const fn order(&self) -> &Order {
        &self.order
    }

    /// How many connections were heard.
    pub(super) const fn connections(&self) -> u64 {
        self.connections
    }

    /// How many records were left out, because their probe has an earlier one.
    pub(super) const fn twice(&self) -> u64 {
        self.twice
    }

    /// How many sections of connections have a value.
    pub(super) fn measured(&self) -> u64 {
        self.sections.values().map(|(summary, _)| summary.rtt.count()).sum()
    }

    /// Learns in which order the probes stand, and how many connections say so; `None` where somebody has said it: then no
    /// more is learned than where it shows which way a connection runs.
    pub(super) fn learn_order(&mut self, source: &mut Source) -> Result<Option<u64>> {
        self.votes = Votes::new(self.probes.len());
        let mut join = NatJoin::new(self.probes.len());
        let (in_time, votes) = (source.is_in_time(), &mut self.votes);
        source.each(Reach::Whole, &mut |connection| {
            let mut take = |connection: Connection| votes.hear(&connection);
            if in_time {
                join.pass(connection.first_at, &mut take);
            }
            join.offer(connection, &mut take);
            if votes.connections() < ENOUGH { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        join.finish(&mut |connection| votes.hear(&connection));
        let count = self.probes.len();
        self.order = if self.pinned { votes.pinned((0..count).collect()) } else { votes.order() };
        Ok((!self.pinned).then(|| votes.connections()))
    }

    /// Hears all connections.
    pub(super) fn hear_all(&mut self, source: &mut Source, lines: &mut Lines) -> Result<()> {
        self.hear_some(source, lines, &mut All)
    }

    /// Hears those connections that are wanted.
    pub(super) fn hear_some(
        &mut self,
        source: &mut Source,
        lines: &mut Lines,
        choice: &mut dyn Choice,
    ) -> Result<()> {
        let mut join = NatJoin::in_order(self.order.clone());
        let in_time = source.is_in_time();
        let mut written = Ok(());
        let mut hear = |connection: Connection, choice: &mut dyn Choice| {
            if written.is_ok() && choice.wants(&connection) {
                written = self.hear(&connection, lines);
            }
            written.is_ok()
        };
        let twice = source.each(choice.reach(), &mut |connection| {
            choice.see(&connection);
            let mut goes_on = true;
            let mut take = |connection| goes_on &= hear(connection, choice);
            if in_time {
                join.pass(connection.first_at, &mut take);
            }
            join.offer(connection, &mut take);
            if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        join.finish(&mut |connection| {
            hear(connection, choice);
        });
        written?;
        // Who follows looks at the same ones again and again: those that were joined are counted when they are heard, and of
        // what else befell them the most of one look.
        let counts = join.counts();
        self.twice = self.twice.max(twice);
        self.nat.refused = self.nat.refused.max(counts.refused);
        self.nat.crowded = self.nat.crowded.max(counts.crowded);
        Ok(())
    }

    fn hear(&mut self, connection: &Connection, lines: &mut Lines) -> Result<()> {
        self.connections += 1;
        self.nat.joined += u64::from(is_nat(connection));
        for section in split(connection, &self.order) {
            let (summary, course) = self.sections.entry(section.leg()).or_default();
            summary.add(&section);
            if let Some(time) = section.measured() {
                course.add(connection.first_at, time);
            }
            if let Some(groups) = &mut self.groups {
                groups.add(connection, &section);
            }
            lines.take(connection, &section, &self.probes, &self.order)?;
        }
        Ok(())
    }

    /// A section's name.
    pub(super) fn name(&self, leg: Leg) -> String {
        let [from, to] = names(leg, &self.probes, &self.order);
        format!("{from} to {to}")
    }

    /// The sections that part the whole path, from the client to the server, for connections that run this way.
    pub(super) fn path(&self, way: Way) -> Vec<Leg> {
        let last = self.probes.len() - 1;
        let inner = (0..last).map(|rank| (Place::Probe(rank), Place::Probe(rank + 1)));
        std::iter::once((Place::Client, Place::Probe(0)))
            .chain(inner)
            .chain([(Place::Probe(last), Place::Server)])
            .map(|(from, to)| Leg { way, from, to })
            .collect()
    }

    /// How many connections run this way.
    pub(super) fn running(&self, way: Way) -> u64 {
        let from_client = self.sections.iter().filter(|(leg, _)| leg.way == way && leg.from == Place::Client);
        from_client.map(|(_, (summary, _))| summary.connections()).sum()
    }

    /// Which section is to blame for what connections take that run along the order, and if none is, why.
    pub(super) fn blame(&self) -> Result<Blame, NoBlame> {
        let none = (Summary::default(), Course::default());
        let path = self.path(Way::Along);
        let known: Vec<(&Summary, &Course)> = path
            .iter()
            .map(|leg| self.sections.get(leg).unwrap_or(&none))
            .map(|(summary, course)| (summary, course))
            .collect();
        Blame::among(&known)
    }

    /// What is to be known of the whole: the order and how sure it is, what was joined and what was not.
    pub(super) fn account(&self, remarks: &[String]) -> String {
        let names: Vec<&str> = self.order.probes().iter().map(|probe| self.probes[*probe].as_str()).collect();
        let sure = match (self.pinned, self.order.sure().zip(self.order.voters())) {
            (true, _) => "as given".to_owned(),
            (_, None) => "a guess: no connection tells some of them apart; say --order".to_owned(),
            (_, Some((sure, voters))) => {
                let doubt = if sure < 0.9 { "; doubtful: say --order" } else { "" };
                format!(
                    "{:.1} % of {} agree, for the pair with the least{doubt}",
                    sure * 100.0,
                    counted(voters, "connection")
                )
            }
        };
        let mut text = format!("order from client to server: {} ({sure})\n", names.join(", "));
        let mut line = |told: String| {
            text.push_str(&told);
            text.push('\n');
        };
        line(format!(
            "{}, {} of them joined by their sequence numbers alone (NAT)",
            counted(self.connections, "connection"),
            grouped(self.nat.joined)
        ));
        let against = self.running(Way::Against);
        if against > 0 {
            let run = if against == 1 { "runs" } else { "run" };
            let told = counted(against, "connection");
            line(format!("{told} {run} the other way, from the server's side of that order"));
        }
        let unknown = self.running(Way::Unknown);
        if unknown > 0 {
            line(format!("it does not show which way {} went", counted(unknown, "connection")));
        }
        if self.nat.refused > 0 {
            line(format!(
                "such a match was refused {}: one place saw the same numbers more than once",
                counted(self.nat.refused, "time")
            ));
        }
        if self.nat.crowded > 0 {
            line(format!(
                "{} that not every place saw gave way to others before a match could come",
                counted(self.nat.crowded, "connection")
            ));
        }
        let wrong: u64 =
            self.sections.values().map(|(summary, _)| summary.count(SectionQuality::Inconsistent)).sum();
        if wrong > 0 {
            line(format!("inconsistent: {} below 0, told as measured", counted(wrong, "value")));
        }
        remarks.iter().cloned().for_each(line);
        text
    }

    /// Why nothing was measured of the connections that were heard.
    pub(super) fn why_nothing(&self) -> String {
        let mut counts: BTreeMap<SectionQuality, u64> = BTreeMap::new();
        for (summary, _) in self.sections.values() {
            for (quality, count) in &summary.qualities {
                *counts.entry(*quality).or_default() += count;
            }
        }
        let told: Vec<String> = counts.iter().map(|(quality, count)| format!("{count} {quality}")).collect();
        told.join(", ")
    }
}

/// An address of the network that a section is told by: the client's for the section next to it, the server's for all others.
pub(super) const fn network(connection: &Connection, section: &Section) -> IpAddr {
    match section.from {
        Place::Client => connection.ends.client.address,
        _ => connection.ends.server.address,
    }
}

/// The names of a section's ends, in this order of these probes.
pub(super) fn names<'a>(leg: Leg, probes: &'a [String], order: &Order) -> [&'a str; 2] {
    [leg.from, leg.to].map(|place| match place {
        Place::Client => "client",
        Place::Server => "server",
        Place::Probe(rank) => &probes[order.probe(leg.way, rank)],
    })
}
