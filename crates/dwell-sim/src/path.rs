//! The simulator as a [`Path`].

mod answering;
mod connected;
mod hops;

pub use answering::AnsweringPath;
pub use hops::{HopTruth, SimHops};

use crate::clock::Clock;
use crate::host::{Receiver, Reception, Sender, Sending};
use crate::network::{Network, Outcome};
use crate::nic::{Delivery, Nic, NicSpec};
use crate::random::{Stream, stream};
use crate::scenario::{HostSpec, Scenario};
use crate::times::Times;
use dwell_core::truth::Reading;
use dwell_core::unit::ETHERNET_MIN;
use dwell_core::{
    Arrival, BitRate, Bytes, Departure, Direction, Fate, Fleet, Nanos, Observation, PacketTruth, Passage,
    Path, PathFacts, Stamps, Train,
};
use rand::RngExt;
use thiserror::Error;

/// Cross traffic runs this long before the first train may depart, so that queues are as they always are.
const WARM_UP: Nanos = Nanos::from_millis(100);

/// The engine counts picoseconds in 64 bits, which last for 106 days.
const END_OF_TIME: Nanos = Nanos::from_secs(100 * 86_400);

/// Why the simulator carries nothing any more.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum SimError {
    /// The virtual clock is at its end.
    #[error("the simulator's clock ends after 100 days; pauses this long need a new run")]
    EndOfTime,
    /// Not even the smallest of the packets that would show how large they may be.
    #[error(
        "no packet comes through, not even the smallest, so how large they may be is not known: a link or a policer \
         loses all of them"
    )]
    NothingArrives,
}

/// Both directions between the two hosts of a scenario, on one virtual clock that goes on from fleet to fleet.
#[derive(Clone, Debug)]
pub struct SimPath {
    forward: Way,
    reverse: Way,
    truth: Truth,
    facts: PathFacts,
    now: Nanos,
}

/// What is true of a path as a whole. What a host did to each packet stands in its
/// [`PacketTruth`].
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Truth {
    /// Rate of the link that the host under test hangs on; `None`: unshaped.
    pub end_link: Option<BitRate>,
    /// The smallest rate on the forward path at which one probe may follow another, peak rates of shapers counted;
    /// `None`: no link is shaped. Parallel links that packets take in turn set none.
    pub narrow_link: Option<BitRate>,
    /// Clock of the host under test minus this host's at the start of the run, to the nanosecond.
    pub offset: Nanos,
    /// Rate of the clock of the host under test against this host's, minus one, in millionths.
    pub skew_ppm: f64,
    /// Median service time of the host under test, its spin included.
    pub service_time: Nanos,
    /// Median kernel stage of the host under test.
    pub kernel_stage: Nanos,
    /// Median time that its kernel takes to answer a packet by itself.
    pub answer: Nanos,
    /// How the NIC of the host under test coalesces, at the start of the run.
    pub nic: NicSpec,
}

impl SimPath {
    /// The path of `scenario`, in which all chance follows from `seed`.
    #[must_use]
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        let Scenario { source, destination, links, .. } = scenario;
        let (source_clock, destination_clock) = (Clock::new(source.clock), Clock::new(destination.clock));
        let [forward, reverse] = ways(scenario, seed);
        let pace = |host: &HostSpec| 1.0 + host.clock.skew_ppm * 1e-6;
        let truth = Truth {
            end_link: links.last().and_then(|link| link.rate),
            narrow_link: forward.network.narrowest(),
            offset: destination_clock.exact(WARM_UP) - source_clock.exact(WARM_UP),
            skew_ppm: (pace(destination) / pace(source) - 1.0) * 1e6,
            service_time: destination.service.median() + destination.spin.median(),
            kernel_stage: destination.kernel.median(),
            answer: destination.answer.median(),
            nic: destination.nic,
        };
        let facts = PathFacts {
            max_size: scenario.max_size(),
            min_size: ETHERNET_MIN,
            resolution: destination.clock.resolution,
            end_link: None,
            narrow_link: None,
            coalescence: None,
        };
        Self { forward, reverse, truth, facts, now: WARM_UP }
    }

    /// What is true of the path as a whole.
    #[must_use]
    pub fn truth(&self) -> Truth {
        self.truth
    }

    /// True time up to which everything has happened.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.now
    }

    fn way(&mut self, direction: Direction) -> &mut Way {
        match direction {
            Direction::Forward => &mut self.forward,
            Direction::Reverse => &mut self.reverse,
        }
    }
}

impl Path for SimPath {
    type Error = SimError;

    fn facts(&self) -> PathFacts {
        self.facts
    }

    fn reading(&mut self, direction: Direction) -> Result<Option<Reading>, SimError> {
        let now = self.now;
        let Way { network, max_size, .. } = self.way(direction);
        // Nobody is under way, so nothing comes out.
        network.advance(now, &mut Vec::new());
        Ok(Some(network.reading(now, *max_size)))
    }

    fn carry(&mut self, fleet: &Fleet) -> Result<Vec<Passage>, SimError> {
        if self.now + fleet.iter().map(Departure::lasts).sum() > END_OF_TIME {
            return Err(SimError::EndOfTime);
        }
        // Nothing that a train meets depends on what comes after it, so all may be sent before any is followed.
        for Departure { pause, train } in fleet {
            let earliest = self.now;
            self.now = self.way(train.direction).send(train, earliest + *pause, earliest);
        }
        // The far end tells what it saw when all is over.
        let mut forward = self.forward.arrivals(&mut self.now).into_iter();
        let mut reverse = self.reverse.arrivals(&mut self.now).into_iter();
        Ok(fleet
            .iter()
            .map(|departure| {
                let train = &departure.train;
                let (way, crossings) = match train.direction {
                    Direction::Forward => (&mut self.forward, &mut forward),
                    Direction::Reverse => (&mut self.reverse, &mut reverse),
                };
                way.passage(train, crossings.by_ref().take(train.packets.len()).collect())
            })
            .collect())
    }
}

/// One direction: the sending half of one host, the links, the receiving half of the other.
#[derive(Clone, Debug)]
struct Way {
    network: Network,
    sender: Sender,
    nic: Nic,
    receiver: Receiver,
    sender_clock: Clock,
    receiver_clock: Clock,
    sender_kernel_stamps: bool,
    receiver_kernel_stamps: bool,
    sender_error: Times,
    receiver_error: Times,
    errors: Stream,
    max_size: Bytes,
    /// Packets of this fleet, in the order of sending.
    sent: Vec<Sending>,
}

/// Both directions of a scenario: from the source, and back.
fn ways(scenario: &Scenario, seed: u64) -> [Way; 2] {
    let Scenario { source, destination, links, .. } = scenario;
    let way = |number, links: &[_], from: &HostSpec, to: &HostSpec| Way {
        network: Network::new(links, stream(seed, &[number]).random()),
        sender: Sender::new(from, &links[0], stream(seed, &[number, 1])),
        nic: Nic::new(to.nic, to.nic_change),
        receiver: Receiver::new(to, stream(seed, &[number, 2])),
        sender_clock: Clock::new(from.clock),
        receiver_clock: Clock::new(to.clock),
        sender_kernel_stamps: from.kernel_stamps,
        receiver_kernel_stamps: to.kernel_stamps,
        sender_error: from.stamp_error.clone(),
        receiver_error: to.stamp_error.clone(),
        errors: stream(seed, &[number, 3]),
        max_size: scenario.max_size(),
        sent: Vec::new(),
    };
    [way(0, links, source, destination), way(1, &scenario.reverse_links(), destination, source)]
}

/// A packet that came through a NIC.
struct Through {
    /// Which of those that were sent.
    packet: usize,
    left_sender: Nanos,
    waited: Nanos,
    reached: Nanos,
    delivered: Nanos,
}

/// What became of one packet, in true time.
struct Crossing {
    sending: Sending,
    arrival: Option<Landing>,
}

/// The first copy of a packet that came.
struct Landing {
    /// How many packets came before it.
    place: usize,
    copies: u32,
    left_sender: Nanos,
    reached: Nanos,
    held: Nanos,
    waited: Nanos,
    reception: Reception,
}

impl Way {
    /// Sends `train`, and returns its last departure.
    fn send(&mut self, train: &Train, at: Nanos, earliest: Nanos) -> Nanos {
        let sendings = self.sender.send(&train.packets, at, earliest);
        for (packet, sending) in train.packets.iter().zip(&sendings) {
            // What is larger than the path carries goes no further than the first router.
            if packet.size <= self.max_size {
                self.network.inject(sending.departed, self.sent.len() as u64, packet.size);
            }
            self.sent.push(*sending);
        }
        sendings.last().map_or(earliest, |last| last.departed)
    }

    /// Follows all packets under way to their end at the NIC, and moves `now` there. In the order of delivery.
    fn deliveries(&mut self, now: &mut Nanos) -> Vec<Through> {
        let mut outcomes = Vec::with_capacity(self.sent.len());
        *now = (*now).max(self.network.finish(&mut outcomes));
        // What the way up to the NIC was, in the order of arrival.
        let mut ways = Vec::with_capacity(outcomes.len());
        for outcome in outcomes {
            match outcome {
                Outcome::Leaves { key, at, departed, waited } => {
                    self.nic.arrives(at, ways.len() as u64);
                    ways.push((key, departed, waited));
                }
                Outcome::Lost { at, .. } => *now = (*now).max(at),
            }
        }
        let mut deliveries = Vec::with_capacity(ways.len());
        self.nic.deliver(Nanos::MAX, &mut deliveries);
        let through = |Delivery { key, reached, delivered }| {
            let (packet, left_sender, waited) = ways[key as usize];
            Through { packet: packet as usize, left_sender, waited, reached, delivered }
        };
        deliveries.into_iter().map(through).collect()
    }

    /// Follows all packets of this fleet to their end, and moves `now` there.
    fn arrivals(&mut self, now: &mut Nanos) -> Vec<Crossing> {
        let through = self.deliveries(now);
        let crossing = |sending| Crossing { sending, arrival: None };
        let mut crossings: Vec<Crossing> = std::mem::take(&mut self.sent).into_iter().map(crossing).collect();
        for (place, Through { packet, left_sender, waited, reached, delivered }) in
            through.into_iter().enumerate()
        {
            // Each copy passes the host, which knows only then that it had it before.
            let reception = self.receiver.receive(delivered);
            *now = (*now).max(reception.stamped);
            let held = delivered - reached;
            let landing = Landing { place, copies: 0, left_sender, reached, held, waited, reception };
            crossings[packet].arrival.get_or_insert(landing).copies += 1;
        }
        crossings
    }

    /// The sender's stamps of a packet.
    fn sent_at(&mut self, Sending { handed_over, departed }: Sending) -> Stamps {
        let Self { sender_clock, sender_error, errors, .. } = self;
        let mut read = |time| sender_clock.read(time + sender_error.sample(errors));
        let application = read(handed_over);
        Stamps { application, kernel: self.sender_kernel_stamps.then(|| read(departed)), hardware: None }
    }

    /// The receiver's.
    fn received_at(&mut self, Reception { kernel, stamped, .. }: Reception) -> Stamps {
        let Self { receiver_clock, receiver_error, errors, .. } = self;
        let mut read = |time| receiver_clock.read(time + receiver_error.sample(errors));
        let application = read(stamped);
        Stamps { application, kernel: self.receiver_kernel_stamps.then(|| read(kernel)), hardware: None }
    }

    fn passage(&mut self, train: &Train, crossings: Vec<Crossing>) -> Passage {
        let mut fates = Vec::with_capacity(crossings.len());
        let mut truth = Vec::with_capacity(crossings.len());
        let mut places: Vec<_> =
            crossings.iter().filter_map(|crossing| Some(crossing.arrival.as_ref()?.place)).collect();
        places.sort_unstable();
        for (packet, Crossing { sending, arrival }) in train.packets.iter().zip(crossings) {
            let handed_over = sending.handed_over;
            fates.push(Fate {
                packet: *packet,
                sent: self.sent_at(sending),
                arrival: arrival.as_ref().map(|Landing { place, copies, reception, .. }| {
                    let stamps = self.received_at(*reception);
                    let order = places.partition_point(|other| other < place) as u32;
                    Arrival { stamps, order, copies: *copies }
                }),
            });
            truth.push(arrival.map(|Landing { left_sender, reached, held, waited, reception, .. }| {
                PacketTruth {
                    handed_over,
                    left_sender,
                    reached_receiver: reached,
                    held,
                    queued: reception.queued,
                    stamped: reception.stamped,
                    waited,
                }
            }));
        }
        Passage {
            observation: Observation { direction: train.direction, fates, overflowed: 0 },
            truth: Some(truth),
        }
    }
}
