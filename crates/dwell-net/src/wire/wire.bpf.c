/* What a wire does to a packet, run where it leaves a host: the kernel's own note of when TCP meant to send it stays
 * behind. */
#include "../bpf/words.h"

struct __sk_buff;

#include <bpf/bpf_helpers.h>

enum { NO_TIME = 0, GO_ON = -1 };

SEC("tc")
int forget(struct __sk_buff *skb)
{
	/* It refuses what is not IP, which has no such note. */
	bpf_skb_set_tstamp(skb, 0, NO_TIME);
	return GO_ON;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
