//! Texts that name places and days.
#![no_main]

use dwell_serve::upload::WarehouseAddress;
use dwell_store::warehouse::{At, Batch, Day};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = (text.parse::<At>(), Batch::check_name(text));
    if let Ok(address) = text.parse::<WarehouseAddress>() {
        assert_eq!(address.to_string().parse(), Ok(address));
    }
    if let Some(day) = Day::parse(text) {
        assert_eq!(Day::parse(&day.to_string()), Some(day));
    }
});
