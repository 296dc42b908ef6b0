//! Captures as echoes.
#![no_main]

use dwell_core::capture::{ReadError, each_packet};
use dwell_core::echo::{Asked, Echo, Exchanges};
use dwell_core::host::salehin2013;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for asked in [Asked::Icmp, Asked::Udp { port: 7924 }, Asked::Tcp { port: 7924 }] {
        let mut exchanges = Exchanges::new(asked);
        let _ = each_packet(bytes, |packet| {
            exchanges.hear(&packet);
            Ok::<(), ReadError>(())
        });
        let (seen, tally) = exchanges.finish();
        assert_eq!(seen.len() as u64, tally.echoes);
        assert!(seen.iter().all(|exchange| exchange.request <= exchange.reply));
        let echoes: Vec<Echo> = seen.iter().map(|seen| Echo::at_tap(seen, None)).collect();
        let _ = salehin2013::report(&echoes);
    }
});
