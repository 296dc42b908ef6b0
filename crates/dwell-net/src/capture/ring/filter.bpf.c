/* Which packets a ring of `dwell watch` gets, how much of each, and, where there are several rings, which of them gets it.
 *
 * Of handshakes: every SYN, every RST, every ICMP error that quotes a segment, and the first segments that a client sends
 * after a SYN or a SYN/ACK was seen. Which client that is, a table remembers, of fixed size: a flood of SYNs makes more
 * pass than would be needed, never less.
 *
 * Throughout connections: every segment, and the datagrams of QUIC's flows, which the same table remembers from their
 * first packets on.
 */
#include "kernel.h"
#include "walk.h"

/* Whether what follows handshakes is wanted too. */
const volatile u8 throughout;

enum {
	SYN = 2,
	RST = 4,
	ACK = 16,
	/* Bytes before the network header: Ethernet's, and two tags that some drivers leave in place. */
	LINK = 22,
	QUOTE = 20,
	/* Of a datagram of QUIC: its header and all of a handshake's packets, for what they are stands at the head of each; of
	 * others what tells them from copies of each other. */
	QUIC_LONG = 8 + 1500,
	QUIC_SHORT = 8 + 32,
	TUNNELLED = 256,
	SLOTS = 1 << 20,
	/* Segments of the client that pass after each SYN and SYN/ACK. */
	FIRST = 8,
	/* And where two clients share a slot. */
	SHARED = 255,
	CORES = 256,
	/* A flow of QUIC that is silent for so many seconds begins anew; they are counted in as many bits. */
	SILENT = 120,
	SECONDS = (1 << 24) - 1,
};

/* A slot: of a client 56 bits of its hash, or 0 for several, and the number of segments that pass still. Throughout
 * connections it is a flow of QUIC's: 40 bits of its hash, or 0 for several, and the second in which it passed last. */
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
	if (throughout)
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

/* Whether the datagram begins with an Initial packet of version 1 or 2. */
static __always_inline bool opens(struct __sk_buff *skb, u32 at)
{
	u8 bytes[5];

	if (!load(skb, at + 8, bytes, 5))
		return false;
	u32 version = word16(bytes + 1) << 16 | word16(bytes + 3), kind = bytes[0] & 0xb0;
	/* The bit between, ends may set at random (RFC 9287). */
	return (kind == 0x80 && version == 1) || (kind == 0x90 && version == 0x6b3343cf);
}

/* Whether a packet of QUIC belongs to a handshake. */
static __always_inline bool is_long(struct __sk_buff *skb, u32 at)
{
	u8 first;

	return load(skb, at + 8, &first, 1) && first & 0x80;
}

/* Whether the datagram is of a flow that an Initial packet opened. */
static __always_inline bool of_quic(struct __sk_buff *skb, const struct inner *inner)
{
	u64 flow = mixed(inner->from + inner->to), name = flow & ~(u64)SECONDS;
	u64 now = bpf_ktime_get_ns() / 1000000000 & SECONDS;
	u64 *slot = slot_of(flow);

	if (!slot)
		return false;
	bool opening = opens(skb, inner->at);
	for (int attempt = 0; attempt < 4; attempt++) {
		u64 old = *slot, others = old & ~(u64)SECONDS;
		bool silent = !old || ((now - old) & SECONDS) > SILENT, same = others == name;

		if (!opening && (silent || (others && !same)))
			return false;
		u64 new = (silent || same ? name : 0) | now;
		if (new == old || __sync_val_compare_and_swap(slot, old, new) == old)
			break;
	}
	return true;
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
	else if (found == DATAGRAM && throughout && of_quic(skb, &inner))
		keep = LINK + inner.at + (is_long(skb, inner.at) ? QUIC_LONG : QUIC_SHORT);

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
