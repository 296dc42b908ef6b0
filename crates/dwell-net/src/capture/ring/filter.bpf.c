/* Which packets a ring of `dwell watch` gets, how much of each, and, where there are several rings, which of them gets it.
 *
 * Of handshakes: every SYN, every RST, every ICMP error that quotes a segment, and the first segments that a client sends
 * after a SYN or a SYN/ACK was seen. Which client that is, a table remembers, of fixed size: a flood of SYNs makes more
 * pass than would be needed, never less.
 */
#include "kernel.h"
#include "walk.h"

/* Whether every TCP header is wanted. */
const volatile u8 all_segments;

enum {
	SYN = 2,
	RST = 4,
	ACK = 16,
	/* Bytes before the network header: Ethernet's, and two tags that some drivers leave in place. */
	LINK = 22,
	QUOTE = 20,
	TUNNELLED = 256,
	SLOTS = 1 << 20,
	/* Segments of the client that pass after each SYN and SYN/ACK. */
	FIRST = 8,
	/* And where two clients share a slot. */
	SHARED = 255,
	CORES = 256,
};

/* A slot: 56 bits of the client's hash, or 0 for several, and the number of segments that pass still. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, u32);
	__type(value, u64);
} slots SEC(".maps");

/* What became of the packets, a line for each core. */
struct counts {
	u64 seen;
	u64 cut;
	u64 deep;
	u64 fill[5];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CORES);
	__type(key, u32);
	__type(value, struct counts);
} counted SEC(".maps");

static __always_inline u64 *slot_of(u64 client)
{
	u32 place = client & (SLOTS - 1);
	return bpf_map_lookup_elem(&slots, &place);
}

static __always_inline u64 name_of(u64 client)
{
	return client & ~255ull;
}

/* The next segments of `client` pass. */
static __always_inline void expect(u64 client)
{
	u64 *slot = slot_of(client);

	if (!slot)
		return;
	for (int attempt = 0; attempt < 4; attempt++) {
		u64 old = *slot;
		bool free = !(old & 255) || name_of(old) == name_of(client);
		u64 new = free ? name_of(client) | FIRST : SHARED;

		if (__sync_val_compare_and_swap(slot, old, new) == old)
			return;
	}
}

/* Whether this segment of `client` is one of those. */
static __always_inline bool expected(u64 client)
{
	u64 *slot = slot_of(client);

	if (!slot)
		return false;
	u64 old = *slot;
	if (!(old & 255) || (name_of(old) && name_of(old) != name_of(client)))
		return false;
	/* Where somebody else wrote meanwhile, one more passes. */
	__sync_val_compare_and_swap(slot, old, old - 1);
	return true;
}

static __always_inline bool wanted(const struct inner *inner)
{
	if (all_segments)
		return true;
	if (inner->flags & RST)
		return true;
	u64 out = mixed(inner->from * 3 + inner->to), back = mixed(inner->to * 3 + inner->from);
	if (inner->flags & SYN) {
		expect(inner->flags & ACK ? back : out);
		return true;
	}
	return inner->flags & ACK && expected(out);
}

SEC("socket")
int pass(struct __sk_buff *skb)
{
	struct inner inner = {};
	enum found found = walk(skb, &inner);
	u32 core = bpf_get_smp_processor_id() & (CORES - 1), keep = 0;

	if (found == SEGMENT && wanted(&inner))
		keep = LINK + inner.at + inner.length;
	else if (found == QUOTED)
		keep = LINK + inner.at + QUOTE;
	else if (found == TUNNEL)
		keep = TUNNELLED;

	struct counts *counts = bpf_map_lookup_elem(&counted, &core);
	if (counts) {
		__sync_fetch_and_add(&counts->seen, 1);
		if (found == CUT)
			__sync_fetch_and_add(&counts->cut, 1);
		if (found == DEEP)
			__sync_fetch_and_add(&counts->deep, 1);
	}
	return keep;
}

/* Both directions of a connection, and the errors that quote it, come to one ring. */
SEC("socket")
int spread(struct __sk_buff *skb)
{
	struct inner inner = {};

	walk(skb, &inner);
	u64 both = mixed(inner.from + inner.to);
	return both >> 33;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
