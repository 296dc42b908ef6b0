/* Reading a packet's headers, and whether they are watched. */

#define PACKETS 16384

/* The place of a packet in a table. Packets lie in slabs of 256-byte steps, so neighbours get places of their own. The
 * verifier lets no arithmetic be done on a pointer but to take another from it, which makes a number. */
u64 origin;
static __always_inline u32 place_of(const void *skb)
{
	u64 number = (u64)skb;
	asm volatile("%0 -= %1" : "+r"(number) : "r"(&origin));
	return ((number >> 8) ^ (number >> 22)) & (PACKETS - 1);
}

/* As much of a packet as the transport's header can need: IPv6, or IPv4 without options, and the flags of TCP. */
struct headers {
	u8 bytes[56];
};

static __always_inline u16 big16(const u8 *at)
{
	return (u16)at[0] << 8 | at[1];
}

static __always_inline bool same_address(const u8 *one, const volatile u8 *other)
{
	for (int i = 0; i < 16; i++)
		if (one[i] != other[i])
			return false;
	return true;
}

/* Whether either end is one of those asked for. */
static __always_inline bool listed(const struct flow *flow)
{
	if (watching.ports) {
		bool found = false;
		for (u32 i = 0; i < LISTED; i++)
			if (i < watching.ports &&
			    (flow->local_port == watching.port[i] || flow->remote_port == watching.port[i]))
				found = true;
		if (!found)
			return false;
	}
	if (watching.addresses) {
		for (u32 i = 0; i < LISTED; i++)
			if (i < watching.addresses && (same_address(flow->local, watching.address[i]) ||
						       same_address(flow->remote, watching.address[i])))
				return true;
		return false;
	}
	return true;
}

/* Reads the flow of the packet whose IP header lies at `network`, and tells whether it is watched. A function of its
 * own, so that the verifier goes through its branches once. */
__attribute__((noinline)) bool watched_flow(u64 network, bool sent, struct flow *flow)
{
	struct headers h;
	if (!flow || bpf_probe_read_kernel(&h, sizeof(h), (void *)network))
		return false;
	u8 *local = sent ? flow->local : flow->remote, *remote = sent ? flow->remote : flow->local;
	const u8 *transport;
	u8 version = h.bytes[0] >> 4, header;
	if (version == 4) {
		u32 mapped = 0xffff0000;
		__builtin_memset(local, 0, 16);
		__builtin_memset(remote, 0, 16);
		__builtin_memcpy(local + 8, &mapped, 4);
		__builtin_memcpy(remote + 8, &mapped, 4);
		__builtin_memcpy(local + 12, h.bytes + 12, 4);
		__builtin_memcpy(remote + 12, h.bytes + 16, 4);
		flow->protocol = h.bytes[9];
		header = (h.bytes[0] & 15) * 4;
		/* A fragment that is not the first has no ports. */
		if ((big16(h.bytes + 6) & 0x1fff) != 0)
			return false;
		if (header != 20 && bpf_probe_read_kernel(h.bytes + 20, 20, (void *)(network + header)))
			return false;
		transport = h.bytes + 20;
	} else if (version == 6) {
		__builtin_memcpy(local, h.bytes + 8, 16);
		__builtin_memcpy(remote, h.bytes + 24, 16);
		flow->protocol = h.bytes[6];
		header = 40;
		transport = h.bytes + 40;
	} else {
		return false;
	}
	flow->version = version;
	flow->local_port = flow->remote_port = 0;
	flow->kind = 0;
	flow->header = header;
	if (flow->protocol == TCP || flow->protocol == UDP) {
		u16 source = big16(transport), destination = big16(transport + 2);
		flow->local_port = sent ? source : destination;
		flow->remote_port = sent ? destination : source;
		flow->header += 8;
		if (flow->protocol == TCP) {
			flow->kind = transport[13];
			flow->header = header + (transport[12] >> 4) * 4;
		}
	} else if (flow->protocol == ICMP || flow->protocol == ICMP6) {
		flow->kind = transport[0];
		if (flow->kind == 0 || flow->kind == 8 || flow->kind == 128 || flow->kind == 129)
			flow->local_port = big16(transport + 4);
	}
	return listed(flow);
}

static __always_inline u16 segments_of(const struct sk_buff *skb)
{
	u16 segments = 0;
	/* No packet of one segment is longer than an Ethernet frame of usual size, or it is a jumbo's; asked of those. */
	if (skb->len <= 1500)
		return 1;
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	bpf_core_read(&segments, sizeof(segments), &shared->gso_segs);
	return segments ? segments : 1;
}
