//! What is read of a capture at one go is what is read packet by packet, in captures that are partly as most are.

use dwell_core::capture::{Blocks, Captured, ReadError, Reader};
use proptest::prelude::*;

/// A packet as it was read.
type Read = (i128, i32, Vec<u8>, u32);

fn kept(packet: &Captured<'_>) -> Read {
    (packet.at, packet.link.0, packet.bytes.to_vec(), packet.length)
}

/// All that a reader finds in a capture by this, which is asked again after a packet without a time; how it ended each time, and how
/// many packets it counts.
fn read(
    file: &[u8],
    next: impl Fn(&mut Reader<Blocks<&[u8]>>, &mut Vec<Read>) -> Result<(), ReadError>,
) -> (Vec<Read>, Vec<String>) {
    let (mut packets, mut told) = (Vec::new(), Vec::new());
    let mut reader = match Reader::new(file) {
        Ok(reader) => reader,
        Err(error) => return (packets, vec![format!("{error:?}")]),
    };
    loop {
        let end = next(&mut reader, &mut packets);
        told.push(format!("{end:?}"));
        if !matches!(end, Err(ReadError::Timeless { .. })) {
            told.push(reader.whole().to_string());
            return (packets, told);
        }
    }
}

fn at_one_go(file: &[u8]) -> (Vec<Read>, Vec<String>) {
    read(file, |reader, packets| reader.each(&mut |packet| packets.push(kept(&packet))))
}

fn one_by_one(file: &[u8]) -> (Vec<Read>, Vec<String>) {
    read(file, |reader, packets| {
        while reader.advance()?.is_some() {
            packets.push(kept(&reader.packet()));
        }
        Ok(())
    })
}

/// What stands in a capture.
#[derive(Clone, Debug)]
enum Item {
    /// A packet of so many bytes, of this interface, at this time in its units, with so many bytes of options.
    Packet { interface: u32, units: u64, bytes: usize, options: usize },
    /// Names, counts, something unknown.
    Other(u32),
    /// A packet without a time.
    Simple,
    /// A packet whose block is so many bytes longer than it may be, or that says so much more of itself than it has.
    Lying { longer: usize, more: u32 },
    /// Another interface, with this resolution and offset.
    Interface { resolution: u8, offset: i64 },
    /// Another section, with an interface.
    Section,
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let units = prop_oneof![8 => 0..2_000_000_000_000_000_000_u64, 1 => any::<u64>()];
    let packet =
        (0..20_u32, units, 0..40_usize, 0..3_usize).prop_map(|(interface, units, bytes, options)| {
            // Most are of the first.
            Item::Packet { interface: interface.saturating_sub(17), units, bytes, options }
        });
    let resolution = prop::sample::select(vec![9_u8, 6, 3, 0x94, 12]);
    let interface = (resolution, prop::sample::select(vec![0_i64, 1_000, -7]));
    let interface = interface.prop_map(|(resolution, offset)| Item::Interface { resolution, offset });
    let other = prop::sample::select(vec![4_u32, 5, 0xbad]).prop_map(Item::Other);
    let lying = (0..4_usize, 0..10_u32).prop_map(|(longer, more)| Item::Lying { longer, more });
    let one = prop_oneof![20 => packet, 2 => other, 1 => Just(Item::Simple), 1 => lying, 1 => interface, 1 => Just(Item::Section)];
    prop::collection::vec(one, 0..30)
}

/// Writes words and halves in one order.
struct Writer {
    big: bool,
    file: Vec<u8>,
}

impl Writer {
    const fn word(&self, word: u32) -> [u8; 4] {
        if self.big { word.to_be_bytes() } else { word.to_le_bytes() }
    }

    fn halves(&self, halves: [u16; 2]) -> Vec<u8> {
        let half = |half: u16| if self.big { half.to_be_bytes() } else { half.to_le_bytes() };
        halves.map(half).concat()
    }

    fn block(&mut self, kind: u32, body: &[u8]) {
        let length = self.word(body.len().next_multiple_of(4) as u32 + 12);
        self.file.extend([self.word(kind), length].concat());
        self.file.extend(body);
        self.file.resize(self.file.len().next_multiple_of(4), 0);
        self.file.extend(length);
    }

    fn section(&mut self) {
        let body = [&self.word(0x1a2b_3c4d)[..], &self.halves([1, 0]), &[0xff; 8]].concat();
        self.block(0x0a0d_0d0a, &body);
    }

    fn interface(&mut self, resolution: u8, offset: i64) {
        let offset = if self.big { offset.to_be_bytes() } else { offset.to_le_bytes() };
        let options =
            [&self.halves([9, 1])[..], &[resolution, 0, 0, 0], &self.halves([14, 8]), &offset].concat();
        let body = [&self.halves([1, 0])[..], &self.word(0), &options].concat();
        self.block(1, &body);
    }

    fn item(&mut self, item: &Item) {
        match *item {
            Item::Packet { interface, units, bytes, options } => {
                let words = [interface, (units >> 32) as u32, units as u32, bytes as u32, 99];
                let mut body = words.map(|word| self.word(word)).concat();
                body.extend((0..bytes).map(|byte| byte as u8));
                body.resize(body.len().next_multiple_of(4) + 4 * options, 0);
                self.block(6, &body);
            }
            Item::Lying { longer, more } => {
                let length = self.word(32 + 8 + longer as u32);
                self.file.extend([self.word(6), length].concat());
                self.file.extend([0, 0, 5, 8 + more, 99].map(|word| self.word(word)).concat());
                self.file.resize(self.file.len() + 8 + longer, 3);
                self.file.extend(length);
            }
            Item::Other(kind) => self.block(kind, &[7; 10]),
            Item::Simple => self.block(3, &[0; 12]),
            Item::Interface { resolution, offset } => self.interface(resolution, offset),
            Item::Section => {
                self.section();
                self.interface(9, 0);
            }
        }
    }
}

fn pcapng(big: bool, resolution: u8, items: &[Item]) -> Vec<u8> {
    let mut writer = Writer { big, file: Vec::new() };
    writer.section();
    writer.interface(resolution, 0);
    items.iter().for_each(|item| writer.item(item));
    writer.file
}

fn pcap(big: bool, magic: u32, items: &[Item]) -> Vec<u8> {
    let writer = Writer { big, file: Vec::new() };
    let mut file = [&writer.word(magic)[..], &writer.halves([2, 4])].concat();
    file.extend([0, 0, 65_535, 1].map(|word| writer.word(word)).concat());
    for item in items {
        let Item::Packet { units, bytes, .. } = *item else { continue };
        let times = [(units / 1_000_000_000) as u32, (units % 1_000_100) as u32];
        file.extend([times[0], times[1], bytes as u32, 99].map(|word| writer.word(word)).concat());
        file.extend((0..bytes).map(|byte| byte as u8));
    }
    file
}

proptest! {
    // Each takes microseconds, and what is odd is seldom.
    #![proptest_config(ProptestConfig::with_cases(4_000))]
    #[test]
    fn at_one_go_is_what_is_found_one_by_one(
        items in items(), format in 0..4_u32, big: bool, resolution in prop::sample::select(vec![9_u8, 6, 0x94]),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3), cut: Option<prop::sample::Index>,
    ) {
        let mut file = match format {
            0 => pcap(big, 0xa1b2_c3d4, &items),
            1 => pcap(big, 0xa1b2_3c4d, &items),
            _ => pcapng(big, resolution, &items),
        };
        // The header of a file is another matter.
        let header = file.len().min(if format < 2 { 24 } else { 28 });
        for (at, with) in damage {
            let body = &mut file[header..];
            if !body.is_empty() {
                let at = at.index(body.len());
                body[at] = with;
            }
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len() + 1));
        }
        prop_assert_eq!(at_one_go(&file), one_by_one(&file));
    }
}
