/* The programs that the kernel runs at its tracepoints for `dwell local`. */
#include "bpf/kernel.h"
#include "bpf/journey.h"
#include "bpf/packet.h"
#include "bpf/reader.h"
#include "bpf/receive.h"
char LICENSE[] SEC("license") = "Dual MIT/GPL";
