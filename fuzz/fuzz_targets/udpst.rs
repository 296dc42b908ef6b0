//! PDUs of RFC 9946, and what both ends make of them.
#![no_main]

use dwell_core::Nanos;
use dwell_core::throughput::udpst::account::Account;
use dwell_core::throughput::udpst::search::Search;
use dwell_core::throughput::udpst::{Activation, Load, Null, Parameters, Setup, Status, sealed_part};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = (Null::parse(bytes), sealed_part(bytes));
    if let Ok(setup) = Setup::parse(bytes) {
        assert_eq!(Setup::parse(&setup.pack()), Ok(setup));
    }
    if let Ok(activation) = Activation::parse(bytes) {
        assert_eq!(Activation::parse(&activation.pack()), Ok(activation));
        let _ = Search::new(activation.parameters);
    }
    let (mut account, mut search) = (Account::default(), Search::new(Parameters::default()));
    for (number, pdu) in bytes.chunks(Load::LENGTH).enumerate() {
        if let Ok(load) = Load::parse(pdu) {
            account.enter(&load, Nanos::from_millis(number as i64));
        }
    }
    let (told, _) = account.status(Nanos::from_secs(1), Nanos::from_secs(1), Nanos::from_millis(50));
    assert_eq!(Status::parse(&told.pack()), Ok(told));
    if let Ok(status) = Status::parse(bytes) {
        search.see(&status.trial);
        let bursts = [false, true].map(|second| status.row.burst(second));
        assert!(
            bursts.into_iter().flatten().all(|(interval, payloads)| interval >= 100 && payloads.len() <= 101)
        );
    }
});
