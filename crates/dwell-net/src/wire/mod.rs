//! A wire between two network namespaces that carries nothing but packets.
//!
//! The kernel notes in each TCP packet when it is to leave. Over a real wire the note is lost; over virtual Ethernet it
//! goes along, and the other namespace takes it for a stamp: a packet has then no stamp of its arrival until IP hands
//! it to TCP, or a tap gets it, microseconds later.

use libbpf_rs::{ObjectBuilder, TC_EGRESS, TcHookBuilder};
use nix::net::if_::if_nametoindex;
use std::io;
use std::os::fd::AsFd;

static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/wire.bpf.o"));

/// Has the packets that leave by `interface`, one of the calling thread's network namespace, forget when they were to.
/// It lasts as long as the interface. It takes CAP_BPF and CAP_NET_ADMIN.
///
/// # Errors
/// When there is no such interface, or the kernel refuses.
pub fn forget_departure_times(interface: &str) -> io::Result<()> {
    let index = if_nametoindex(interface)?;
    libbpf_rs::set_print(None);
    let mut builder = ObjectBuilder::default();
    let object = builder.open_memory(PROGRAM).and_then(|open| open.load()).map_err(io::Error::other)?;
    let program = object.progs().next().ok_or_else(|| io::Error::other("there is no program"))?;
    let mut hook = TcHookBuilder::new(program.as_fd())
        .ifindex(index.cast_signed())
        .replace(true)
        .handle(1)
        .priority(1)
        .hook(TC_EGRESS);
    hook.create().and_then(|mut hook| hook.attach()).map_err(io::Error::other)?;
    Ok(())
}
