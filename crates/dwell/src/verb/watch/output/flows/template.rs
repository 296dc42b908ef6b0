//! What records of each kind hold, element by element.

/// What is spoken.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::verb::watch::output) enum Protocol {
    Ipfix,
    Netflow,
}

/// ntop's number (IANA's private enterprise numbers).
const NTOP: u32 = 35_632;
/// Its elements for seconds and microseconds of the client's half, of the server's, and of a response.
const CLIENT_DELAY: [u16; 2] = [82, 83];
const SERVER_DELAY: [u16; 2] = [84, 85];
const RESPONSE: [u16; 2] = [86, 87];
/// By NetFlow, which has no enterprises, they begin at this number.
const IN_NETFLOW: u16 = 57_472;
/// Number of the first template.
const FIRST: u16 = 256;

/// What a record tells.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Of a handshake, those halves that are known.
    Halves { client: bool, server: bool },
    /// How long the server took to reply.
    Response,
}

/// A kind of record.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    pub(super) v6: bool,
    pub(super) told: Told,
}

impl Template {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let told = [
            Told::Halves { client: true, server: false },
            Told::Halves { client: false, server: true },
            Told::Halves { client: true, server: true },
            Told::Response,
        ];
        [false, true].into_iter().flat_map(move |v6| told.map(|told| Self { v6, told }))
    }

    pub(super) fn number(self) -> u16 {
        let told = match self.told {
            Told::Halves { client, server } => u16::from(client) + 2 * u16::from(server),
            Told::Response => 8,
        };
        FIRST + 4 * u16::from(self.v6) + told
    }

    /// Its elements, in order; the name of the probe has so many bytes.
    fn elements(self, protocol: Protocol, name: usize) -> Vec<Element> {
        let standard = |number, length| Element { number, length, enterprise: None };
        let [source, destination, length] = if self.v6 { [27, 28, 16] } else { [8, 12, 4] };
        let mut all = vec![
            standard(source, length),
            standard(destination, length),
            standard(7, 2),
            standard(11, 2),
            standard(4, 1),
            // flowStartMilliseconds, flowEndMilliseconds
            standard(152, 8),
            standard(153, 8),
        ];
        let spans = match self.told {
            Told::Halves { client, server } => {
                // Which flags passed: of a handshake that is known.
                all.push(standard(6, 1));
                vec![client.then_some(CLIENT_DELAY), server.then_some(SERVER_DELAY)]
            }
            Told::Response => vec![Some(RESPONSE)],
        };
        all.extend(spans.into_iter().flatten().flatten().map(|number| match protocol {
            Protocol::Ipfix => Element { number, length: 4, enterprise: Some(NTOP) },
            Protocol::Netflow => standard(number + IN_NETFLOW, 4),
        }));
        // interfaceName, which is the probe's: by IPFIX its length may vary.
        all.push(match protocol {
            Protocol::Ipfix => standard(82, u16::MAX),
            Protocol::Netflow => standard(82, name as u16),
        });
        all
    }

    /// Its record of a template set.
    pub(super) fn write(self, protocol: Protocol, name: usize, to: &mut Vec<u8>) {
        let elements = self.elements(protocol, name);
        to.extend(self.number().to_be_bytes());
        to.extend((elements.len() as u16).to_be_bytes());
        elements.iter().for_each(|element| element.write(to));
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
        to.extend((self.number | private).to_be_bytes());
        to.extend(self.length.to_be_bytes());
        to.extend(self.enterprise.into_iter().flat_map(u32::to_be_bytes));
    }
}
