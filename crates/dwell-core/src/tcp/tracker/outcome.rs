//! What a handshake comes to.

use super::super::{Ending, Flag, Half, Handshake};
use super::asked::Which;
use super::early::{Early, What};
use super::progress::Progress;
use crate::unit::Nanos;

impl Progress {
    /// The handshake as it stands.
    pub(super) fn handshake(&self, ending: Ending, client_half: Half) -> Handshake {
        let is_acknowledged = self.early.is_some_and(|early| early.what == What::Ack);
        let isn_server = if self.answers.count() > 0 {
            Some(self.isn_server)
        } else {
            self.early.filter(|_| is_acknowledged).map(|early| early.acknowledgment.wrapping_sub(1))
        };
        let doubted = self.skewed || self.answer_missed;
        // Of several SYNs and one that was not heard, other probes may tell another.
        let elsewhere = self.deaf && self.syns.is_repeated();
        let server_half = if doubted || elsewhere { Half::Unknown } else { self.server_half };
        let client_half = if doubted || self.deaf { Half::Unknown } else { client_half };
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

    /// The handshake, whose SYN was refused then.
    pub(super) fn refused(&self, at: Nanos, echo: Option<u32>) -> Handshake {
        let mut ended = self.clone();
        ended.judge_server(at, echo);
        ended.handshake(Ending::Refused, Half::Unknown)
    }

    /// The handshake, which the client broke off then: its kernel, in answer to the SYN/ACK; a program, later; or a firewall
    /// in its name. Where no SYN/ACK passed here, it refuses one nevertheless.
    pub(super) fn broken_off(&self, at: Nanos, echo: Option<u32>) -> Handshake {
        let mut ended = self.settled();
        ended.flags.set(Flag::Reset);
        if ended.answers.count() == 0 {
            let total = ended.syns.at_most(ended.syns.answered(None), at);
            return Handshake { total, ..ended.handshake(Ending::Refused, Half::Unknown) };
        }
        let which = ended.answers.answered(echo);
        let bound = ended.answers.at_most(which, at);
        ended.answer_missed |= which == Which::Unseen;
        // It refuses one before that, or one direction reaches the probe late.
        ended.skewed |= ended.answers.last().is_some_and(|last| at < last);
        let is_doubtful = ended.doubtful && !ended.answers.is_named(echo) || ended.may_have_missed(echo);
        ended.handshake(Ending::Refused, if is_doubtful { Half::Unknown } else { bound })
    }

    /// Whether a client's segment with this TSecr may answer a SYN/ACK that was not heard, where what would show it has been
    /// forgotten with the SYN; or one that is forgotten: there that it names the one that passed proves nothing, for two within
    /// a tick bear the same stamp.
    fn may_have_missed(&self, echo: Option<u32>) -> bool {
        let is_named = self.answers.is_named(echo) && !self.answer_forgotten;
        self.answers.count() > 0 && self.syns.is_after_forgotten() && !is_named
    }

    /// The handshake, which this segment of the client's ended. It is settled by that, where it lies: this is how most end, and to copy
    /// what was just written takes longer than all else here.
    pub(super) fn established(&mut self, third: Early) -> Handshake {
        self.settle();
        let is_trusted = !self.skewed && !self.deaf && !self.answer_missed;
        let before = self.early.replace(third);
        if third.what == What::Data {
            self.flags.set(Flag::AckWithData);
        }
        let asked = if self.answers.count() == 0 { &self.syns } else { &self.answers };
        // The SYN's own time stamp says nothing of an ACK's echo of the server's.
        let which = asked.answered(third.echo.filter(|_| self.answers.count() > 0));
        let is_doubtful = self.answers.count() > 0 && self.doubtful && !asked.is_named(third.echo);
        // Once it has the SYN's data, the server may speak first: unseen, that may be what the client acknowledges.
        let may_be_later = self.answers.count() == 0 && self.has_syn_data();
        let may_be_missed = self.may_have_missed(third.echo);
        let half = match asked.since(which, third.at) {
            _ if may_be_missed => Half::Unknown,
            _ if self.server_heard && self.answers.count() == 0 => Half::Unknown,
            _ if third.what != What::Ack && is_doubtful => Half::Unknown,
            Half::AtMost(_) if self.uncaused && is_doubtful => Half::Unknown,
            Half::Unknown => asked.at_most(which, third.at),
            _ if third.what != What::Ack || may_be_later => asked.at_most(which, third.at),
            half => half,
        };
        match which {
            Which::Unseen => self.answer_missed = true,
            // A pure ACK has had nothing of the server's but SYN/ACKs: what it names is one.
            Which::Later if third.what == What::Ack => self.note_uncaused(third.at),
            _ => {}
        }
        if self.answers.count() == 0 {
            let total = if self.skewed || self.uncaused { Half::Unknown } else { half };
            return Handshake { total, ..self.handshake(Ending::Established, Half::Unknown) };
        }
        if self.answers.last().is_some_and(|last| third.at < last) {
            // An ACK stamped before its SYN/ACK. Where it passed before it as well, one direction reaches the probe
            // late: the halves are wrong by that, each the other way, and their sum is not.
            self.skewed = true;
            let passed_before = before.is_some_and(|early| (early.at, early.what) == (third.at, third.what));
            if !passed_before {
                self.flags.set(Flag::ClockStepped);
            }
            // If its echo names another SYN/ACK, that one may be the answer to another SYN; or the SYN/ACK names one that
            // was not heard.
            let is_whole = passed_before && third.what == What::Ack && which == Which::Newest && is_trusted;
            let total =
                if is_whole { self.syns.since(self.syns.answered(None), third.at) } else { Half::Unknown };
            return Handshake { total, ..self.handshake(Ending::Established, Half::Unknown) };
        }
        self.handshake(Ending::Established, half)
    }
}
