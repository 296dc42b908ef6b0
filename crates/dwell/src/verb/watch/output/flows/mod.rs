//! Flow records by IPFIX (RFC 7011) or NetFlow, version 9 (RFC 3954), with the network delays that nProbe has: its
//! enterprise's elements CLIENT_NW_DELAY_SEC and _USEC, SERVER_NW_DELAY_SEC and _USEC, and for the server's responses
//! APPL_LATENCY_SEC and _USEC.
//!
//! A collector knows no quality: only exact halves are sent, of established connections; a record whose client half is
//! not exact has no element for it (there is a template for each case), and without any exact half there is no record.
//! Halves throughout connections have no element: the delays are the handshake's.

mod reminder;
mod template;

use super::super::throughout::Figure;
use super::Output;
use crate::figure::counted;
use anyhow::{Context, Result};
use dwell_core::Nanos;
use dwell_core::inside::grouped;
use dwell_core::tcp::continuous::RoundTrips;
use dwell_core::tcp::{Ending, Endpoint, Handshake};
use reminder::Reminder;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
pub(super) use template::Protocol;
use template::{Template, Told};

const TCP: u8 = 6;
/// SYN and ACK passed.
const CONTROL_BITS: u8 = 0x12;
/// Bytes of a message, so that it fits any path.
const ROOM: usize = 1_200;
/// Bytes of the probe's name at most: where it is told, one byte tells its length.
const LONGEST_NAME: usize = 200;

/// A host and a port, whether or not the host is known.
pub(in crate::verb::watch) fn collector(text: &str) -> Result<String, &'static str> {
    let port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    let is_one = text.rsplit_once(':').is_some_and(|(host, number)| !host.is_empty() && port(number));
    is_one.then(|| text.to_owned()).ok_or("not a host and a port, as 192.0.2.1:4739")
}

/// From one message to the next at least, where they come out of a file and could all go at once: UDP knows no congestion
/// (RFC 7011, section 10.3), and a collector's socket holds some hundred of them. 10 Mb/s.
const APART: Duration = Duration::from_millis(1);

/// Sends flows.
pub(super) struct Exporter {
    socket: UdpSocket,
    to: String,
    /// When the next may go; `None`: they come no faster than connections pass.
    due: Option<Instant>,
    /// Messages that could not be sent, and why the last of them.
    unsent: u32,
    refusal: Option<io::Error>,
    protocol: Protocol,
    probe: Vec<u8>,
    domain: u32,
    messages: u32,
    records: u32,
    reminder: Reminder,
    /// Records that are not sent yet, by the numbers of their templates: a message has a set of each.
    held: BTreeMap<u16, Vec<u8>>,
    held_records: u32,
}

impl Exporter {
    pub(super) fn to(to: &str, protocol: Protocol, probe: &str, live: bool) -> Result<Self> {
        let connect = |local: &str| {
            let socket = UdpSocket::bind(local)?;
            socket.connect(to).map(|()| socket)
        };
        let socket = connect("0.0.0.0:0")
            .or_else(|_| connect("[::]:0"))
            .with_context(|| format!("cannot send flows to {to}"))?;
        let digest = Sha256::digest(probe.as_bytes());
        let domain = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
        let ends = |at: &usize| probe.is_char_boundary(*at);
        let name = &probe[..(0..=probe.len().min(LONGEST_NAME)).rev().find(ends).unwrap_or(0)];
        Ok(Self {
            socket,
            to: to.to_owned(),
            due: (!live).then(Instant::now),
            unsent: 0,
            refusal: None,
            protocol,
            probe: name.as_bytes().to_vec(),
            domain,
            messages: 0,
            records: 0,
            reminder: Reminder::default(),
            held: BTreeMap::new(),
            held_records: 0,
        })
    }

    /// A message of these sets with so many records.
    fn send(&mut self, sets: &[u8], records: u32) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
        let seconds = now.as_secs() as u32;
        let mut message = Vec::with_capacity(20 + sets.len());
        match self.protocol {
            Protocol::Ipfix => {
                message.extend(10_u16.to_be_bytes());
                message.extend((16 + sets.len() as u16).to_be_bytes());
                message.extend(seconds.to_be_bytes());
                // Of the data records before this message.
                message.extend(self.records.to_be_bytes());
            }
            Protocol::Netflow => {
                message.extend(9_u16.to_be_bytes());
                message.extend((records as u16).to_be_bytes());
                // How long it has been running: no time here counts from there.
                message.extend(0_u32.to_be_bytes());
                message.extend(seconds.to_be_bytes());
                message.extend(self.messages.to_be_bytes());
            }
        }
        message.extend(self.domain.to_be_bytes());
        message.extend(sets);
        self.messages = self.messages.wrapping_add(1);
        self.reminder.sent();
        self.wait();
        let sent = self.socket.send(&message).map(|_| ());
        self.note(sent);
        Ok(())
    }

    /// Until the next message may go.
    fn wait(&mut self) {
        if let Some(due) = &mut self.due {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            *due = Instant::now() + APART;
        }
    }

    /// A collector that is not there is no failure of the measurement; that nobody takes its flows is told.
    fn note(&mut self, sent: io::Result<()>) {
        if let Err(error) = sent {
            self.unsent += 1;
            self.refusal = Some(error);
            self.reminder.refused();
        }
    }

    /// That nobody took a message is heard after it: heard here, it stops none that goes now.
    fn hear_refusal(&mut self) -> Result<()> {
        let heard = self.socket.take_error()?.map_or(Ok(()), Err);
        self.note(heard);
        Ok(())
    }

    fn send_templates(&mut self) -> Result<()> {
        let mut set = Vec::new();
        Template::all().for_each(|template| template.write(self.protocol, self.probe.len(), &mut set));
        let number = if self.protocol == Protocol::Ipfix { 2 } else { 0 };
        self.send(&in_set(number, &set), Template::all().count() as u32)
    }

    fn send_held(&mut self) -> Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        self.hear_refusal()?;
        let now = Instant::now();
        if self.reminder.is_due(now) {
            self.reminder.told(now);
            self.send_templates()?;
        }
        let held = std::mem::take(&mut self.held);
        let sets: Vec<u8> = held.iter().flat_map(|(number, records)| in_set(*number, records)).collect();
        let records = std::mem::take(&mut self.held_records);
        self.send(&sets, records)?;
        self.records = self.records.wrapping_add(records);
        Ok(())
    }

    /// Holds a record back, to be sent with others.
    fn hold(&mut self, record: &Record<'_>) -> Result<()> {
        let Record { client, server, from, until, told, spans } = *record;
        let v6 = client.address.is_ipv6() || server.address.is_ipv6();
        let template = Template { v6, told };
        if self.held.values().map(Vec::len).sum::<usize>() > ROOM {
            self.send_held()?;
        }
        let held = self.held.entry(template.number()).or_default();
        address(held, client, v6);
        address(held, server, v6);
        held.extend(client.port.to_be_bytes().into_iter().chain(server.port.to_be_bytes()));
        held.push(TCP);
        held.extend(milliseconds(from).into_iter().chain(milliseconds(until)));
        if let Told::Halves { .. } = told {
            held.push(CONTROL_BITS);
        }
        for span in spans {
            // To a collector none is unknown.
            let micros = ((span.0.max(0) as u64 + 500) / 1_000).max(1);
            held.extend(((micros / 1_000_000) as u32).to_be_bytes());
            held.extend(((micros % 1_000_000) as u32).to_be_bytes());
        }
        if self.protocol == Protocol::Ipfix {
            held.push(self.probe.len() as u8);
        }
        held.extend(&self.probe);
        self.held_records += 1;
        Ok(())
    }
}

/// What a record says, before its template is known.
struct Record<'a> {
    client: &'a Endpoint,
    server: &'a Endpoint,
    from: Nanos,
    until: Nanos,
    told: Told,
    /// As many as that says.
    spans: &'a [Nanos],
}

/// A set with its header, padded to whole words.
fn in_set(number: u16, content: &[u8]) -> Vec<u8> {
    let padding = content.len().next_multiple_of(4) - content.len();
    let mut set = Vec::new();
    set.extend(number.to_be_bytes());
    set.extend(((4 + content.len() + padding) as u16).to_be_bytes());
    set.extend(content);
    set.resize(set.len() + padding, 0);
    set
}

fn address(to: &mut Vec<u8>, end: &Endpoint, v6: bool) {
    match end.address {
        IpAddr::V4(address) if !v6 => to.extend(address.octets()),
        _ => to.extend(end.octets()),
    }
}

fn milliseconds(at: Nanos) -> [u8; 8] {
    (at.0.max(0) as u64 / 1_000_000).to_be_bytes()
}

impl Output for Exporter {
    fn take(&mut self, handshake: &Handshake) -> Result<()> {
        let [client, server] =
            [handshake.client_half, handshake.server_half].map(dwell_core::tcp::Half::exact);
        let spans: Vec<Nanos> = [client, server].into_iter().flatten().collect();
        if handshake.ending != Ending::Established || spans.is_empty() {
            return Ok(());
        }
        self.hold(&Record {
            client: &handshake.client,
            server: &handshake.server,
            from: handshake.first_at,
            // Where the whole is not known, it took as long as the half that is.
            until: handshake.first_at + handshake.total.value().unwrap_or(spans[0]),
            told: Told::Halves { client: client.is_some(), server: server.is_some() },
            spans: &spans,
        })
    }

    fn round_trips(&mut self, told: &RoundTrips) -> Result<()> {
        let Some((Figure::Response, least)) = Figure::of(told) else { return Ok(()) };
        self.hold(&Record {
            client: &told.other,
            server: &told.to,
            from: told.from,
            until: told.until,
            told: Told::Response,
            spans: &[least],
        })
    }

    fn flush(&mut self) -> Result<()> {
        self.send_held()
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.send_held()?;
        // Of the last message only this tells that nobody takes it.
        self.hear_refusal()?;
        if let Some(refusal) = &self.refusal {
            let (unsent, all) = (grouped(self.unsent.into()), counted(self.messages.into(), "message"));
            eprintln!("of {all} with flows {unsent} at least did not reach {}: {refusal}", self.to);
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
