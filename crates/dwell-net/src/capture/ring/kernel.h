/* What the programs of the ring know of the kernel. */
#include "../../bpf/words.h"

enum { BPF_MAP_TYPE_ARRAY = 2, BPF_F_MMAPABLE = 1024, BPF_HDR_START_NET = 1 };

/* A packet as a socket's program sees it: its beginning, which never changed. */
struct __sk_buff {
	__u32 len;
	__u32 pkt_type;
	__u32 mark;
	__u32 queue_mapping;
	__u32 protocol;
};

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

typedef _Bool bool;
enum { false, true };
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
