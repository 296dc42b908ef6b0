//! Deterministic packet-level simulator of a path, its queues, hosts and clocks.
