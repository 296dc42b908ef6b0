//! Which segment a kernel's TSecr names, where it answers a repetition.

use super::at_host::{Answers, AtHost};
use dwell_core::tcp::TcpFlags;

/// How often answers to a repetition name which segment.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Naming {
    /// The repetition, which is answered.
    pub answered: u64,
    /// The first that came.
    pub first: u64,
    /// Another one.
    pub other: u64,
}

/// What the kernels of both ends echo.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Echoed {
    /// The server's, in SYN/ACKs that answer a repeated SYN.
    pub by_server: Naming,
    /// The client's, in ACKs that answer a repeated SYN/ACK.
    pub by_client: Naming,
}

impl Echoed {
    pub(super) fn count(&mut self, [client, server]: &[Vec<AtHost>; 2], answers: &Answers) {
        self.by_client.count(client, answers);
        self.by_server.count(server, answers);
    }
}

impl Naming {
    fn count(&mut self, at_host: &[AtHost], answers: &Answers) {
        let value = |one: &AtHost| Some(one.segment.options.timestamps?.value);
        for (index, answer) in at_host.iter().enumerate().filter(|(_, one)| one.sent) {
            let (Some(asked), Some(stamps)) =
                (answers.get(&answer.number), answer.segment.options.timestamps)
            else {
                continue;
            };
            let mut came =
                at_host[..index].iter().filter(|one| !one.sent && one.segment.flags.has(TcpFlags::SYN));
            let Some(first) = came.clone().next() else { continue };
            let asked = came.find(|one| one.number == *asked);
            match asked {
                Some(asked) if asked.number == first.number || value(asked) == value(first) => {}
                Some(asked) if value(asked) == Some(stamps.echo) => self.answered += 1,
                _ if value(first) == Some(stamps.echo) => self.first += 1,
                _ => self.other += 1,
            }
        }
    }
}
