//! Agents and live paths, in good conditions and in bad.

mod adversity;
mod agentless;
mod bench;
mod echo;
mod loopback;
mod proxy;
mod ring;
mod trust;
mod unwilling;
mod veth;
mod wire;
