//! The edge of the machine: sockets and their time stamps, the agent, and the live path to one.
//!
//! A measurement takes two Dwells. One runs as an [`Agent`]; the other opens a [`LivePath`] to it, on which every
//! method of `dwell-core` runs. Between them are two channels on one port:
//!
//! - control, over TCP: TLS 1.3 with both ends' keys pinned ([`Identity`], [`Peers`], [`Channel`], [`protocol`]);
//!   each fleet of trains costs one exchange;
//! - probes, over UDP ([`probe`], [`socket`], [`pace`], [`prober`]), each with a tag that binds it to its session.
//!   The agent sends none before the other end proved that it receives where its probes come from.
//!
//! Of a host without an agent, an [`AgentlessPath`] shows what its kernel answers by itself, and [`hop::LiveHops`] what the
//! routers on the way to it say.
//!
//! What the operating system must permit:
//!
//! | for | what | without it |
//! |---|---|---|
//! | software stamps, probing, the agent | nothing | |
//! | hardware stamps | CAP_NET_ADMIN, or a NIC that was set to stamp | software stamps alone |
//! | real-time priority | CAP_SYS_NICE | the usual priority, and the result says so |
//! | pinning to a core | a core that the process may use | an error that names the core |
//! | [`PacketSocket`], [`AgentlessPath`], [`fsd`], [`hop`] | CAP_NET_RAW | an error |
//! | [`capture::Rings`] | CAP_NET_RAW; CAP_BPF and CAP_PERFMON for the filter in the kernel | an error; without the filter every packet passes |
//! | switching offloads, [`interface`] | CAP_NET_ADMIN | an error |
//! | [`inside::Observer`] | CAP_BPF and CAP_PERFMON, or root, outside user namespaces; a kernel with BTF | an error; [`inside::OwnProbes`] take nothing |
//! | what the observer costs, by the kernel's account | CAP_SYS_ADMIN | an error |

mod agent;
mod agentless;
mod allowance;
mod bpf_rights;
mod canonical;
pub mod capture;
mod channel;
pub mod clock;
mod connect_config;
mod dial;
pub mod echo;
mod enter;
mod facts;
mod first_ack;
pub mod fsd;
mod guests;
mod hellos;
pub mod hop;
mod identity;
pub mod inside;
pub mod interface;
mod lasting;
mod leash;
mod link;
mod live;
mod live_error;
mod netlink;
pub mod pace;
mod packet_socket;
pub mod place;
pub mod plugin;
pub mod probe;
pub mod prober;
pub mod protocol;
mod receive_poll;
mod reception;
mod session;
mod settings;
pub mod socket;
mod stamped;
mod tap;
pub mod throughput;
mod unprivileged;
mod warm;
pub mod wire;

pub use agent::{Agent, AgentConfig, AgentError};
pub use agentless::{AgentlessConfig, AgentlessError, AgentlessPath};
pub use channel::{Channel, ChannelError};
pub use connect_config::ConnectConfig;
pub use dial::{Origin, dial};
pub use first_ack::bear_data_on_first_ack;
pub use guests::Places;
pub use identity::{Identity, IdentityError, KeyTextError, Peers, PublicKey};
pub use lasting::LastingNumbers;
pub use live::LivePath;
pub use live_error::{ConnectError, Host, LiveError};
pub use packet_socket::PacketSocket;
pub use place::{PinError, lock_memory, pin_current_thread, real_time_priority};
pub use receive_poll::ReceivePoll;
pub use reception::{Receives, Reception, ReceptionConfig, ReceptionEvent};
pub use settings::{interfaces, settings};
pub use stamped::have_packets_stamped;
pub use unprivileged::drop_privileges;
