//! When a collector is told the templates again: without them it reads no record, and UDP tells nobody what was missed.

use std::time::{Duration, Instant};

/// Messages after which they are told again.
const MESSAGES: u32 = 64;

/// The same in time, where few connections pass: a collector that starts later, or anew, reads what comes after it (RFC 7011,
/// section 8.4: over UDP they are sent again at regular intervals).
const TIME: Duration = Duration::from_secs(30);

/// How long ago they were told.
#[derive(Default)]
pub(super) struct Reminder {
    /// `None`: never, or somebody may have missed them.
    told: Option<Instant>,
    /// Messages since then.
    messages: u32,
}

impl Reminder {
    /// Whether they go before the next message.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        let is_old = |told| now.saturating_duration_since(told) >= TIME;
        self.told.is_none_or(is_old) || self.messages >= MESSAGES
    }

    /// They go.
    pub(super) const fn told(&mut self, now: Instant) {
        *self = Self { told: Some(now), messages: 0 };
    }

    /// A message goes.
    pub(super) const fn sent(&mut self) {
        self.messages = self.messages.saturating_add(1);
    }

    /// One was refused: whoever collects will be another than before.
    pub(super) const fn refused(&mut self) {
        self.told = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_due_by_time_by_messages_and_after_a_refusal() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut reminder = Reminder::default();
        assert!(reminder.is_due(start));
        reminder.told(start);
        assert!(!reminder.is_due(at(29)) && reminder.is_due(at(30)));
        reminder.told(at(30));
        (1..MESSAGES).for_each(|_| reminder.sent());
        assert!(!reminder.is_due(at(31)));
        reminder.sent();
        assert!(reminder.is_due(at(31)));
        reminder.told(at(31));
        reminder.refused();
        assert!(reminder.is_due(at(31)));
    }
}
