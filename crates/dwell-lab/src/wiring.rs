//! The wires of a lab: source and destination at the ends, nodes between, each in a namespace of its own, all on
//! one subnet with every neighbour told, so that nothing but the traffic under test travels.

use crate::error::LabError;
use crate::namespace::Namespace;
use dwell_net::interface::Interface;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// The interface of source and destination.
pub(crate) const HOST_PORT: &str = "eth0";
/// A node's interface towards the source.
pub(crate) const UP_PORT: &str = "up";
/// A node's interface towards the destination.
pub(crate) const DOWN_PORT: &str = "down";
/// A node's bridge, where it has one.
pub(crate) const BRIDGE: &str = "bridge";

/// Bytes of an Ethernet header, which the MTU does not count.
pub(crate) const ETHERNET_HEADER: u32 = 14;

/// Of frames that no host answers: IEEE 802 local experimental ethertype 1.
pub(crate) const EXPERIMENTAL: [u8; 2] = [0x88, 0xb5];

/// A place with addresses in the lab's subnet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place(u8);

impl Place {
    pub(crate) const SOURCE: Self = Self(1);
    pub(crate) const DESTINATION: Self = Self(2);

    /// The bridge of the node with this index.
    pub(crate) fn node(index: usize) -> Result<Self, LabError> {
        match u8::try_from(index) {
            Ok(index) if index < MAX_NODES => Ok(Self(16 + index)),
            _ => Err(LabError::Scenario {
                scenario: "lab".to_owned(),
                reason: format!("a lab of kernel shapers has at most {MAX_NODES} links"),
            }),
        }
    }

    pub(crate) fn ipv4(self) -> IpAddr {
        Ipv4Addr::new(10, 77, 0, self.0).into()
    }

    pub(crate) fn ipv6(self) -> IpAddr {
        Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, self.0.into()).into()
    }

    /// A locally administered hardware address.
    pub(crate) fn hardware_bytes(self) -> [u8; 6] {
        [0x02, 0x77, 0, 0, 0, self.0]
    }

    pub(crate) fn hardware(self) -> String {
        self.hardware_of(0)
    }

    /// The hardware address of this port of a place that has several, from 0.
    pub(crate) fn hardware_of(self, port: u8) -> String {
        let [a, b, c, d, _, place] = self.hardware_bytes();
        [a, b, c, d, port, place].map(|byte| format!("{byte:02x}")).join(":")
    }
}

/// The set of this core alone, as the kernel reads sets of cores: 32 of them in each hexadecimal number, the last first.
fn mask(core: usize) -> String {
    format!("{:x}{}", 1_u32 << (core % 32), ",00000000".repeat(core / 32))
}

/// Bridges that the addressing has room for.
const MAX_NODES: u8 = 64;

/// The namespaces of a lab, joined from source to destination.
#[derive(Debug)]
pub(crate) struct Wiring {
    pub(crate) source: Namespace,
    pub(crate) nodes: Vec<Namespace>,
    pub(crate) destination: Namespace,
    /// Whether this kernel has IPv6.
    pub(crate) ipv6: bool,
}

impl Wiring {
    /// Joins source and destination through `nodes` nodes (at least one).
    pub(crate) fn new(nodes: usize, mtu: u32) -> Result<Self, LabError> {
        Self::carried_by(nodes, mtu, None)
    }

    /// The same, with one core that takes up what every interface receives. Otherwise whichever core a queue sends on does, and
    /// packets that leave a link one behind the other overtake each other: at 500 Mb/s, up to three in a hundred.
    pub(crate) fn carried_by(nodes: usize, mtu: u32, core: Option<usize>) -> Result<Self, LabError> {
        let source = Namespace::new("source")?;
        let destination = Namespace::new("destination")?;
        let nodes = (0..nodes)
            .map(|index| Namespace::new(&format!("node {index}")))
            .collect::<Result<Vec<_>, _>>()?;
        let wiring = Self { source, nodes, destination, ipv6: Path::new("/proc/sys/net/ipv6").exists() };
        for namespace in wiring.namespaces() {
            wiring.hush(namespace)?;
            if let Some(core) = core {
                // The kernel's receive packet steering; where a kernel has none of it, all is as it was.
                namespace.sysctl("core/rps_default_mask", &mask(core))?;
            }
        }
        wiring.join(mtu)?;
        wiring.address(&wiring.source, HOST_PORT, Place::SOURCE, &[Place::DESTINATION])?;
        wiring.address(&wiring.destination, HOST_PORT, Place::DESTINATION, &[Place::SOURCE])?;
        Ok(wiring)
    }

    /// From the source to the destination.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = &Namespace> {
        [&self.source].into_iter().chain(&self.nodes).chain([&self.destination])
    }

    /// Keeps a namespace from sending anything of its own accord: no router solicitations, no listener reports.
    fn hush(&self, namespace: &Namespace) -> Result<(), LabError> {
        if self.ipv6 {
            for (key, value) in [("accept_ra", "0"), ("router_solicitations", "0"), ("accept_dad", "0")] {
                namespace.sysctl(&format!("ipv6/conf/default/{key}"), value)?;
            }
        }
        Ok(())
    }

    /// A veth pair for each stretch between two neighbours.
    fn join(&self, mtu: u32) -> Result<(), LabError> {
        let mut upstream = (&self.source, HOST_PORT, Some(Place::SOURCE));
        let downstream = self.nodes.iter().map(|node| (node, UP_PORT, None)).chain([(
            &self.destination,
            HOST_PORT,
            Some(Place::DESTINATION),
        )]);
        for next in downstream {
            let end = |port, place: Option<Place>| {
                let hardware = place.map_or(String::new(), |place| format!(" address {}", place.hardware()));
                format!("name {port} mtu {mtu} gso_max_segs 1{hardware}")
            };
            let (near, far) = (end(upstream.1, upstream.2), end(next.1, next.2));
            upstream.0.ip(&[format!("link add {near} type veth peer {far} netns {}", next.0.path())])?;
            for (namespace, port) in [(upstream.0, upstream.1), (next.0, next.1)] {
                namespace.within(|| {
                    Interface::named(port)
                        .and_then(|interface| interface.offloads_off())
                        .map_err(LabError::system("make each packet one frame"))
                })?;
                namespace.ip(&[
                    format!("link set dev {port} addrgenmode none"),
                    format!("link set dev {port} up"),
                ])?;
            }
            upstream = (next.0, DOWN_PORT, None);
        }
        for end in [&self.source, &self.destination] {
            end.ip(&["link set dev lo up".to_owned()])?;
        }
        Ok(())
    }

    /// Gives `port` the addresses of `place`, and tells it once and for all where `peers` are.
    fn address(
        &self,
        namespace: &Namespace,
        port: &str,
        place: Place,
        peers: &[Place],
    ) -> Result<(), LabError> {
        let mut lines = vec![format!("address add {}/24 dev {port}", place.ipv4())];
        if self.ipv6 {
            lines.push(format!("address add {}/64 dev {port} nodad", place.ipv6()));
        }
        for peer in peers {
            let addresses = [Some(peer.ipv4()), self.ipv6.then(|| peer.ipv6())];
            lines.extend(addresses.into_iter().flatten().map(|address| {
                format!("neighbour add {address} lladdr {} dev {port} nud permanent", peer.hardware())
            }));
        }
        namespace.ip(&lines)
    }

    /// Makes the node with this index a bridge between its two ports, with addresses of its own for cross traffic.
    pub(crate) fn bridge(&self, index: usize) -> Result<(), LabError> {
        let (node, place) = (&self.nodes[index], Place::node(index)?);
        node.ip(&[
            format!(
                "link add name {BRIDGE} address {} type bridge stp_state 0 mcast_snooping 0",
                place.hardware()
            ),
            format!("link set dev {BRIDGE} addrgenmode none"),
            format!("link set dev {UP_PORT} master {BRIDGE}"),
            format!("link set dev {DOWN_PORT} master {BRIDGE}"),
            format!("link set dev {BRIDGE} up"),
        ])?;
        let others = (0..self.nodes.len()).filter(|other| *other != index);
        let others =
            others.map(|other| Ok((other, Place::node(other)?))).collect::<Result<Vec<_>, LabError>>()?;
        // Whoever never sends is never learnt, and what goes there would be sent by both ports: over links that it has no
        // business on.
        let by = |(other, place): &(usize, Place)| (*place, if *other < index { UP_PORT } else { DOWN_PORT });
        let ends = [(Place::SOURCE, UP_PORT), (Place::DESTINATION, DOWN_PORT)];
        let told = others.iter().map(by).chain(ends);
        let told =
            told.map(|(place, port)| format!("fdb replace {} dev {port} master static", place.hardware()));
        node.bridge(&told.collect::<Vec<_>>())?;
        self.address(node, BRIDGE, place, &others.into_iter().map(|(_, place)| place).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::time::Duration;

    /// Whether namespaces can be made here; prints why not.
    fn possible() -> bool {
        Namespace::new("test").inspect_err(|error| eprintln!("skipped: {error}")).is_ok()
    }

    #[test]
    fn a_core_has_its_bit() {
        assert_eq!([0, 5, 33].map(mask), ["1", "20", "2,00000000"]);
    }

    #[test]
    fn two_hosts_reach_each_other_over_three_bridges() {
        if !possible() {
            return;
        }
        let wiring = Wiring::new(3, 1400).unwrap();
        (0..3).for_each(|index| wiring.bridge(index).unwrap());
        for (near, far) in [
            (Place::SOURCE.ipv4(), Place::DESTINATION.ipv4()),
            (Place::SOURCE.ipv6(), Place::DESTINATION.ipv6()),
        ] {
            if near.is_ipv6() && !wiring.ipv6 {
                eprintln!("skipped: this kernel has no IPv6");
                continue;
            }
            let bind = |namespace: &Namespace, address: IpAddr| {
                namespace.within(|| UdpSocket::bind((address, 7)).map_err(LabError::system("bind"))).unwrap()
            };
            let (sender, receiver) = (bind(&wiring.source, near), bind(&wiring.destination, far));
            receiver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            sender.send_to(b"ping", (far, 7)).unwrap();
            let mut buffer = [0; 16];
            let (length, from) = receiver.recv_from(&mut buffer).unwrap();
            assert_eq!((&buffer[..length], from.ip()), (&b"ping"[..], near));
        }
    }

    #[test]
    fn a_failed_command_says_what_and_where() {
        if !possible() {
            return;
        }
        let namespace = Namespace::new("source").unwrap();
        let error = namespace
            .ip(&["link set dev lo up".to_owned(), "link set dev nothere up".to_owned()])
            .unwrap_err();
        let text = error.to_string();
        assert!(text.contains("`source`") && text.contains("ip link set dev nothere up"), "{text}");
    }
}
