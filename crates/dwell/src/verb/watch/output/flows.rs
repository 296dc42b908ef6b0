//! Flow records by IPFIX (RFC 7011) or NetFlow, version 9 (RFC 3954), with the network delays that nProbe has: its
//! enterprise's elements CLIENT_NW_DELAY_SEC and _USEC, SERVER_NW_DELAY_SEC and _USEC.
//!
//! A collector knows no quality: only exact halves are sent, of established connections; a record whose client half is
//! not exact has no element for it (there is a template for each case), and without any exact half there is no record.

use super::Output;
use anyhow::{Context, Result};
use dwell_core::Nanos;
use dwell_core::tcp::{Ending, Endpoint, Handshake};
use sha2::{Digest as _, Sha256};
use std::net::{IpAddr, UdpSocket};
use std::time::{SystemTime, UNIX_EPOCH};

/// What is spoken.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Ipfix,
    Netflow,
}

/// ntop's number (IANA's private enterprise numbers).
const NTOP: u32 = 35_632;
/// Seconds and microseconds of the client's half, then of the server's; by NetFlow, which has no enterprises, from
/// another number on.
const DELAYS: [[u16; 2]; 2] = [[82, 83], [84, 85]];
const IN_NETFLOW: u16 = 57_472;

const TEMPLATES: u16 = 256;
const TCP: u8 = 6;
/// SYN and ACK passed.
const CONTROL_BITS: u8 = 0x12;
/// Bytes of a message, so that it fits any path.
const ROOM: usize = 1_200;
/// Messages after which the templates are told again: whoever collects may have started later.
const REMIND: u32 = 64;

/// Sends flows.
pub(super) struct Exporter {
    socket: UdpSocket,
    protocol: Protocol,
    probe: Vec<u8>,
    domain: u32,
    messages: u32,
    records: u32,
    /// Records of one template, not sent yet.
    held: Vec<u8>,
    held_records: u32,
    template: u16,
}

impl Exporter {
    pub(super) fn to(to: &str, protocol: Protocol, probe: &str) -> Result<Self> {
        let connect = |local: &str| {
            let socket = UdpSocket::bind(local)?;
            socket.connect(to).map(|()| socket)
        };
        let socket = connect("0.0.0.0:0").or_else(|_| connect("[::]:0"))?;
        let digest = Sha256::digest(probe.as_bytes());
        let domain = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
        // A length of one byte goes before it.
        let mut name = probe.as_bytes().to_vec();
        name.truncate(200);
        Ok(Self {
            socket,
            protocol,
            probe: name,
            domain,
            messages: 0,
            records: 0,
            held: Vec::new(),
            held_records: 0,
            template: 0,
        })
    }

    /// Elements and their lengths, for a record of IPv6 or not, with the client's delay or not, with the server's or not.
    fn elements(&self, v6: bool, delays: [bool; 2]) -> Vec<Element> {
        let standard = |number, length| Element { number, length, enterprise: None };
        let [source, destination, length] = if v6 { [27, 28, 16] } else { [8, 12, 4] };
        let mut all = vec![
            standard(source, length),
            standard(destination, length),
            standard(7, 2),
            standard(11, 2),
            standard(4, 1),
            standard(6, 1),
            // flowStartMilliseconds, flowEndMilliseconds
            standard(152, 8),
            standard(153, 8),
        ];
        for (numbers, there) in DELAYS.into_iter().zip(delays) {
            all.extend(numbers.into_iter().filter(|_| there).map(|number| match self.protocol {
                Protocol::Ipfix => Element { number, length: 4, enterprise: Some(NTOP) },
                Protocol::Netflow => standard(number + IN_NETFLOW, 4),
            }));
        }
        if self.protocol == Protocol::Ipfix {
            // interfaceName, which is the probe's; its length varies.
            all.push(standard(82, u16::MAX));
        }
        all
    }

    fn templates(&self) -> Vec<u8> {
        let mut set = Vec::new();
        for template in 0..8 {
            let elements = self.elements(template & 4 != 0, [template & 1 != 0, template & 2 != 0]);
            put(&mut set, &(TEMPLATES + template).to_be_bytes());
            put(&mut set, &(elements.len() as u16).to_be_bytes());
            elements.iter().for_each(|element| element.write(&mut set));
        }
        let number = if self.protocol == Protocol::Ipfix { 2 } else { 0 };
        in_set(number, &set)
    }

    /// A message of one set with so many records.
    fn send(&mut self, set: &[u8], records: u32) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
        let seconds = now.as_secs() as u32;
        let mut message = Vec::with_capacity(20 + set.len());
        match self.protocol {
            Protocol::Ipfix => {
                put(&mut message, &10_u16.to_be_bytes());
                put(&mut message, &(16 + set.len() as u16).to_be_bytes());
                put(&mut message, &seconds.to_be_bytes());
                // Of the data records before this message.
                put(&mut message, &self.records.to_be_bytes());
            }
            Protocol::Netflow => {
                put(&mut message, &9_u16.to_be_bytes());
                put(&mut message, &(records as u16).to_be_bytes());
                // How long it has been running: no time here counts from there.
                put(&mut message, &0_u32.to_be_bytes());
                put(&mut message, &seconds.to_be_bytes());
                put(&mut message, &self.messages.to_be_bytes());
            }
        }
        put(&mut message, &self.domain.to_be_bytes());
        put(&mut message, set);
        self.messages = self.messages.wrapping_add(1);
        // A collector that is not there is no failure of the measurement: by UDP nobody would know.
        let _ = self.socket.send(&message);
        Ok(())
    }

    fn send_held(&mut self) -> Result<()> {
        if self.held_records == 0 {
            return Ok(());
        }
        if self.messages.is_multiple_of(REMIND) {
            let templates = self.templates();
            self.send(&templates, 8)?;
        }
        let set = in_set(self.template, &self.held);
        let records = std::mem::take(&mut self.held_records);
        self.send(&set, records)?;
        self.records = self.records.wrapping_add(records);
        self.held.clear();
        Ok(())
    }
}

/// An element of a template.
struct Element {
    number: u16,
    length: u16,
    enterprise: Option<u32>,
}

impl Element {
    fn write(&self, to: &mut Vec<u8>) {
        let private = if self.enterprise.is_some() { 0x8000 } else { 0 };
        put(to, &(self.number | private).to_be_bytes());
        put(to, &self.length.to_be_bytes());
        if let Some(enterprise) = self.enterprise {
            put(to, &enterprise.to_be_bytes());
        }
    }
}

fn put(to: &mut Vec<u8>, bytes: &[u8]) {
    to.extend_from_slice(bytes);
}

/// A set with its header, padded to whole words.
fn in_set(number: u16, content: &[u8]) -> Vec<u8> {
    let padding = content.len().next_multiple_of(4) - content.len();
    let mut set = Vec::new();
    put(&mut set, &number.to_be_bytes());
    put(&mut set, &((4 + content.len() + padding) as u16).to_be_bytes());
    put(&mut set, content);
    set.resize(set.len() + padding, 0);
    set
}

fn address(to: &mut Vec<u8>, end: &Endpoint, v6: bool) {
    match end.address {
        IpAddr::V4(address) if !v6 => put(to, &address.octets()),
        _ => put(to, &end.octets()),
    }
}

fn milliseconds(at: Nanos) -> [u8; 8] {
    (at.0.max(0) as u64 / 1_000_000).to_be_bytes()
}

impl Output for Exporter {
    fn take(&mut self, handshake: &Handshake) -> Result<()> {
        let halves = [handshake.client_half, handshake.server_half].map(dwell_core::tcp::Half::exact);
        if handshake.ending != Ending::Established || halves == [None, None] {
            return Ok(());
        }
        let v6 = handshake.client.address.is_ipv6() || handshake.server.address.is_ipv6();
        let template = TEMPLATES
            + 4 * u16::from(v6)
            + u16::from(halves[0].is_some())
            + 2 * u16::from(halves[1].is_some());
        if template != self.template || self.held.len() > ROOM {
            self.send_held()?;
            self.template = template;
        }
        let held = &mut self.held;
        address(held, &handshake.client, v6);
        address(held, &handshake.server, v6);
        put(held, &handshake.client.port.to_be_bytes());
        put(held, &handshake.server.port.to_be_bytes());
        put(held, &[TCP, CONTROL_BITS]);
        put(held, &milliseconds(handshake.first_at));
        put(held, &milliseconds(handshake.first_at + handshake.total.value().unwrap_or_default()));
        for half in halves.into_iter().flatten() {
            let micros = (half.0.max(0) as u64 + 500) / 1_000;
            put(held, &((micros / 1_000_000) as u32).to_be_bytes());
            put(held, &((micros % 1_000_000) as u32).to_be_bytes());
        }
        if self.protocol == Protocol::Ipfix {
            put(held, &[self.probe.len() as u8]);
            put(held, &self.probe);
        }
        self.held_records += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.send_held()
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.send_held()
    }
}
