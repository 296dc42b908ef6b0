//! Greetings and frames of the control channel.
#![no_main]

use dwell_core::Direction;
use dwell_net::protocol::{Limits, Reply, Request, frame, frame_length, parse, version_of};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = version_of(bytes);
    if let Some(start) = bytes.first_chunk() {
        let _ = frame_length(*start);
    }
    let _ = parse::<Reply>(bytes);
    if let Ok(request) = parse::<Request>(bytes) {
        if let Request::Forward(fleet) | Request::Reverse(fleet) = &request {
            let _ = Limits::default().admit(fleet, Direction::Forward);
        }
        // What was understood can be said again.
        let again = frame(&request).expect("a request that fitted into a frame");
        assert_eq!(parse::<Request>(&again[4..]).as_ref(), Ok(&request));
    }
});
