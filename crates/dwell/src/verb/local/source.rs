//! Where the journeys come from: live traffic where it can be seen, and Dwell's own probes where not.

use super::asked::Asked;
use anyhow::{Context, Result};
use dwell_net::inside::{Observer, OwnProbes, Source, own_address};

/// Begins to see packets. What is asked becomes what is measured, where that is Dwell's own probes.
pub(super) fn open(asked: &mut Asked) -> Result<Source> {
    let why = match Observer::attach(&asked.watching) {
        Ok(observer) => return Ok(Source::Ebpf(Box::new(observer))),
        Err(why) if !asked.own_probes_do => return Err(why).context("cannot watch the kernel"),
        Err(why) => why,
    };
    let failed = || format!("cannot watch the kernel ({why}), nor measure probes of its own");
    let address = own_address(asked.interface.as_deref()).with_context(failed)?;
    eprintln!(
        "no eBPF here: {why}; Dwell's own probes on {address} are measured instead of live traffic, with the kernel's socket stamps"
    );
    let probes = OwnProbes::open(address, &asked.watching, &why).with_context(failed)?;
    asked.interface = Some(OwnProbes::INTERFACE.to_owned());
    asked.what = format!("Dwell's own probes on {address}, which go through {}", OwnProbes::INTERFACE);
    Ok(Source::Stamps(Box::new(probes)))
}
