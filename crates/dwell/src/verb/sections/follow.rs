//! Going on with what is new in a warehouse.

use super::clocks::FARTHEST;
use super::lines::Lines;
use super::outcome::{Choice, Outcome, is_nat};
use super::source::{self, Reach, Source, now};
use crate::figure::counted;
use crate::interrupted::interrupted;
use crate::screen::coloured;
use crate::terminal::{Live, View};
use anyhow::{Result, bail};
use dwell_core::Nanos;
use dwell_core::tcp::IsnKey;
use dwell_core::tcp::section::{Connection, Ends};
use dwell_store::warehouse::WarehouseError;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, IsTerminal};
use std::mem;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often new data is looked for.
const EACH: Duration = Duration::from_secs(1);

/// How often all is looked at that is looked back for, where that takes no more than a tenth of the time; in between what is near.
const WHOLE: Duration = Duration::from_secs(10);

/// How often keys are heard.
const KEYS: Duration = Duration::from_millis(50);

/// How far back it is looked for, where nobody says: probes ship later than they see. Clocks may take it farther.
const BACK: u32 = 120;

/// A connection that not every probe has told of is told without the others after this time, by this host's clock.
const PATIENCE: Nanos = Nanos::from_secs(30);

/// A connection that the warehouse hands out no longer is known as told for so long: where a clock turns out to be behind, it is
/// looked so much farther back from then on.
const REMEMBERED: Nanos = FARTHEST;

/// How often it is looked whether a clock has fallen behind, once connections are told: that reads of all days near now, and takes as long
/// as to look for what is new.
const WIDENED: Nanos = Nanos::from_secs(10);

/// So many connections tell the order of the probes, or as many as there are after [`PATIENCE`]: what was told in one
/// order cannot be taken back in another.
const VOTERS: u64 = 30;

/// A connection that has been told, by a hash whose keys nobody knows: one that has not been told is taken for one of a million that have
/// once in 10^13 times, and the ends and numbers themselves would take four times as much for as long.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
struct Mark(u64);

/// Connections that have been told, and when each was last among what the warehouse hands out.
#[derive(Default)]
struct Told {
    when: HashMap<Mark, Nanos>,
    keys: RandomState,
    /// Since when others wait for what more probes tell.
    waiting: HashMap<Ends, Nanos>,
    /// Those that not every probe saw, of this look, by their numbers: what may be one behind a NAT.
    parts: HashMap<IsnKey, Vec<Ends>>,
}

impl Told {
    /// By which marks a connection is known. Of one that was joined by its numbers each part is it, also where it comes alone:
    /// one part may come later than the others, and go later.
    fn marks(&self, connection: &Connection) -> Vec<Mark> {
        let parts = self.parts.get(&connection.ends.isn_key()).filter(|_| is_nat(connection));
        let all = std::iter::once(&connection.ends).chain(parts.into_iter().flatten());
        all.map(|ends| Mark(self.keys.hash_one(ends))).collect()
    }

    /// Whether it has been told already.
    fn has(&mut self, connection: &Connection, now: Nanos) -> bool {
        let known = self.marks(connection).iter().any(|mark| self.when.contains_key(mark));
        if known {
            self.note(connection, now);
        }
        known
    }

    fn note(&mut self, connection: &Connection, now: Nanos) {
        let marks = self.marks(connection);
        self.when.extend(marks.into_iter().map(|mark| (mark, now)));
    }

    /// What the warehouse hands out no longer need not be remembered, but for a while, as a probe whose clock is ahead may ship
    /// late.
    fn forget(&mut self, now: Nanos) {
        self.when.retain(|_, seen| now - *seen <= REMEMBERED);
    }
}

/// For what a look tells of connections of which not every probe has told.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Wait {
    /// They wait, however long they have: what is near may be a part of what is there.
    On,
    /// Until they have waited for so long.
    For(Nanos),
    /// No more.
    Over,
}

/// One look at what the warehouse hands out: chooses what is new, once every probe has told of it or it waits no more.
struct Look<'a> {
    told: &'a mut Told,
    /// Since when those wait that did at the whole look before.
    waited: HashMap<Ends, Nanos>,
    now: Nanos,
    probes: usize,
    wait: Wait,
}

impl<'a> Look<'a> {
    fn new(told: &'a mut Told, now: Nanos, probes: usize, wait: Wait) -> Self {
        told.parts.clear();
        // What is not near goes on waiting.
        let waited = if wait == Wait::On { HashMap::new() } else { mem::take(&mut told.waiting) };
        Self { told, waited, now, probes, wait }
    }

    /// Whether nothing more is waited for. A probe's clock does not say how long: it may be behind, and others ship later.
    fn is_ripe(&mut self, connection: &Connection) -> bool {
        if connection.sights.len() >= self.probes || self.wait == Wait::Over {
            return true;
        }
        let since = self.waited.get(&connection.ends).copied().unwrap_or(self.now);
        let since = *self.told.waiting.entry(connection.ends).or_insert(since);
        // One whose clock is ahead waits until then.
        matches!(self.wait, Wait::For(patience) if self.now - since.max(connection.first_at) >= patience)
    }
}

impl Choice for Look<'_> {
    fn reach(&self) -> Reach {
        if self.wait == Wait::On { Reach::Near } else { Reach::Whole }
    }

    fn see(&mut self, connection: &Connection) {
        if connection.sights.len() < self.probes {
            self.told.parts.entry(connection.ends.isn_key()).or_default().push(connection.ends);
        }
    }

    fn wants(&mut self, connection: &Connection) -> bool {
        let is_new = !self.told.has(connection, self.now) && self.is_ripe(connection);
        if is_new {
            self.told.note(connection, self.now);
        }
        is_new
    }
}

/// Tells what is new, each second, until interrupted; then what has waited for other probes, as it is.
pub(super) fn follow(
    source: &mut Source,
    order: &[String],
    outcome: &mut Outcome,
    lines: &mut Lines,
    json: bool,
) -> Result<()> {
    let interrupted = interrupted()?;
    source.narrow(BACK);
    let mut live = (!json && io::stdout().is_terminal()).then(Live::open).transpose()?;
    let (mut following, mut waits) = (Following::new(), None);
    // A reader that went away, such as `head`, ends it too.
    'on: while !interrupted.load(Ordering::Relaxed) && !lines.are_unread() {
        let (looked, before) = (Instant::now(), outcome.connections());
        let trouble = passing(following.look(source, order, outcome, lines))?;
        let waits_now = trouble.as_deref().map(wait_for).or_else(|| following.waits(outcome));
        if live.is_none() {
            if waits_now != waits {
                waits_now.iter().for_each(|why| eprintln!("{why}"));
            }
            following.late.drain(..).for_each(|why| eprintln!("{why}"));
            if !json && outcome.connections() > before {
                lines.tell(&format!("{}\n", outcome.text(coloured())))?;
            }
        }
        waits = waits_now;
        while looked.elapsed() < EACH && !interrupted.load(Ordering::Relaxed) {
            if let Some(live) = &mut live
                && live.show(|| view(outcome, waits.clone(), &following.late))?
            {
                break 'on;
            }
            sleep(KEYS);
        }
    }
    drop(live);
    following.finish(source, outcome, lines)
}

/// How far it has come.
struct Following {
    /// When these probes were asked first.
    began: Nanos,
    /// Whether their order is known.
    ordered: bool,
    /// Why there are none to be asked.
    missing: Option<String>,
    /// What is to be said of the clocks of those that are, while nothing is told.
    clocks: Vec<String>,
    /// When it was looked last whether a clock is behind.
    widened: Nanos,
    told: Told,
    /// When all is to be looked at again.
    whole: Instant,
    /// What is to be said of probes that came too late.
    late: Vec<String>,
}

impl Following {
    fn new() -> Self {
        Self {
            began: now(),
            ordered: false,
            missing: None,
            clocks: Vec::new(),
            widened: now(),
            told: Told::default(),
            whole: Instant::now(),
            late: Vec::new(),
        }
    }

    /// Tells what is new.
    fn look(
        &mut self,
        source: &mut Source,
        order: &[String],
        outcome: &mut Outcome,
        lines: &mut Lines,
    ) -> Result<()> {
        // What was told in one order cannot be taken back in another: until then, whoever sends has a place in it, and more
        // connections tell of it.
        if outcome.connections() == 0 {
            self.missing = source.ask(order)?;
            if self.missing.is_none() {
                if outcome.be_of(source.asked()) {
                    (self.began, self.ordered) = (now(), false);
                }
                source.widen()?;
                self.clocks = source.clocks()?;
                let voters = outcome.learn_order(source)?;
                self.ordered |=
                    voters.is_none_or(|count| count >= VOTERS || count > 0 && now() - self.began > PATIENCE);
            }
        } else {
            if now() - self.widened > WIDENED {
                source.widen()?;
                self.widened = now();
            }
            if order.is_empty() {
                self.late.extend(source.newcomers()?.iter().map(|name| source::late(name)));
            }
        }
        if self.ordered {
            let looked = Instant::now();
            if outcome.connections() > 0 && looked < self.whole {
                return hear(source, outcome, lines, &mut self.told, Wait::On);
            }
            hear(source, outcome, lines, &mut self.told, Wait::For(patience(source.seconds())))?;
            self.whole = Instant::now() + rest(looked.elapsed(), source.seconds());
        }
        Ok(())
    }

    /// What is waited for before anything can be told.
    fn waits(&self, outcome: &Outcome) -> Option<String> {
        let what = match (&self.missing, self.ordered, outcome.connections()) {
            (Some(missing), ..) => return Some(wait_for(missing)),
            (None, false, _) => "waiting for connections that tell the order of the probes",
            (None, true, 0) => "waiting for connections",
            _ => return None,
        };
        // Those that were just begun have nothing to say for themselves yet.
        let clocks = self.clocks.iter().filter(|_| now() - self.began > PATIENCE);
        Some(std::iter::once(what).chain(clocks.map(String::as_str)).collect::<Vec<_>>().join("; "))
    }

    /// Tells what has waited, as it is.
    fn finish(mut self, source: &mut Source, outcome: &mut Outcome, lines: &mut Lines) -> Result<()> {
        if let Some(missing) = self.missing {
            bail!(missing);
        }
        if !self.ordered {
            outcome.learn_order(source)?;
        }
        hear(source, outcome, lines, &mut self.told, Wait::Over)
    }
}

/// How long all is not looked at again after that took so long, where it is looked so many seconds back: it is begun four times
/// while anything is in it, so that what waits for another probe is told before it is looked at no more.
fn rest(took: Duration, seconds: Option<u32>) -> Duration {
    let most = seconds.map_or(Duration::MAX, |seconds| Duration::from_secs(seconds.into()) / 4);
    WHOLE.max(took * 10).min(most.saturating_sub(took))
}

/// How long a connection waits for probes where it is looked so many seconds back: it has to be among what a look finds then.
fn patience(seconds: Option<u32>) -> Nanos {
    seconds.map_or(PATIENCE, |seconds| PATIENCE.min(Nanos::from_millis(i64::from(seconds) * 500)))
}

/// A warehouse that cannot be had now may be there at the next look: why not is told, and it is tried again.
fn passing(looked: Result<()>) -> Result<Option<String>> {
    match looked {
        Err(error) if matches!(error.downcast_ref(), Some(WarehouseError::Failed { .. })) => {
            Ok(Some(error.to_string()))
        }
        other => other.map(|()| None),
    }
}

fn wait_for(what: &str) -> String {
    format!("waiting: {what}")
}

/// Hears each connection once.
fn hear(
    source: &mut Source,
    outcome: &mut Outcome,
    lines: &mut Lines,
    told: &mut Told,
    wait: Wait,
) -> Result<()> {
    let (now, probes) = (now(), outcome.order().probes().len());
    outcome.hear_some(source, lines, &mut Look::new(told, now, probes, wait))?;
    if wait != Wait::On {
        told.forget(now);
    }
    lines.flush()
}

/// The run so far.
fn view(outcome: &Outcome, waits: Option<String>, late: &[String]) -> View {
    let head = format!("dwell sections: {}; q ends it", counted(outcome.connections(), "connection"));
    let told = || vec!["\n".to_owned(), outcome.text(false), "\n".to_owned(), outcome.account(late)];
    View { head, parts: waits.map_or_else(told, |waits| vec![waits]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_core::tcp::section::{NatJoin, Sight};
    use dwell_core::tcp::{Endpoint, Flags, Half, Quality};
    use std::net::Ipv4Addr;

    fn connection(port: u16, probes: &[usize]) -> Connection {
        let end = |port| Endpoint { address: Ipv4Addr::LOCALHOST.into(), port };
        let ends = Ends { client: end(port), server: end(443), isn_client: 1, isn_server: 2 };
        let sight = |probe: &usize| Sight {
            probe: *probe,
            server: Half::Unknown,
            client: Half::Unknown,
            quality: Quality::Exact,
            flags: Flags::default(),
            syn_acks: 1,
        };
        Connection { ends, first_at: Nanos::ZERO, sights: probes.iter().map(sight).collect() }
    }

    #[test]
    fn what_is_handed_out_no_longer_is_forgotten_after_a_while() {
        let of = |port| connection(port, &[0]);
        let mut told = Told::default();
        assert!(!told.has(&of(1), Nanos::ZERO));
        (1..=2).for_each(|port| told.note(&of(port), Nanos::ZERO));
        for second in 0..700 {
            assert!(told.has(&of(1), Nanos::from_secs(second)));
            told.forget(Nanos::from_secs(second));
        }
        assert_eq!(told.when.len(), 1);
        told.forget(Nanos::from_secs(1_400));
        assert!(told.when.is_empty());
    }

    /// Which of these are told at looks that follow each other, the last of which waits for nothing more.
    fn told(looks: &[&[Connection]]) -> Vec<Vec<u16>> {
        let (mut told, mut all) = (Told::default(), Vec::new());
        for (number, seen) in looks.iter().enumerate() {
            let now = Nanos::from_secs(number as i64);
            let wait = if number + 1 < looks.len() { Wait::For(Nanos::ZERO) } else { Wait::Over };
            let mut look = Look::new(&mut told, now, 2, wait);
            let mut join = NatJoin::new(2);
            let mut new = Vec::new();
            let mut take = |connection: Connection, look: &mut Look<'_>| {
                new.extend(look.wants(&connection).then_some(connection.ends.client.port));
            };
            for connection in *seen {
                look.see(connection);
                join.offer(connection.clone(), &mut |connection| take(connection, &mut look));
            }
            join.finish(&mut |connection| take(connection, &mut look));
            told.forget(now);
            all.push(new);
        }
        all
    }

    #[test]
    fn what_a_nat_parts_is_told_once_whichever_part_comes_or_goes_first() {
        let [inside, outside] = [connection(1, &[0]), connection(2, &[1])];
        let both = [inside.clone(), outside.clone()];
        let alone = std::slice::from_ref;
        assert_eq!(told(&[&both, &both, alone(&outside), &[]]), [vec![1], vec![], vec![], vec![]]);
        assert_eq!(told(&[alone(&outside), &both, alone(&inside), &[]]), [vec![2], vec![], vec![], vec![]]);
        // Both ends are rewritten: as a whole it is called as neither part is.
        let mut outside = connection(2, &[1]);
        outside.ends.server.port = 8_443;
        let both = [inside.clone(), outside.clone()];
        assert_eq!(told(&[&both, alone(&inside), &both, alone(&outside)]), [vec![1], vec![], vec![], vec![]]);
        assert_eq!(told(&[alone(&outside), &both, &[]]), [vec![2], vec![], vec![]]);
        // Others with the same numbers, which nothing joins.
        let again = connection(3, &[0]);
        let all = [inside.clone(), outside, again];
        assert_eq!(told(&[alone(&inside), &all]), [vec![1], vec![2, 3]]);
    }

    /// However late its clock says that it began.
    #[test]
    fn a_connection_waits_for_other_probes_by_this_hosts_clock() {
        let seen = connection(1, &[0]);
        let mut told = Told::default();
        let mut wants = |second, probes: &[usize]| {
            let now = Nanos::from_secs(second);
            let mut look = Look::new(&mut told, now, 2, Wait::For(PATIENCE));
            look.wants(&Connection { first_at: seen.first_at, ..connection(1, probes) })
        };
        assert!(!wants(500, &[0]) && !wants(529, &[0]));
        assert!(wants(529, &[0, 1]) && !wants(600, &[0, 1]));
        let mut told = Told::default();
        let mut wants =
            |second| Look::new(&mut told, Nanos::from_secs(second), 2, Wait::For(PATIENCE)).wants(&seen);
        assert!(!wants(500) && !wants(529) && wants(530) && !wants(531));
    }

    /// What is near has a part of what is there; what waits farther back goes on waiting.
    #[test]
    fn a_look_at_what_is_near_tells_what_every_probe_has_told_of_and_nothing_else() {
        let mut told = Told::default();
        let mut wants = |second, wait, connections: &[(u16, &[usize])]| -> Vec<u16> {
            let mut look = Look::new(&mut told, Nanos::from_secs(second), 2, wait);
            let mut new = Vec::new();
            for (port, probes) in connections {
                new.extend(look.wants(&connection(*port, probes)).then_some(*port));
            }
            new
        };
        let (whole, none) = (Wait::For(PATIENCE), Vec::<u16>::new());
        assert_eq!(wants(100, whole, &[(1, &[0]), (2, &[0]), (3, &[0, 1])]), [3]);
        assert_eq!(wants(105, Wait::On, &[(2, &[0]), (3, &[1]), (4, &[1])]), none);
        assert_eq!(wants(110, Wait::On, &[(2, &[0, 1]), (5, &[0, 1])]), [2, 5]);
        // All have waited for long enough; a part of what is there may be all that is near.
        assert_eq!(wants(140, Wait::On, &[(1, &[0]), (4, &[1])]), none);
        assert_eq!(wants(134, whole, &[(1, &[0]), (2, &[0]), (3, &[1]), (4, &[1])]), [1]);
        assert_eq!(wants(135, whole, &[(4, &[1]), (5, &[0])]), [4]);
    }

    #[test]
    fn all_is_looked_at_for_a_tenth_of_the_time_and_four_times_while_anything_is_in_it() {
        let seconds = |seconds| Duration::from_secs_f64(seconds);
        assert_eq!(rest(seconds(0.1), Some(120)), seconds(10.0));
        assert_eq!(rest(seconds(2.0), Some(120)), seconds(20.0));
        assert_eq!(rest(seconds(12.0), Some(120)), seconds(18.0));
        assert_eq!(rest(seconds(40.0), Some(120)), seconds(0.0));
        assert_eq!(rest(seconds(0.25), Some(5)), seconds(1.0));
        assert_eq!(rest(seconds(2.0), None), seconds(20.0));
    }

    #[test]
    fn nothing_waits_until_it_is_looked_at_no_more() {
        assert_eq!([None, Some(120), Some(60)].map(patience), [PATIENCE; 3]);
        assert_eq!(patience(Some(5)), Nanos::from_millis(2_500));
    }

    #[test]
    fn in_the_end_nothing_waits_also_for_a_clock_that_is_ahead() {
        let ahead = Connection { first_at: Nanos::from_secs(9), ..connection(1, &[0]) };
        let ahead = std::slice::from_ref(&ahead);
        assert_eq!(told(&[ahead, ahead]), [vec![], vec![1]]);
    }
}
