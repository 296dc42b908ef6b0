//! A receiver's NIC: how it holds packets before it interrupts the kernel.
//!
//! A [`Nic`] is a state machine without a clock, so it serves in virtual time (the simulator) and in real time (the
//! testbed's emulated NIC) alike: packets arrive, and are delivered, several at once, when it interrupts.

use crate::scenario::quantity_text;
use dwell_core::Nanos;
use dwell_core::nic::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a NIC coalesces interrupts.
#[derive(Copy, Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum NicSpec {
    /// Each packet interrupts at once.
    #[default]
    None,
    /// The first packet starts a timer; all that came are delivered when it runs out.
    Hold {
        /// Of the timer (`rx-usecs`).
        #[serde(with = "quantity_text::duration")]
        period: Nanos,
        /// So many waiting packets interrupt before the timer does (`rx-frames`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        frames: Option<u32>,
    },
    /// A packet interrupts at once if the last interrupt is a period ago or longer, and else when it is.
    Throttle {
        /// The least time between two interrupts.
        #[serde(with = "quantity_text::duration")]
        period: Nanos,
        /// So many waiting packets interrupt before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        frames: Option<u32>,
    },
    /// A throttle whose period follows the packet rate: `least` up to `slow` packets per second, `most` from `fast`
    /// on, and in between by the logarithm of the rate.
    Adaptive {
        /// Period at low rates.
        #[serde(with = "quantity_text::duration")]
        least: Nanos,
        /// Period at high rates.
        #[serde(with = "quantity_text::duration")]
        most: Nanos,
        /// Packets per second up to which the rate is low.
        #[serde(default = "slow")]
        slow: f64,
        /// Packets per second from which on it is high.
        #[serde(default = "fast")]
        fast: f64,
        /// Over which the rate is averaged.
        #[serde(with = "quantity_text::duration", default = "window")]
        window: Nanos,
    },
    /// Linux's NAPI with deferred interrupts: the first packet interrupts at once; then the kernel polls once a
    /// period, and goes back to interrupts after `polls` polls, the first of them included, that found nothing new.
    /// With one it behaves as a throttle does.
    Deferred {
        /// Between polls (`gro_flush_timeout`).
        #[serde(with = "quantity_text::duration")]
        period: Nanos,
        /// `napi_defer_hard_irqs`.
        polls: u32,
    },
}

fn slow() -> f64 {
    2_000.0
}

fn fast() -> f64 {
    50_000.0
}

fn window() -> Nanos {
    Nanos::from_micros(500)
}

/// Another behaviour from some time on, as when somebody changes the settings.
#[derive(Copy, Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NicChange {
    /// True time of the change.
    #[serde(with = "quantity_text::duration")]
    pub at: Nanos,
    /// What it does from then on.
    pub to: NicSpec,
}

impl NicSpec {
    /// What kind of coalescence an observer sees.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::None => Kind::None,
            Self::Hold { frames: Some(1), .. } | Self::Throttle { frames: Some(1), .. } => Kind::None,
            Self::Hold { .. } => Kind::Hold,
            Self::Throttle { .. } | Self::Deferred { polls: 1, .. } => Kind::Throttle,
            Self::Adaptive { least, most, .. } if least == most => Kind::Throttle,
            Self::Adaptive { .. } => Kind::Adaptive,
            Self::Deferred { .. } => Kind::Deferred,
        }
    }

    /// The longest time that it holds a packet; `None` where it holds none.
    #[must_use]
    pub fn period(&self) -> Option<Nanos> {
        match self {
            _ if self.kind() == Kind::None => None,
            Self::None => None,
            Self::Hold { period, .. } | Self::Throttle { period, .. } | Self::Deferred { period, .. } => {
                Some(*period)
            }
            Self::Adaptive { most, .. } => Some(*most),
        }
    }

    /// What is wrong with the figures, if anything is: the key, and the problem.
    pub(crate) fn problem(&self) -> Option<(&'static str, String)> {
        const LONGEST: Nanos = Nanos::from_secs(1);
        let out_of_range = |key, time: Nanos| {
            (time <= Nanos::ZERO || time > LONGEST)
                .then(|| (key, format!("{time} is out of range: above 0 and up to 1 s")))
        };
        match *self {
            Self::None => None,
            Self::Hold { period, frames } | Self::Throttle { period, frames } => {
                out_of_range("period", period).or_else(|| {
                    (frames == Some(0)).then(|| {
                        ("frames", "no packet ever comes of 0 frames; leave the key out for no limit".into())
                    })
                })
            }
            Self::Adaptive { least, most, slow, fast, window } => out_of_range("least", least)
                .or_else(|| out_of_range("most", most))
                .or_else(|| out_of_range("window", window))
                .or_else(|| {
                    (most < least).then(|| ("most", format!("{most} is below `least`, which is {least}")))
                })
                .or_else(|| {
                    let fine = slow > 0.0 && slow < fast && fast.is_finite();
                    (!fine).then(|| ("fast", "needs 0 < slow < fast, in packets per second".into()))
                }),
            Self::Deferred { period, polls } => out_of_range("period", period).or_else(|| {
                (polls == 0).then(|| ("polls", "is 0, which defers nothing; write `nic = \"none\"`".into()))
            }),
        }
    }
}

/// A packet on its way through the NIC.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// As given on arrival.
    pub key: u64,
    /// When its last bit reached the NIC.
    pub reached: Nanos,
    /// When the NIC handed it to the kernel.
    pub delivered: Nanos,
}

/// A NIC at work. Calls come in the order of time.
#[derive(Clone, Debug)]
pub struct Nic {
    spec: NicSpec,
    change: Option<NicChange>,
    waiting: Vec<(u64, Nanos)>,
    /// When those that wait are delivered.
    interrupt: Nanos,
    /// Before this no new interrupt is raised (throttle and adaptive).
    quiet_until: Nanos,
    /// The next poll of a deferring kernel, and how many more that find nothing it makes after that.
    poll: Option<(Nanos, u32)>,
    /// Packets per second, and when they were last counted.
    rate: f64,
    counted: Nanos,
    ready: Vec<Delivery>,
}

impl Nic {
    /// A NIC at rest.
    #[must_use]
    pub fn new(spec: NicSpec, change: Option<NicChange>) -> Self {
        Self {
            spec,
            change,
            waiting: Vec::new(),
            interrupt: Nanos::MAX,
            quiet_until: Nanos::ZERO,
            poll: None,
            rate: 0.0,
            counted: Nanos::ZERO,
            ready: Vec::new(),
        }
    }

    /// The last bit of packet `key` is here. An interrupt at the same instant comes first.
    pub fn arrives(&mut self, at: Nanos, key: u64) {
        if let Some(NicChange { at: changed, to }) = self.change.filter(|change| change.at <= at) {
            // What waits already is delivered when the old settings say.
            self.interrupts_until(changed);
            (self.spec, self.change) = (to, None);
            (self.quiet_until, self.poll) = (Nanos::ZERO, None);
        }
        self.interrupts_until(at);
        self.waiting.push((key, at));
        let first = self.waiting.len() == 1;
        let due = match self.spec {
            NicSpec::None => at,
            NicSpec::Hold { period, .. } if first => at + period,
            NicSpec::Throttle { .. } | NicSpec::Adaptive { .. } if first => self.quiet_until.max(at),
            NicSpec::Deferred { .. } if first => self.next_poll(at),
            _ => self.interrupt,
        };
        self.interrupt = if self.is_full() { at } else { due };
    }

    /// The next time at which packets are delivered; `None` where none waits.
    #[must_use]
    pub fn due(&self) -> Option<Nanos> {
        let waiting = (!self.waiting.is_empty()).then_some(self.interrupt);
        self.ready.first().map(|delivery| delivery.delivered).or(waiting)
    }

    /// Appends what is delivered up to `until` to `out`, in order.
    pub fn deliver(&mut self, until: Nanos, out: &mut Vec<Delivery>) {
        self.interrupts_until(until);
        out.append(&mut self.ready);
    }

    fn is_full(&self) -> bool {
        match self.spec {
            NicSpec::Hold { frames: Some(frames), .. } | NicSpec::Throttle { frames: Some(frames), .. } => {
                self.waiting.len() >= frames as usize
            }
            _ => false,
        }
    }

    /// The poll that finds a packet that comes at `at`: those before it find nothing, and may be the last.
    fn next_poll(&mut self, at: Nanos) -> Nanos {
        let NicSpec::Deferred { period, .. } = self.spec else { return at };
        while let Some((poll, left)) = self.poll.filter(|(poll, _)| *poll <= at) {
            self.poll = left.checked_sub(1).map(|left| (poll + period, left));
        }
        self.poll.map_or(at, |(poll, _)| poll)
    }

    fn interrupts_until(&mut self, until: Nanos) {
        if self.waiting.is_empty() || self.interrupt > until {
            return;
        }
        let delivered = self.interrupt;
        let count = self.waiting.len() as f64;
        self.ready.extend(self.waiting.drain(..).map(|(key, reached)| Delivery { key, reached, delivered }));
        self.interrupt = Nanos::MAX;
        match self.spec {
            NicSpec::None | NicSpec::Hold { .. } => {}
            NicSpec::Throttle { period, .. } => self.quiet_until = delivered + period,
            NicSpec::Adaptive { least, most, slow, fast, window } => {
                let span = (delivered - self.counted).as_f64().max(1.0);
                let kept = (-span / window.as_f64()).exp();
                self.rate = kept * self.rate + (1.0 - kept) * (count * 1e9 / span);
                self.counted = delivered;
                let place = ((self.rate / slow).ln() / (fast / slow).ln()).clamp(0.0, 1.0);
                self.quiet_until = delivered + least + Nanos::from_f64((most - least).as_f64() * place);
            }
            // A poll that found something: the count of empty ones begins anew.
            NicSpec::Deferred { period, polls } => self.poll = Some((delivered + period, polls - 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const US: i64 = 1_000;

    /// When each packet is delivered, in microseconds.
    fn delivered(spec: NicSpec, arrivals_us: &[i64]) -> Vec<i64> {
        let mut nic = Nic::new(spec, None);
        arrivals_us.iter().zip(0..).for_each(|(at, key)| nic.arrives(Nanos(at * US), key));
        let mut out = Vec::new();
        nic.deliver(Nanos::MAX, &mut out);
        out.iter().map(|delivery| delivery.delivered.0 / US).collect()
    }

    fn us(us: i64) -> Nanos {
        Nanos(us * US)
    }

    #[test]
    fn a_hold_delivers_together_a_period_after_the_first() {
        let hold = NicSpec::Hold { period: us(100), frames: None };
        assert_eq!(delivered(hold, &[0, 50, 99, 100, 350]), [100, 100, 100, 200, 450]);
        let limited = NicSpec::Hold { period: us(100), frames: Some(3) };
        assert_eq!(delivered(limited, &[0, 10, 20, 30]), [20, 20, 20, 130]);
    }

    #[test]
    fn a_throttle_delivers_the_first_at_once() {
        let throttle = NicSpec::Throttle { period: us(100), frames: None };
        assert_eq!(delivered(throttle, &[0, 10, 90, 110, 320, 330]), [0, 100, 100, 200, 320, 420]);
        let limited = NicSpec::Throttle { period: us(100), frames: Some(2) };
        assert_eq!(delivered(limited, &[0, 10, 20, 30]), [0, 20, 20, 120]);
    }

    #[test]
    fn a_deferring_kernel_polls_on_until_it_found_nothing_often_enough() {
        let deferred = |polls| NicSpec::Deferred { period: us(100), polls };
        assert_eq!(delivered(deferred(1), &[0, 10, 250]), [0, 100, 250]);
        // Polls at 100, found nothing at 200, and again at 300: then interrupts.
        assert_eq!(delivered(deferred(2), &[0, 10, 250, 650]), [0, 100, 300, 650]);
        assert_eq!(delivered(deferred(3), &[0, 250, 560, 900]), [0, 300, 600, 900]);
    }

    #[test]
    fn an_adaptive_one_is_quick_when_little_comes_and_slow_when_much_does() {
        let adaptive =
            NicSpec::Adaptive { least: us(10), most: us(200), slow: 2e3, fast: 5e4, window: us(500) };
        // Every 10 us for 5 ms, that is 100,000 a second; then a pair after a rest.
        let mut arrivals: Vec<i64> = (0..500).map(|k| k * 10).collect();
        arrivals.extend([20_000, 20_001]);
        let got = delivered(adaptive, &arrivals);
        assert_eq!(got[1], 10);
        let mut last: Vec<i64> = got[300..500].to_vec();
        last.dedup();
        assert!(last.windows(2).all(|pair| pair[1] - pair[0] == 200), "{last:?}");
        assert_eq!(got[500..], [20_000, 20_010]);
    }

    #[test]
    fn a_change_of_settings_counts_from_its_time_on() {
        let change = NicChange { at: us(1_000), to: NicSpec::Throttle { period: us(50), frames: None } };
        let mut nic = Nic::new(NicSpec::Hold { period: us(100), frames: None }, Some(change));
        for (at, key) in [(0, 0), (950, 1), (1_010, 2), (2_000, 3), (2_001, 4)] {
            nic.arrives(us(at), key);
        }
        assert_eq!(nic.due(), Some(us(100)));
        let mut out = Vec::new();
        nic.deliver(Nanos::MAX, &mut out);
        let got: Vec<i64> = out.iter().map(|delivery| delivery.delivered.0 / US).collect();
        assert_eq!(got, [100, 1_050, 1_050, 2_000, 2_050]);
        assert_eq!(nic.due(), None);
    }

    fn any_spec() -> impl Strategy<Value = NicSpec> {
        let time = (1..400i64).prop_map(us);
        let frames = prop::option::of(1..20u32);
        prop_oneof![
            Just(NicSpec::None),
            (time.clone(), frames.clone()).prop_map(|(period, frames)| NicSpec::Hold { period, frames }),
            (time.clone(), frames).prop_map(|(period, frames)| NicSpec::Throttle { period, frames }),
            (time.clone(), 1..5u32).prop_map(|(period, polls)| NicSpec::Deferred { period, polls }),
            (time.clone(), time).prop_map(|(a, b)| NicSpec::Adaptive {
                least: a.min(b),
                most: a.max(b),
                slow: 1e3,
                fast: 1e5,
                window: us(500)
            }),
        ]
    }

    proptest! {
        #[test]
        fn every_packet_comes_once_in_order_and_within_a_period(
            spec in any_spec(),
            gaps in prop::collection::vec(0..300_000i64, 1..60),
        ) {
            let mut at = Nanos::ZERO;
            let (mut nic, mut out) = (Nic::new(spec, None), Vec::new());
            for (gap, key) in gaps.iter().zip(0..) {
                at += Nanos(*gap);
                nic.arrives(at, key);
                prop_assert!(nic.due().is_some());
            }
            nic.deliver(Nanos::MAX, &mut out);
            prop_assert!(out.iter().map(|one| one.key).eq(0..gaps.len() as u64));
            prop_assert!(out.is_sorted_by_key(|one| one.delivered));
            let longest = spec.period().unwrap_or(Nanos::ZERO);
            prop_assert!(out.iter().all(|one| (Nanos::ZERO..=longest).contains(&(one.delivered - one.reached))));
        }

        #[test]
        fn asking_in_between_changes_nothing(
            spec in any_spec(),
            gaps in prop::collection::vec(1..300_000i64, 1..40),
        ) {
            let deliveries = |step: bool| {
                let mut at = Nanos::ZERO;
                let (mut nic, mut out) = (Nic::new(spec, None), Vec::new());
                for (gap, key) in gaps.iter().zip(0..) {
                    if step {
                        nic.deliver(at + Nanos(gap / 2), &mut out);
                    }
                    at += Nanos(*gap);
                    nic.arrives(at, key);
                }
                nic.deliver(Nanos::MAX, &mut out);
                out
            };
            prop_assert_eq!(deliveries(true), deliveries(false));
        }
    }
}
