//! What hosts add to packets: the sender between its stamp and the wire, the receiver between the wire and its stamp.

use crate::link::LinkSpec;
use crate::processor::Processor;
use crate::random::Stream;
use crate::scenario::HostSpec;
use dwell_core::{Bytes, Nanos, Packet};

/// A host as sender. All times are true times.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    spec: HostSpec,
    /// What the program allows for its own stage when it paces.
    lead: Nanos,
    first_link: LinkSpec,
    rng: Stream,
}

/// A packet's way out of its sender.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sending {
    /// The program's stamp, before the send call.
    pub(crate) handed_over: Nanos,
    /// It is at the driver, and at the head of the first link's queue.
    pub(crate) departed: Nanos,
}

impl Sender {
    pub(crate) fn new(spec: &HostSpec, first_link: &LinkSpec, rng: Stream) -> Self {
        Self { spec: spec.clone(), lead: spec.send.median(), first_link: first_link.clone(), rng }
    }

    /// Sends a train whose first packet is to depart at `at`; nothing is handed over before `earliest`.
    pub(crate) fn send(&mut self, packets: &[Packet], at: Nanos, earliest: Nanos) -> Vec<Sending> {
        let mut sendings: Vec<Sending> = Vec::with_capacity(packets.len());
        for (index, packet) in packets.iter().enumerate() {
            let sending = match sendings.last() {
                None => {
                    let handed_over = earliest.max(at - self.lead);
                    Sending { handed_over, departed: handed_over + self.stage() }
                }
                Some(previous) => {
                    // The driver hands the link one packet after the other.
                    let free = previous.departed + self.busy(packets[index - 1].size);
                    if packet.hold == Nanos::ZERO {
                        // In one burst with the packet before it: no stamp and no stage of its own.
                        Sending { handed_over: previous.handed_over, departed: free }
                    } else {
                        // The program waits until the packet will depart in time if its stage is the usual one;
                        // what the stage varies is the error of the pacing.
                        let handed_over =
                            (previous.departed + packet.hold - self.lead).max(previous.handed_over);
                        Sending { handed_over, departed: (handed_over + self.stage()).max(free) }
                    }
                }
            };
            sendings.push(sending);
        }
        sendings
    }

    fn stage(&mut self) -> Nanos {
        self.spec.send.sample(&mut self.rng)
    }

    /// How long a packet keeps the first link busy.
    fn busy(&self, size: Bytes) -> Nanos {
        let occupied = self.first_link.framing.occupied(size);
        // Up to the next nanosecond, so that the link is free for certain.
        self.first_link.rate.map_or(Nanos::ZERO, |rate| Nanos(rate.nanos_for(occupied).ceil() as i64))
    }
}

/// A host as receiver: its kernel, and a program that reads in a loop and sleeps when there is nothing to read.
/// All times are true times.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    spec: HostSpec,
    rng: Stream,
    processor: Processor,
    last: Option<Reception>,
}

/// A packet's way into its receiver.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reception {
    /// The kernel's stamp.
    pub(crate) kernel: Nanos,
    /// It is in the socket queue.
    pub(crate) queued: Nanos,
    /// The program's stamp.
    pub(crate) stamped: Nanos,
}

impl Receiver {
    pub(crate) fn new(spec: &HostSpec, rng: Stream) -> Self {
        // Chances of its own, which change none of the others.
        let mut others = rng.clone();
        others.jump();
        Self { spec: spec.clone(), rng, processor: Processor::new(spec.busy, others), last: None }
    }

    /// Receives a packet that the NIC delivered at `delivered`; packets come in the order of the calls.
    pub(crate) fn receive(&mut self, delivered: Nanos) -> Reception {
        let delivered = delivered + self.roused(delivered);
        let stage = self.spec.kernel.sample(&mut self.rng);
        let kernel = delivered + Nanos::from_f64(stage.as_f64() * self.spec.kernel_stamp_at);
        let queued = delivered + stage;
        // The kernel keeps packets in their order.
        let (kernel, queued) =
            self.last.map_or((kernel, queued), |last| (kernel.max(last.kernel), queued.max(last.queued)));
        let reception = Reception { kernel, queued, stamped: self.read(queued) };
        self.last = Some(reception);
        reception
    }

    /// How long the core takes to wake for an interrupt at `delivered`.
    fn roused(&mut self, delivered: Nanos) -> Nanos {
        let asleep = self.last.is_none_or(|last| delivered - last.queued >= self.spec.cold_after);
        let cold = self.spec.interrupt_cold.as_ref().filter(|_| asleep);
        cold.map_or(Nanos::ZERO, |cold| cold.sample(&mut self.rng))
    }

    /// When the program stamps a packet that is put into its queue at `queued`.
    fn read(&mut self, queued: Nanos) -> Nanos {
        let HostSpec { wake_up, wake_up_cold, cold_after, read, service, turn_round, spin, .. } = &self.spec;
        let rng = &mut self.rng;
        let spin = spin.sample(rng);
        let mut idle = Nanos::MAX;
        if let Some(last) = self.last {
            let service = service.sample(rng);
            // After its stamp the program turns round to the next read, which sleeps if it finds nothing.
            let asleep = last.stamped + turn_round.sample(rng).min(service);
            if queued <= asleep {
                return self.processor.done(last.stamped, service + spin);
            }
            idle = queued - asleep;
        }
        let wake_up = match wake_up_cold {
            Some(cold) if idle >= *cold_after => cold,
            _ => wake_up,
        };
        let awake = queued + wake_up.sample(rng);
        let work = read.sample(rng) + spin;
        self.processor.done(awake, work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;
    use crate::times::Times;
    use dwell_core::BitRate;

    fn fixed(ns: i64) -> Times {
        Times::Fixed(Nanos(ns))
    }

    /// Kernel 2 us, wake-up 30 us (cold 90 us after 1 ms), read 1 us, spin 5 us, service 0.8 us, turn-round 0.3 us:
    /// A = 36 us, S = 5.8 us.
    fn spec() -> HostSpec {
        HostSpec {
            kernel: fixed(2_000),
            kernel_stamp_at: 0.25,
            wake_up: fixed(30_000),
            wake_up_cold: Some(fixed(90_000)),
            cold_after: Nanos::from_millis(1),
            read: fixed(1_000),
            spin: fixed(5_000),
            service: fixed(800),
            turn_round: fixed(300),
            send: fixed(5_000),
            ..HostSpec::default()
        }
    }

    fn receive(reached: &[i64]) -> Vec<Reception> {
        let mut receiver = Receiver::new(&spec(), stream(1, &[]));
        // A packet long before, so that the first of `reached` finds a warm or cold host by its own time.
        receiver.receive(Nanos(0));
        reached.iter().map(|at| receiver.receive(Nanos(*at))).collect()
    }

    /// When the packet that [`receive`] sends first is stamped, and the program sleeps again.
    const FIRST_STAMP: i64 = 2_000 + 90_000 + 1_000 + 5_000;
    const ASLEEP: i64 = FIRST_STAMP + 300;

    #[test]
    fn a_sleeping_program_is_woken() {
        let got = receive(&[500_000])[0];
        assert_eq!(
            got,
            Reception { kernel: Nanos(500_500), queued: Nanos(502_000), stamped: Nanos(502_000 + 36_000) }
        );
    }

    #[test]
    fn a_long_sleep_makes_the_wake_up_cold() {
        let coldest_warm = ASLEEP + 1_000_000 - 1 - 2_000;
        assert_eq!(receive(&[coldest_warm])[0].stamped.0 - coldest_warm, 2_000 + 36_000);
        assert_eq!(receive(&[coldest_warm + 1])[0].stamped.0 - (coldest_warm + 1), 2_000 + 96_000);
    }

    #[test]
    fn a_core_that_sleeps_takes_the_interrupt_late() {
        let spec = HostSpec { interrupt_cold: Some(fixed(40_000)), ..spec() };
        let mut receiver = Receiver::new(&spec, stream(1, &[]));
        let mut kernel = |at| receiver.receive(Nanos(at)).kernel.0 - at;
        assert_eq!(kernel(0), 40_500, "nothing came before");
        assert_eq!(kernel(10_000), 30_500, "with the one that woke it");
        assert_eq!(kernel(60_000), 500);
        // The last was queued at 62 us.
        assert_eq!(kernel(62_000 + 999_999), 500);
        assert_eq!(kernel(63_999 + 1_000_000 + 1_000_000), 40_500);
    }

    #[test]
    fn what_waits_already_costs_the_service_time() {
        let got = receive(&[500_000, 501_000, 520_000]);
        assert_eq!(got[1].stamped - got[0].stamped, Nanos(5_800));
        assert_eq!(got[2].stamped - got[1].stamped, Nanos(5_800));
    }

    #[test]
    fn between_stamp_and_sleep_there_is_no_wake_up() {
        // Queued 2 us after it reached the host.
        let last_in_time = ASLEEP - 2_000;
        assert_eq!(receive(&[last_in_time])[0].stamped, Nanos(FIRST_STAMP + 5_800));
        assert_eq!(receive(&[last_in_time + 1])[0].stamped, Nanos(ASLEEP + 1 + 36_000));
    }

    #[test]
    fn the_kernel_keeps_the_order() {
        let spec = HostSpec {
            kernel: Times::Uniform { low: Nanos(0), high: Nanos(50_000) },
            kernel_stamp_at: 0.5,
            ..spec()
        };
        let mut receiver = Receiver::new(&spec, stream(3, &[]));
        let got: Vec<_> = (0..2_000).map(|k| receiver.receive(Nanos(k * 7_000))).collect();
        assert!(got.is_sorted_by_key(|one| one.queued));
        assert!(got.is_sorted_by_key(|one| one.kernel));
        assert!(got.windows(2).all(|two| two[0].stamped < two[1].stamped));
        assert!(got.iter().all(|one| one.kernel <= one.queued && one.queued <= one.stamped));
    }

    #[test]
    fn bursts_leave_as_fast_as_the_link_lets_them_and_held_packets_on_time() {
        let link = LinkSpec::new(Some(BitRate::from_mbps(100)));
        let mut sender = Sender::new(&spec(), &link, stream(1, &[]));
        let packet = |hold| Packet { size: Bytes(88), hold: Nanos(hold) };
        let packets = [packet(0), packet(0), packet(50_000), packet(1_000)];
        let got = sender.send(&packets, Nanos(100_000), Nanos(0));
        // 88 B and the gap take 8 us.
        let departed: Vec<_> = got.iter().map(|sending| sending.departed.0).collect();
        assert_eq!(departed, [100_000, 108_000, 158_000, 166_000]);
        assert_eq!(got[0].handed_over, Nanos(95_000));
        assert_eq!(got[1].handed_over, Nanos(95_000), "one burst has one stamp");
        assert_eq!(got[2].handed_over, Nanos(153_000));
    }

    #[test]
    fn pacing_is_right_at_the_median() {
        let spec =
            HostSpec { send: Times::Exponential { mean: Nanos(3_000), least: Nanos(2_000) }, ..spec() };
        let mut sender = Sender::new(&spec, &LinkSpec::new(None), stream(1, &[]));
        let packets =
            [Packet { size: Bytes(88), hold: Nanos(0) }, Packet { size: Bytes(88), hold: Nanos(50_000) }];
        let mut errors: Vec<_> = (1..2_000)
            .map(|k| sender.send(&packets, Nanos(k * 1_000_000), Nanos(0)))
            .map(|got| (got[1].departed - got[0].departed).0 - 50_000)
            .collect();
        errors.sort_unstable();
        assert!(errors[1_000].abs() < 300, "median error {} ns", errors[1_000]);
    }
}
