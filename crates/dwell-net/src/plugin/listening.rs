//! Whether somebody listens at a port, as the calling thread's network namespace tells: a connection to try it would
//! take the place of the one that a server waits for.

use std::fs;

/// TCP's state of a listener, as the kernel writes it.
const LISTENS: &str = "0A";

/// Whether a TCP or UDP socket waits at `port`.
pub(super) fn listens(port: u16) -> bool {
    ["tcp", "tcp6", "udp", "udp6"].into_iter().any(|table| {
        // A kernel without IPv6 has no such table.
        let text = fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default();
        has(&text, port, table.starts_with("tcp"))
    })
}

/// Lines like `0: 00000000:1451 00000000:0000 0A ...`, under a heading.
fn has(table: &str, port: u16, tcp: bool) -> bool {
    table.lines().skip(1).any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (own, _, state) = (fields.next(), fields.next(), fields.next());
        let at =
            own.and_then(|own| own.rsplit_once(':')).and_then(|(_, port)| u16::from_str_radix(port, 16).ok());
        at == Some(port) && (!tcp || state == Some(LISTENS))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, UdpSocket};

    #[test]
    fn listeners_are_seen_while_they_listen() {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (tcp_port, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
        assert!(listens(tcp_port) && listens(udp_port));
        drop(udp);
        assert!(!listens(udp_port) || udp_port == tcp_port);
    }

    #[test]
    fn connections_from_the_port_are_no_listeners() {
        let table = "  sl  local_address rem_address   st\n   0: 0100007F:1451 0100007F:9C40 01 00000000\n";
        assert!(!has(table, 0x1451, true));
        assert!(has(table, 0x1451, false));
        assert!(!has("", 1, true) && !has("heading\ngarbage\n", 1, false));
    }
}
