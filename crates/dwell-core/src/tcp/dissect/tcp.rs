//! TCP.

use super::Skipped;
use super::layer::Carried;
use super::rest::Rest;
use crate::tcp::{Endpoint, Options, Segment, TcpFlags, Timestamps};
use crate::unit::Nanos;

/// The segment that an IP packet carries. Its first 14 bytes are needed, up to the control bits.
#[inline(always)]
pub(super) fn segment(at: Nanos, ends: &Carried, rest: Rest<'_>) -> Result<Segment, Skipped> {
    let bytes: [u8; 14] = rest.array(0)?;
    let word =
        |from: usize| u32::from_be_bytes([bytes[from], bytes[from + 1], bytes[from + 2], bytes[from + 3]]);
    let half = |from: usize| u16::from_be_bytes([bytes[from], bytes[from + 1]]);
    let header = usize::from(bytes[12] >> 4) * 4;
    // The first of several fragments may end within the options.
    if header < 20 || header > rest.length && !ends.in_part {
        return Err(Skipped::Malformed);
    }
    Ok(Segment {
        at,
        from: Endpoint { address: ends.from, port: half(0) },
        to: Endpoint { address: ends.to, port: half(2) },
        flags: TcpFlags(half(12) & 0x01ff),
        sequence: word(4),
        acknowledgment: word(8),
        payload: rest.length.saturating_sub(header) as u32,
        options: options(rest.bytes, header),
    })
}

/// The options of a header of this length, as far as they were captured.
#[inline(always)]
fn options(bytes: &[u8], header: usize) -> Options {
    let list = match bytes.get(20..header) {
        // Nearly all SYNs' begin with the size of the largest segment (RFC 9293, 3.7.1), of which nothing is wanted.
        Some([2, 4, _, _, list @ ..]) => Some(list),
        list => list,
    };
    match list {
        Some([]) => Options::default(),
        // As nearly all segments have them once a connection is open (RFC 7323, appendix A).
        Some([1, 1, 8, 10, a, b, c, d, e, f, g, h]) => {
            let (value, echo) = ([*a, *b, *c, *d], [*e, *f, *g, *h]);
            Options { timestamps: Some(timestamps(value, echo)), ..Options::default() }
        }
        _ => listed(bytes, header),
    }
}

/// The same of any list of options.
fn listed(bytes: &[u8], header: usize) -> Options {
    let mut options = Options { cut: bytes.len() < header, ..Options::default() };
    let mut left = bytes.get(20..bytes.len().min(header)).unwrap_or_default();
    while let [kind, rest @ ..] = left {
        left = match kind {
            0 => break,
            1 => rest,
            _ => {
                // Either the capture ends here, which is told already, or the list is none: hosts read no further (Linux: "silly options").
                let length = rest.first().map(|length| usize::from(*length)).filter(|length| *length >= 2);
                let Some((value, behind)) = length.and_then(|length| left.split_at_checked(length)) else {
                    break;
                };
                note(&mut options, *kind, &value[2..]);
                behind
            }
        };
    }
    options
}

fn note(options: &mut Options, kind: u8, value: &[u8]) {
    match (kind, value) {
        (8, [a, b, c, d, e, f, g, h]) => {
            let (value, echo) = ([*a, *b, *c, *d], [*e, *f, *g, *h]);
            options.timestamps = Some(timestamps(value, echo));
        }
        // Also under the number that it had in trials.
        (34, _) | (254, [0xf9, 0x89, ..]) => options.fast_open = true,
        (30, _) => options.mptcp = true,
        _ => {}
    }
}

fn timestamps(value: [u8; 4], echo: [u8; 4]) -> Timestamps {
    Timestamps { value: u32::from_be_bytes(value), echo: u32::from_be_bytes(echo) }
}

#[cfg(test)]
mod tests {
    use super::{listed, options};
    use proptest::prelude::*;

    #[test]
    fn what_follows_an_option_of_no_length_is_none() {
        let stamps = [8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        let with = |first: &[u8]| [&[0; 20], first, &stamps].concat();
        assert!(listed(&with(&[1, 1]), 32).timestamps.is_some());
        for length in [0, 1] {
            assert_eq!(listed(&with(&[8, length]), 32).timestamps, None, "{length}");
        }
    }

    proptest! {
        /// What is told at once of the usual options is what their list tells.
        #[test]
        fn the_usual_options_are_those_of_their_list(
            start in prop::sample::select(vec![vec![], vec![1, 1, 8, 10], vec![2, 4, 5, 0xb4, 1, 1, 8, 10]]),
            more in prop::collection::vec(any::<u8>(), 0..44), words in 5..16_usize, damage in 0..60_usize,
        ) {
            let mut bytes = [vec![0; 20], start, more].concat();
            if let Some(byte) = bytes.get_mut(damage) {
                *byte ^= 1;
            }
            prop_assert_eq!(options(&bytes, words * 4), listed(&bytes, words * 4));
        }
    }
}
