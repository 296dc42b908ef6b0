//! Sessions that wait for their hello packet.

use crate::probe::Seal;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Sessions that wait for their hello packet.
#[derive(Default)]
pub(crate) struct Hellos(HashMap<u32, (Seal, SyncSender<SocketAddr>)>);

impl Hellos {
    /// Lets the hello packet of a session be heard.
    pub(crate) fn expect(&mut self, session: u32, seal: Seal) -> Receiver<SocketAddr> {
        let (tell, told) = sync_channel(1);
        self.0.insert(session, (seal, tell));
        told
    }

    /// Ends that.
    pub(crate) fn expect_no_more(&mut self, session: u32) {
        self.0.remove(&session);
    }

    /// Who waits for the hello packet of this session.
    pub(crate) fn expecting(&self, session: u32) -> Option<&(Seal, SyncSender<SocketAddr>)> {
        self.0.get(&session)
    }
}
