//! One connection, packet by packet, over the sections of its path.

use super::client::Client;
use super::net::{Event, Net, Sent};
use super::plan::{Course, Plan};
use super::server::Server;
use crate::random::Stream;

/// Everything that was sent, in the order of sending.
pub(crate) fn exchange(plan: &Plan, rng: &mut Stream) -> Vec<Sent> {
    let mut net = Net::new(plan, rng);
    let (mut client, mut server) = (Client::new(plan), Server::new(plan));
    client.open(plan.start, &mut net);
    if plan.course == Course::Simultaneous {
        server.open(&mut net);
    }
    while let Some((now, event)) = net.next() {
        match event {
            Event::Arrives(packet) if net.sent[packet].forward => server.hear(now, packet, &mut net),
            Event::Arrives(packet) => client.hear(now, packet, &mut net),
            Event::Bounces(packet) => net.bounce(now, packet),
            Event::Client(timer) => client.wake(now, timer, &mut net),
            Event::Server(timer) => server.wake(now, timer, &mut net),
        }
    }
    net.sent
}
