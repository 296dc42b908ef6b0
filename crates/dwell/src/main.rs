//! Where a packet's time goes: the command.

fn main() {}
