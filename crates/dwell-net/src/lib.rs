//! The edge of the machine: sockets and their time stamps, the agent.
