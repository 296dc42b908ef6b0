//! Who is here, and how many may be.

use crate::identity::PublicKey;
use crate::protocol::Refusal;
use std::collections::HashMap;
use std::net::{IpAddr, Shutdown, TcpStream};

/// How many sessions there may be at a time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// In all.
    pub sessions: u32,
    /// With one peer.
    pub sessions_per_peer: u32,
}

/// Connections that have not shown who they are yet, at a time: in all, and from one address, so that a single one
/// keeps nobody else out.
const STRANGERS: usize = 64;
const STRANGERS_FROM_ONE: usize = 16;

/// One connection.
struct Guest {
    /// To break it off.
    stream: TcpStream,
    from: IpAddr,
    /// Once it is known.
    peer: Option<PublicKey>,
}

/// Who is here.
#[derive(Default)]
pub(crate) struct Guests {
    connections: HashMap<u64, Guest>,
    next: u64,
}

impl Guests {
    /// Somebody came. Gives the connection a number, or says why there is no place.
    pub(crate) fn arrive(&mut self, stream: TcpStream, from: IpAddr) -> Result<u64, &'static str> {
        let strangers = || self.connections.values().filter(|guest| guest.peer.is_none());
        if strangers().count() >= STRANGERS {
            return Err("too many connections that have not shown who they are");
        }
        if strangers().filter(|guest| guest.from == from).count() >= STRANGERS_FROM_ONE {
            return Err("too many connections from this address that have not shown who they are");
        }
        self.next += 1;
        self.connections.insert(self.next, Guest { stream, from, peer: None });
        Ok(self.next)
    }

    /// It is `peer`: gives it a place among the sessions.
    pub(crate) fn admit(&mut self, number: u64, peer: PublicKey, places: Places) -> Result<(), Refusal> {
        let known = self.connections.values().filter_map(|guest| guest.peer);
        let (all, same) = known.fold((0, 0), |(all, same), of| (all + 1, same + u32::from(of == peer)));
        if all >= places.sessions {
            return Err(Refusal::Sessions { limit: places.sessions });
        }
        if same >= places.sessions_per_peer {
            return Err(Refusal::SessionsOfPeer { limit: places.sessions_per_peer });
        }
        if let Some(guest) = self.connections.get_mut(&number) {
            guest.peer = Some(peer);
        }
        Ok(())
    }

    /// It left.
    pub(crate) fn leave(&mut self, number: u64) {
        self.connections.remove(&number);
    }

    /// Breaks off all connections.
    pub(crate) fn dismiss(&self) {
        for guest in self.connections.values() {
            // One that is broken already is as good.
            let _ = guest.stream.shutdown(Shutdown::Both);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn places_are_limited_and_given_back() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut guests = Guests::default();
        let arrive = |guests: &mut Guests, last: u8| {
            guests.arrive(stream.try_clone().unwrap(), IpAddr::from([10, 0, 0, last]))
        };
        let places = Places { sessions: 3, sessions_per_peer: 2 };
        let [a, b] = [1, 2].map(|byte| PublicKey::from_bytes([byte; 32]));

        let numbers: Vec<u64> = (0..4).map(|_| arrive(&mut guests, 1).unwrap()).collect();
        assert_eq!(guests.admit(numbers[0], a, places), Ok(()));
        assert_eq!(guests.admit(numbers[1], a, places), Ok(()));
        assert_eq!(guests.admit(numbers[2], a, places), Err(Refusal::SessionsOfPeer { limit: 2 }));
        assert_eq!(guests.admit(numbers[2], b, places), Ok(()));
        assert_eq!(guests.admit(numbers[3], b, places), Err(Refusal::Sessions { limit: 3 }));
        guests.leave(numbers[0]);
        assert_eq!(guests.admit(numbers[3], b, places), Ok(()));

        // Strangers of one address do not take the places of another's.
        while arrive(&mut guests, 7).is_ok() {}
        assert!(arrive(&mut guests, 8).is_ok());
        for last in 9..20 {
            while arrive(&mut guests, last).is_ok() {}
        }
        assert!(arrive(&mut guests, 99).is_err());
    }
}
