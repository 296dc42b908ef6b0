//! Nodes that forward IP, as this machine's kernel does it.

use crate::error::LabError;
use crate::namespace::Namespace;
use crate::wiring::{DOWN_PORT, HOST_PORT, Place, UP_PORT, Wiring};
use std::net::IpAddr;

/// A node's ports, as its hardware addresses count them.
const UP: u8 = 1;
const DOWN: u8 = 2;

impl Wiring {
    /// Makes `routers`, nodes by their index and in order, routers between their two ports; nodes between them are
    /// wires. Source and destination keep their addresses in one subnet: each is told that the other is where the
    /// nearest router is. Every router, and each host, reaches its neighbours.
    pub(crate) fn route(&self, routers: &[usize]) -> Result<(), LabError> {
        let (Some(first), Some(last)) = (routers.first(), routers.last()) else { return Ok(()) };
        for (rank, index) in routers.iter().enumerate() {
            let (node, place) = (&self.nodes[*index], Place::node(*index)?);
            let sysctls = [
                ("ipv4/ip_forward", "1"),
                // As many time-exceeded messages as are asked for; usual is one a second.
                ("ipv4/icmp_ratelimit", "0"),
                ("ipv6/icmp/ratelimit", "0"),
                ("ipv6/conf/all/forwarding", "1"),
            ];
            sysctls.into_iter().try_for_each(|(key, value)| node.sysctl(key, value))?;
            for port in ["all", "default", UP_PORT, DOWN_PORT] {
                // What bears the destination's address may come from the source's side.
                node.sysctl(&format!("ipv4/conf/{port}/rp_filter"), "0")?;
            }
            let before = rank.checked_sub(1).map(|rank| Place::node(routers[rank])).transpose()?;
            let after = routers.get(rank + 1).map(|index| Place::node(*index)).transpose()?;
            let towards_source =
                before.map_or_else(|| Place::SOURCE.hardware(), |before| before.hardware_of(DOWN));
            let towards_destination =
                after.map_or_else(|| Place::DESTINATION.hardware(), |after| after.hardware_of(UP));
            let mut lines = vec![
                format!("link set dev {UP_PORT} address {}", place.hardware_of(UP)),
                format!("link set dev {DOWN_PORT} address {}", place.hardware_of(DOWN)),
            ];
            for address in self.addresses(place) {
                lines.push(format!("address add {}{} dev {DOWN_PORT}", whole(address), nodad(address)));
            }
            for place in [Some(Place::SOURCE), before].into_iter().flatten() {
                lines.extend(self.behind(place, UP_PORT, &towards_source));
            }
            for place in [Some(Place::DESTINATION), after].into_iter().flatten() {
                lines.extend(self.behind(place, DOWN_PORT, &towards_destination));
            }
            node.ip(&lines)?;
        }
        let tell = |host: &Namespace, others: [Place; 2], router: String| {
            let lines = others.into_iter().flat_map(|other| self.neighbours(other, HOST_PORT, &router));
            host.ip(&lines.collect::<Vec<_>>())
        };
        let (first, last) = (Place::node(*first)?, Place::node(*last)?);
        tell(&self.source, [Place::DESTINATION, first], first.hardware_of(UP))?;
        tell(&self.destination, [Place::SOURCE, last], last.hardware_of(DOWN))
    }

    fn addresses(&self, place: Place) -> impl Iterator<Item = IpAddr> {
        [Some(place.ipv4()), self.ipv6.then(|| place.ipv6())].into_iter().flatten()
    }

    /// That `place` is reached by `port`, through whoever has this hardware address.
    fn behind(&self, place: Place, port: &str, hardware: &str) -> impl Iterator<Item = String> {
        let routes = self.addresses(place).map(move |to| format!("route add {} dev {port}", whole(to)));
        routes.chain(self.neighbours(place, port, hardware))
    }

    fn neighbours(&self, place: Place, port: &str, hardware: &str) -> impl Iterator<Item = String> {
        self.addresses(place)
            .map(move |to| format!("neighbour replace {to} lladdr {hardware} dev {port} nud permanent"))
    }
}

/// The address and nothing else, as a prefix.
fn whole(address: IpAddr) -> String {
    format!("{address}/{}", if address.is_ipv4() { 32 } else { 128 })
}

fn nodad(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "" } else { " nodad" }
}
