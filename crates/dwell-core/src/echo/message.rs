//! What Dwell's own echo probes carry over UDP and TCP, and what its responder answers: the host's stamps travel in
//! the answer, so that no capture at the host is needed.

use crate::unit::Nanos;

/// Bytes of a probe, and of its answer: a responder sends no more than it got.
pub const LENGTH: usize = 64;

/// The first bytes of both.
const MAGIC: [u8; 8] = *b"dwellech";

const PROBE: u64 = 1;
const ANSWER: u64 = 2;

/// The host's own times of one probe.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The probe's number.
    pub number: u64,
    /// The kernel's stamp of its arrival, where there is one.
    pub arrived: Option<Nanos>,
    /// t3: the program's stamp, after the read.
    pub t3: Nanos,
    /// t5: the program's stamp before it sent the answer.
    pub t5: Nanos,
    /// Number of an earlier probe, and the kernel's stamp of its answer's departure, which is known only afterwards.
    pub earlier: Option<(u64, Nanos)>,
}

/// A probe.
#[must_use]
pub fn probe(number: u64) -> [u8; LENGTH] {
    written([number, PROBE, 0, 0, 0, 0, 0])
}

/// The number of a probe; `None` for anything else, an answer above all: two responders shall not talk for ever.
#[must_use]
pub fn read_probe(bytes: &[u8]) -> Option<u64> {
    match read(bytes)? {
        [number, PROBE, ..] => Some(number),
        _ => None,
    }
}

/// What a probe and its answer have in common; `None` for anything else.
pub(crate) fn id(bytes: &[u8]) -> Option<[u8; 16]> {
    read(bytes)?;
    bytes.first_chunk().copied()
}

impl Answer {
    /// As it travels.
    #[must_use]
    pub fn write(&self) -> [u8; LENGTH] {
        let time = |time: Nanos| time.0.cast_unsigned();
        let (earlier, departed) = self.earlier.unwrap_or_default();
        let arrived = time(self.arrived.unwrap_or_default());
        written([self.number, ANSWER, arrived, time(self.t3), time(self.t5), earlier, time(departed)])
    }

    /// Of the bytes that came; `None` where they are no answer.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let [number, ANSWER, arrived, t3, t5, earlier, departed] = read(bytes)? else { return None };
        let [arrived, t3, t5, departed] = [arrived, t3, t5, departed].map(|time| Nanos(time.cast_signed()));
        let known = |time: Nanos| (time != Nanos::ZERO).then_some(time);
        let earlier = known(departed).map(|departed| (earlier, departed));
        Some(Self { number, arrived: known(arrived), t3, t5, earlier })
    }
}

fn written(words: [u64; 7]) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    let (magic, rest) = bytes.split_at_mut(MAGIC.len());
    magic.copy_from_slice(&MAGIC);
    for (to, word) in rest.chunks_exact_mut(8).zip(words) {
        to.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

fn read(bytes: &[u8]) -> Option<[u64; 7]> {
    let bytes: &[u8; LENGTH] = bytes.try_into().ok()?;
    let rest = bytes.strip_prefix(&MAGIC)?;
    let mut words = [0; 7];
    for (word, from) in words.iter_mut().zip(rest.chunks_exact(8)) {
        *word = from.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_answer_is_no_probe_and_a_probe_no_answer() {
        let answer = Answer { number: 7, arrived: None, t3: Nanos(5), t5: Nanos(9), earlier: None };
        assert_eq!((read_probe(&probe(7)), Answer::read(&probe(7))), (Some(7), None));
        assert_eq!((read_probe(&answer.write()), Answer::read(&answer.write())), (None, Some(answer)));
    }

    proptest! {
        #[test]
        fn answers_come_back_as_they_were(number: u64, t3: i64, t5: i64, arrived in 1..i64::MAX, earlier: u64, departed in 1..i64::MAX) {
            let answer = Answer {
                number,
                arrived: Some(Nanos(arrived)),
                t3: Nanos(t3),
                t5: Nanos(t5),
                earlier: Some((earlier, Nanos(departed))),
            };
            prop_assert_eq!(Answer::read(&answer.write()), Some(answer));
        }

        #[test]
        fn foreign_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Some(number) = read_probe(&bytes) {
                prop_assert_eq!(&probe(number)[..24], &bytes[..24]);
            }
            let _ = Answer::read(&bytes);
        }
    }
}
