/* From the driver to a place in the order of a socket's queue. */

/* A packet in the stack, not yet in a socket's queue. */
struct arrival {
	u64 skb;
	u64 driver, protocol;
	u32 core;
	u32 interface; /* 0: of another network namespace */
	bool inside; /* not yet put in a queue */
	bool watched; /* as far as its interface tells */
};
struct arrival arrivals[PACKETS];

/* Packets in sockets' queues, in the order of being put there; the oldest give way. */
/* Two lines of the cache: the core of the reader fetches them from the core that received. */
struct waiting {
	u64 driver, protocol, queue;
	u64 kernel_stamp;
	struct flow flow;
	u32 serial;
	u32 interface;
	u32 size;
	u32 core;
	u32 ahead;
	u32 end_seq; /* TCP: the number behind its last byte */
	u16 segments;
	bool told;
} __attribute__((aligned(128)));
struct waiting waitings[PACKETS];
u32 serials;

/* What lies in the queue of a socket that got a watched packet: every packet has a position, for the order alone tells
 * which one is read. Where more lie than there is room for, the oldest are overwritten, and missed when read. */
#define QUEUED 2048
#define UNKNOWN 0xffffffff
struct queue {
	u32 head, tail;
	u32 first; /* those before lay there when the first watched one came */
	u32 calls; /* position behind the last packet that the kernel told of */
	u32 reader; /* the thread that read last */
	bool shared; /* several threads read */
	bool quick; /* the first packet had been taken when it got its place: it is open whether its read was seen */
	struct {
		u32 position;
		u32 serial; /* in `waitings`; 0: not watched; UNKNOWN: it came and went unseen */
	} at[QUEUED];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct queue);
} queues SEC(".maps");

static __always_inline bool is_ours(const struct net *net)
{
	return net->ns.inum == watching.netns;
}

static __always_inline struct arrival *arrival_of(const struct sk_buff *skb)
{
	struct arrival *arrival = &arrivals[place_of(skb)];
	return arrival->skb == (u64)skb && arrival->interface ? arrival : 0;
}

static __always_inline int enter(const struct sk_buff *skb)
{
	struct arrival *arrival = &arrivals[place_of(skb)];
	struct net_device *dev = skb->dev;
	u32 interface = dev->ifindex;
	arrival->skb = (u64)skb;
	arrival->interface = 0;
	if (!is_ours(dev->nd_net.net))
		return 0;
	arrival->watched = !watching.interface || watching.interface == interface;
	arrival->driver = bpf_ktime_get_ns();
	arrival->protocol = 0;
	arrival->core = bpf_get_smp_processor_id();
	arrival->interface = interface;
	arrival->inside = true;
	return 0;
}

SEC("tp_btf/napi_gro_receive_entry")
int BPF_PROG(gro, const struct sk_buff *skb)
{
	return enter(skb);
}
SEC("tp_btf/napi_gro_frags_entry")
int BPF_PROG(gro_frags, const struct sk_buff *skb)
{
	return enter(skb);
}
SEC("tp_btf/netif_receive_skb_entry")
int BPF_PROG(direct, const struct sk_buff *skb)
{
	return enter(skb);
}
SEC("tp_btf/netif_receive_skb_list_entry")
int BPF_PROG(direct_list, const struct sk_buff *skb)
{
	return enter(skb);
}
SEC("tp_btf/netif_rx_entry")
int BPF_PROG(virtual, const struct sk_buff *skb)
{
	return enter(skb);
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(protocol, struct sk_buff *skb)
{
	struct arrival *arrival = arrival_of(skb);
	struct core *core = this_core();
	core->processing = (u64)skb;
	core->place = place_of(skb);
	if (arrival)
		arrival->protocol = bpf_ktime_get_ns();
	return 0;
}

static __always_inline struct queue *queue_of(struct sock *sk, u64 create)
{
	return bpf_sk_storage_get(&queues, sk, 0, create);
}

static __always_inline void place(struct queue *queue, u32 serial)
{
	u32 position = queue->tail;
	queue->at[position & (QUEUED - 1)].position = position;
	queue->at[position & (QUEUED - 1)].serial = serial;
	queue->tail = position + 1;
}

static __always_inline bool packet_watched(const struct sk_buff *skb, struct arrival *arrival, struct flow *flow)
{
	arrival->inside = false;
	return arrival->watched && watched_flow((u64)skb->head + skb->network_header, false, flow);
}

/* Puts the packet behind those that wait in the socket's queue. `queued` 0: it is in the queue, but not yet to be read
 * (TCP tells that later). */
static __always_inline void append(struct queue *queue, const struct sk_buff *skb, const struct arrival *arrival,
				   const struct flow *flow, u64 queued, u32 end_seq)
{
	u32 serial = __sync_fetch_and_add(&serials, 1) + 1;
	struct waiting *waiting = &waitings[serial & (PACKETS - 1)];
	waiting->serial = 0;
	waiting->driver = arrival->driver;
	waiting->protocol = arrival->protocol;
	waiting->queue = queued;
	waiting->kernel_stamp = skb->tstamp;
	waiting->flow = *flow;
	waiting->interface = arrival->interface;
	waiting->size = ip_length(skb);
	waiting->core = arrival->core;
	waiting->ahead = queue->tail - queue->head;
	waiting->end_seq = end_seq;
	waiting->segments = segments_of(skb);
	waiting->told = false;
	waiting->serial = serial;
	place(queue, serial);
}

/* How many packets lie in the socket's queue. A reader of UDP moves them all to a queue of its own. */
static __always_inline u32 lying(struct sock *sk)
{
	u32 count = sk->sk_receive_queue.qlen;
	if (sk->sk_protocol == UDP)
		count += BPF_CORE_READ((struct udp_sock *)sk, reader_queue.qlen);
	return count;
}

/* The first watched packet of a socket: those that lie before it are not known. `earlier` of those came with it. */
static __always_inline struct queue *new_queue(struct sock *sk, u32 with_it, u32 earlier)
{
	struct queue *queue = queue_of(sk, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!queue)
		return 0;
	u32 count = lying(sk);
	u32 before = count > with_it ? count - with_it : 0;
	queue->first = queue->tail = before;
	queue->quick = count < with_it;
	queue->calls = before - earlier;
	return queue;
}
