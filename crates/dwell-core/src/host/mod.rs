//! How long a host keeps a packet.
