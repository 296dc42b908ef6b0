//! What a host and its clock are, as scenario files say it.

use super::quantity_text;
use crate::nic::{NicChange, NicSpec};
use crate::times::Times;
use dwell_core::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A host: what it adds to a packet, and its clock. The defaults are those of an ordinary Linux host without
/// interrupt coalescence (docs/book/src/reference/scenario.md).
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct HostSpec {
    /// How its NIC holds the packets that it receives before it interrupts.
    pub nic: NicSpec,
    /// A change of that in the middle of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nic_change: Option<NicChange>,
    /// From the NIC's interrupt to the core that takes it, where that slept for `cold_after` or longer; without it, at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupt_cold: Option<Times>,
    /// K: from there to the socket queue.
    pub kernel: Times,
    /// Where within K the kernel takes its stamp: 0 at its start, 1 at its end.
    #[schemars(range(min = 0, max = 1))]
    pub kernel_stamp_at: f64,
    /// Whether the kernel's stamps can be had.
    pub kernel_stamps: bool,
    /// From the socket queue to the program's return to the processor, after it slept.
    pub wake_up: Times,
    /// The same after it slept for `cold_after` or longer; without it, no different.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake_up_cold: Option<Times>,
    /// When a sleeping core or program, or a kernel at rest, counts as cold.
    #[serde(with = "quantity_text::duration")]
    pub cold_after: Nanos,
    /// From the wake-up to the program having the packet.
    pub read: Times,
    /// S without `spin`: from a stamp to the program having the next packet, if that one waits already.
    pub service: Times,
    /// From a stamp to the moment at which the program would sleep; never longer than `service`.
    pub turn_round: Times,
    /// What the program does between having a packet and its stamp.
    pub spin: Times,
    /// What others want of the processor that its program runs on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<BusySpec>,
    /// What the kernel takes to answer a packet by itself (an echo request, a SYN), one after the other: from having
    /// it to the reply's departure.
    pub answer: Times,
    /// The same where it answered nothing for `cold_after` or longer; without it, no different.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_cold: Option<Times>,
    /// As a sender: from the program's stamp to the driver.
    pub send: Times,
    /// By how much each stamp is too late, beside what the clock does to all of them alike.
    pub stamp_error: Times,
    /// The clock of all its stamps.
    pub clock: ClockSpec,
}

impl Default for HostSpec {
    fn default() -> Self {
        Self {
            nic: NicSpec::None,
            nic_change: None,
            interrupt_cold: None,
            kernel: Times::Fixed(Nanos(2_000)),
            kernel_stamp_at: 0.0,
            kernel_stamps: true,
            wake_up: Times::Normal { mean: Nanos(30_000), deviation: Nanos(3_000) },
            wake_up_cold: None,
            cold_after: Nanos::from_millis(50),
            read: Times::Fixed(Nanos(1_000)),
            service: Times::Fixed(Nanos(800)),
            turn_round: Times::Fixed(Nanos(300)),
            spin: Times::default(),
            busy: None,
            answer: Times::Fixed(Nanos(3_000)),
            answer_cold: None,
            send: Times::Normal { mean: Nanos(5_000), deviation: Nanos(300) },
            stamp_error: Times::default(),
            clock: ClockSpec::default(),
        }
    }
}

/// Work of others on a host's processor, such as the handling of packets that are not for its program: they have it for
/// slices of time whose lengths, and the times between which, are exponential. Kernel stamps do not wait for them.
#[derive(Copy, Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BusySpec {
    /// Of the processor's time, below 1.
    #[serde(with = "quantity_text::share")]
    pub share: f64,
    /// Mean length of a slice.
    #[serde(with = "quantity_text::duration")]
    pub slice: Nanos,
}

/// A clock: `floor((true time * (1 + skew) + offset + step) / resolution) * resolution`.
#[derive(Copy, Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClockSpec {
    /// Readings are multiples of this.
    #[serde(with = "quantity_text::duration")]
    pub resolution: Nanos,
    /// Reading at true time zero.
    #[serde(with = "quantity_text::offset")]
    pub offset: Nanos,
    /// How much too fast it runs, in millionths.
    #[schemars(range(min = -10_000, max = 10_000))]
    pub skew_ppm: f64,
    /// A jump, as when somebody sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<ClockStep>,
}

impl Default for ClockSpec {
    fn default() -> Self {
        Self { resolution: Nanos(1), offset: Nanos::ZERO, skew_ppm: 0.0, step: None }
    }
}

/// A jump of a clock.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ClockStep {
    /// True time at which it jumps.
    #[serde(with = "quantity_text::duration")]
    pub at: Nanos,
    /// How far; negative: back.
    #[serde(with = "quantity_text::offset")]
    pub by: Nanos,
}
