//! The spin bit (RFC 9000, 17.4): the server takes over the client's bit, the client turns the server's.
//!
//! An end that does not spin sets the bit at random, packet by packet or once and for all; the other end spins on, and
//! copies what is random: edges come in turn for that reason alone. So both must have shown that they follow each other.

use crate::unit::Nanos;

/// Packets of one end that a copy is looked for among.
const COPIES: usize = 4;

/// What bets win and lose, in eighths of a bit: 2^(7/8) + 2^(-21/8) < 2. So two to the power of all that was won on bits
/// that are set at random is a supermartingale, and comes to 2^24 in one of 2^24 connections at most, however many packets
/// they have (Ville's inequality).
const RIGHT: i16 = 7;
const WRONG: i16 = -21;
const ENOUGH: i16 = 24 * 8;
/// More is not kept, of either sign: who stops to follow is to be noticed soon, who begins to is to be believed some time.
const MOST: i16 = 48 * 8;

/// So often more one way than the other is a habit that is bet on; more often is not counted.
const HABIT: i8 = 2;
const FIRM: i8 = 4;

/// When a packet passes: how its bit was is learned for each of these, and bet on.
#[derive(Copy, Clone)]
enum When {
    /// Its end has followed the other's bit already.
    Followed,
    /// The other's edge is a short while ago, about as long as this end took last, or longer.
    Early,
    Due,
    Late,
}

/// Whether one end follows the other.
#[derive(Copy, Clone, Debug, Default)]
struct Follower {
    bit: Option<bool>,
    /// The ends of its last packets.
    tails: [u64; COPIES],
    habits: [i8; 4],
    won: i16,
    /// How long its last edges in turn came after the other's, the newest first.
    waited: [Nanos; 2],
}

impl Follower {
    /// Whether it passed a few packets before: its bit is no other then. What is encrypted is never twice the same.
    fn is_copy(&mut self, tail: u64) -> bool {
        let is_copy = self.tails.contains(&tail);
        if !is_copy {
            self.tails.rotate_right(1);
            self.tails[0] = tail;
        }
        is_copy
    }

    fn when(&self, since: Nanos) -> When {
        match since {
            since if since * 2 < self.waited[0] => When::Early,
            since if since * 2 < self.waited[0] * 3 => When::Due,
            _ => When::Late,
        }
    }

    /// A packet at such a time follows the other end's bit, or does not.
    fn learn(&mut self, when: When, follows: bool) {
        let habit = &mut self.habits[when as usize];
        if habit.abs() >= HABIT {
            let won = if (*habit > 0) == follows { RIGHT } else { WRONG };
            self.won = (self.won + won).clamp(-MOST, MOST);
        }
        *habit = (*habit + if follows { 1 } else { -1 }).clamp(-FIRM, FIRM);
    }
}

/// An edge that came in turn.
#[derive(Copy, Clone, Debug)]
struct Edge {
    by_client: bool,
    at: Nanos,
    /// None of the same end passed since the other's: this is what the other answers.
    is_first: bool,
    /// How long after the other end's it came, or the two before it, whichever is longest: a packet that is overtaken by
    /// more than the other end's half makes an edge in turn too early, and where its end sends seldom nothing unmakes it.
    /// Not thrice on end.
    waited: Option<Nanos>,
}

/// Both ends, client first, and the last edge; none after one that was out of turn.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Spin {
    ends: [Follower; 2],
    edge: Option<Edge>,
}

impl Spin {
    /// A packet of the client or the server, and its last bytes. It may confirm the other end's last edge: then gives how
    /// long after the edge that it answers that came, and when. A packet that was overtaken makes an edge too, but the next
    /// packet unmakes it.
    pub(super) fn see(
        &mut self,
        by_client: bool,
        spin: bool,
        tail: u64,
        at: Nanos,
    ) -> Option<(Nanos, Nanos)> {
        let [client, server] = &mut self.ends;
        let (own, other) = if by_client { (client, server) } else { (server, client) };
        if own.is_copy(tail) {
            return None;
        }
        let (before, others) = (own.bit.replace(spin)?, other.bit?);
        let wanted = others != by_client;
        let asked = self.edge.filter(|edge| edge.by_client != by_client);
        let since = asked.map(|edge| at - edge.at).filter(|since| *since >= Nanos::ZERO);
        let when = if before == wanted { Some(When::Followed) } else { since.map(|since| own.when(since)) };
        if let Some(when) = when {
            own.learn(when, spin == wanted);
        }
        if spin == before {
            return None;
        }
        let last = self.edge.take();
        if spin != wanted {
            return None;
        }
        let (Some(since), Some(asked)) = (since, asked) else {
            let is_lone = last.is_none();
            self.edge = is_lone.then_some(Edge { by_client, at, is_first: false, waited: None });
            return None;
        };
        let [one, two] = own.waited;
        own.waited = [since, one];
        let waited = asked.is_first.then_some(since.max(one).max(two));
        self.edge = Some(Edge { by_client, at, is_first: true, waited });
        let follow = self.ends.iter().all(|end| end.won >= ENOUGH);
        asked.waited.filter(|_| follow).map(|waited| (waited, asked.at))
    }
}
