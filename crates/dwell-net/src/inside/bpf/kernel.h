/* What the programs know of the kernel's structures: only the members that they read. Where these lie in the running
 * kernel is looked up when the programs are loaded (BTF, CO-RE). */
#include "../../bpf/words.h"

enum {
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_F_NO_PREALLOC = 1, BPF_LOCAL_STORAGE_GET_F_CREATE = 1, BPF_RB_NO_WAKEUP = 1 };

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct ns_common {
	u32 inum;
};
struct net {
	struct ns_common ns;
};
typedef struct {
	struct net *net;
} possible_net_t;
struct net_device {
	int ifindex;
	possible_net_t nd_net;
};
struct sk_buff;
struct sock;
struct sk_buff {
	struct sk_buff *next;
	struct sk_buff *prev;
	struct net_device *dev;
	struct sock *sk;
	__s64 tstamp;
	char cb[48];
	u32 len;
	u32 end;
	u16 network_header;
	u8 *head;
	u8 *data;
};
struct skb_shared_info {
	u16 gso_segs;
};
struct tcp_skb_cb {
	u32 seq;
	u32 end_seq;
};
struct sk_buff_head {
	struct sk_buff *next;
	struct sk_buff *prev;
	u32 qlen;
};
struct sock_common {
	u16 skc_family;
	u16 skc_num;
	possible_net_t skc_net;
};
struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_receive_queue;
	u16 sk_protocol;
};
struct udp_sock {
	struct sk_buff_head reader_queue;
};
struct tcp_sock {
	u32 copied_seq;
	u32 rcv_nxt;
};
#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long di, si, dx;
};
#define FIRST(regs) ((regs)->di)
#define SECOND(regs) ((regs)->si)
#define THIRD(regs) ((regs)->dx)
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	u64 regs[31];
};
#define FIRST(regs) ((regs)->regs[0])
#define SECOND(regs) ((regs)->regs[1])
#define THIRD(regs) ((regs)->regs[2])
#else
#error "dwell's programs know the system calls' arguments on x86-64 and on arm64"
#endif
struct pid_namespace {
	struct ns_common ns;
};
struct upid {
	int nr;
	struct pid_namespace *ns;
};
struct pid {
	unsigned int level;
	struct upid numbers[1];
};
struct task_struct {
	int pid;
	int tgid;
	int on_cpu, on_rq;
	char comm[16];
	struct task_struct *group_leader;
	struct pid *thread_pid;
};
#pragma clang attribute pop

enum { AF_INET = 2, AF_INET6 = 10 };
enum { ICMP = 1, TCP = 6, UDP = 17, ICMP6 = 58 };
