//! Testbeds in network namespaces, from the simulator's scenario files.
