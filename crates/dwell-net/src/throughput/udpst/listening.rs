//! The end that receives load, and tells what came.

use super::line::{SILENCE, WATCHDOG, Wall, gone, next};
use crate::clock;
use dwell_core::Nanos;
use dwell_core::throughput::udpst::account::Account;
use dwell_core::throughput::udpst::rates::row;
use dwell_core::throughput::udpst::search::Search;
use dwell_core::throughput::udpst::{Action, Load, Parameters, SubInterval};
use std::io;
use std::net::UdpSocket;

/// What came.
#[derive(Default)]
pub(super) struct Listened {
    pub(super) parts: Vec<SubInterval>,
    pub(super) garbage: u64,
}

/// Receives until the test is over. `search`: of a server, which says the rate, and when it is over; a client is told.
pub(super) fn listen(
    socket: &UdpSocket,
    how: &Parameters,
    mut search: Option<(Search, Nanos)>,
    began: Nanos,
) -> io::Result<Listened> {
    let (wall, mut account, mut told) = (Wall::now_is(), Account::default(), Listened::default());
    let trial = Nanos::from_millis(how.trial.into());
    let length = Nanos::from_millis(how.sub_interval.into());
    let mut due = clock::monotonic() + trial;
    let mut heard = clock::monotonic();
    let mut buffer = vec![0; usize::from(u16::MAX)];
    let mut stopping = false;
    loop {
        let now = clock::monotonic();
        let silence = now - heard;
        if search.is_none() && silence > SILENCE && now > began + Nanos::from_secs(how.test.into()) {
            return Ok(told);
        }
        if silence > WATCHDOG {
            return Err(gone("sender"));
        }
        if now >= due {
            due += trial;
            if account.begun() {
                let trial_seen = *account.trial();
                let (mut status, over) = account.status(wall.now(), length, trial);
                status.deaf = silence >= SILENCE;
                if let Some((search, until)) = &mut search {
                    search.see(&trial_seen);
                    status.row = row(search.index());
                    stopping = now > began + *until;
                }
                if stopping {
                    status.action = Action::Stop;
                }
                told.parts.extend(over);
                // One that the kernel does not take is one that is lost.
                let _ = socket.send(&status.pack());
            }
        }
        let patience = (due - clock::monotonic()).max(Nanos::from_micros(100));
        let Some((length_read, _)) = next(socket, &mut buffer, patience)? else { continue };
        match Load::parse(&buffer[..length_read]) {
            // What a header says of the size must not be more than a packet can have.
            Ok(load) if usize::from(load.payload) == length_read => {
                heard = clock::monotonic();
                if load.action == Action::Stop {
                    if search.is_none() {
                        // The server waits for the confirmation.
                        let (mut status, _) = account.status(wall.now(), length, trial);
                        status.action = Action::Stop;
                        let _ = socket.send(&status.pack());
                    }
                    return Ok(told);
                }
                account.enter(&load, wall.now());
            }
            Ok(_) | Err(_) => told.garbage += 1,
        }
    }
}
