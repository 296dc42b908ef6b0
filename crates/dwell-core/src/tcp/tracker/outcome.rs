//! What a handshake comes to.

use super::super::{Ending, Flag, Half, Handshake};
use super::asked::Which;
use super::early::{Early, What};
use super::progress::Progress;

impl Progress {
    /// The handshake as it stands.
    pub(super) fn handshake(&self, ending: Ending, client_half: Half) -> Handshake {
        let is_acknowledged = self.early.is_some_and(|early| early.what == What::Ack);
        let isn_server = if self.answers.count() > 0 {
            Some(self.isn_server)
        } else {
            self.early.filter(|_| is_acknowledged).map(|early| early.acknowledgment.wrapping_sub(1))
        };
        let trusted = |half| if self.skewed { Half::Unknown } else { half };
        let (server_half, client_half) = (trusted(self.server_half), trusted(client_half));
        let total = if self.uncaused { Half::Unknown } else { server_half.then(client_half) };
        Handshake {
            client: self.client,
            server: self.server,
            isn_client: self.isn_client,
            isn_server,
            first_at: self.begun(),
            syn_at: self.syns.first(),
            server_half,
            client_half,
            total,
            ending,
            syns: self.syns.count(),
            syn_acks: self.answers.count(),
            flags: self.flags,
        }
    }

    /// The handshake, which this segment of the client's ended.
    pub(super) fn established(&self, third: Early) -> Handshake {
        let mut ended = self.settled();
        ended.early = Some(third);
        if third.what == What::Data {
            ended.flags.set(Flag::AckWithData);
        }
        let asked = if ended.answers.count() == 0 { &ended.syns } else { &ended.answers };
        // The SYN's own time stamp says nothing of an ACK's echo of the server's.
        let which = asked.answered(third.echo.filter(|_| ended.answers.count() > 0));
        let is_doubtful = ended.answers.count() > 0 && ended.doubtful && !asked.is_named(third.echo);
        // Once it has the SYN's data, the server may speak first: unseen, that may be what the client acknowledges.
        let may_be_later = ended.answers.count() == 0 && ended.has_syn_data();
        let half = match asked.since(which, third.at) {
            _ if ended.deaf && ended.answers.count() > 0
                || ended.server_heard && ended.answers.count() == 0 =>
            {
                Half::Unknown
            }
            _ if third.what != What::Ack && is_doubtful => Half::Unknown,
            Half::Unknown => asked.at_most(which, third.at),
            _ if third.what != What::Ack || may_be_later => asked.at_most(which, third.at),
            half => half,
        };
        if ended.answers.count() == 0 {
            let total = if ended.skewed { Half::Unknown } else { half };
            return Handshake { total, ..ended.handshake(Ending::Established, Half::Unknown) };
        }
        if self.answers.last().is_some_and(|last| third.at < last) {
            // An ACK stamped before its SYN/ACK. Where it passed before it as well, one direction reaches the probe
            // late: the halves are wrong by that, each the other way, and their sum is not.
            ended.skewed = true;
            let passed_before =
                self.early.is_some_and(|early| (early.at, early.what) == (third.at, third.what));
            if !passed_before {
                ended.flags.set(Flag::ClockBackwards);
            }
            // If its echo names another SYN/ACK, that one may be the answer to another SYN; or the SYN/ACK names one that
            // was not heard.
            let is_trusted = !self.skewed && !self.deaf;
            let is_whole = passed_before && third.what == What::Ack && which == Which::Newest && is_trusted;
            let total =
                if is_whole { self.syns.since(self.syns.answered(None), third.at) } else { Half::Unknown };
            return Handshake { total, ..ended.handshake(Ending::Established, Half::Unknown) };
        }
        ended.handshake(Ending::Established, half)
    }
}
