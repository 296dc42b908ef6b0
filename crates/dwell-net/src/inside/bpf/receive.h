/* From the driver to the read. */

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
struct waiting {
	u32 serial;
	bool told;
	struct journey journey;
};
struct waiting waitings[PACKETS];
u32 serials;

/* What lies in the queue of a socket that got a watched packet: every packet has a position, for the order alone tells
 * which one is read. Where more lie than there is room for, the oldest are overwritten, and missed when read. */
#define QUEUED 2048
struct queue {
	u32 head, tail;
	u32 first; /* those before lay there when the first watched one came */
	u32 calls; /* position behind the last packet that the kernel told of */
	u32 reader; /* the thread that read last */
	bool shared; /* several threads read */
	bool racy; /* this kernel tells of a packet after it can be read already */
	struct {
		u32 position;
		u32 serial; /* in `waitings`; 0: not watched */
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
	if (wanted(ANSWER)) {
		struct core *core = this_core();
		core->processing = (u64)skb;
		core->place = place_of(skb);
	}
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
	struct journey *journey = &waiting->journey;
	waiting->serial = 0;
	__builtin_memset(journey->times, 0, sizeof(journey->times));
	journey->times[DRIVER] = arrival->driver;
	journey->times[PROTOCOL] = arrival->protocol;
	journey->times[QUEUE] = queued;
	journey->flow = *flow;
	journey->kernel_stamp = skb->tstamp;
	journey->interface = arrival->interface;
	journey->core = arrival->core;
	journey->size = ip_length(skb);
	journey->segments = segments_of(skb);
	journey->reason = 0;
	journey->way = RECEIVE;
	journey->before = 0;
	journey->idle = 0;
	journey->end_seq = end_seq;
	journey->ahead = queue->tail - queue->head;
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
	queue->calls = before - earlier;
	return queue;
}

#define AT_ONCE 16

/* Datagrams: this is called once for each after several were put in the queue, so those not yet seen are at its end. */
static __always_inline void queue_datagrams(struct sock *sk, u64 now)
{
	struct queue *queue = queue_of(sk, 0);
	struct sk_buff *skb = sk->sk_receive_queue.prev;
	struct arrival *arrival;
	u32 fresh = 0;
	for (int i = 0; i < AT_ONCE; i++) {
		arrival = arrival_of(skb);
		if (!arrival || !arrival->inside)
			break;
		fresh++;
		skb = skb->prev;
	}
	for (int i = 0; i < AT_ONCE; i++) {
		if (i >= fresh)
			break;
		skb = skb->next;
		arrival = arrival_of(skb);
		if (!arrival)
			break;
		struct flow flow;
		bool watched = packet_watched(skb, arrival, &flow);
		if (!queue && watched)
			queue = new_queue(sk, fresh - i, i);
		if (!queue)
			continue;
		if (watched)
			append(queue, skb, arrival, &flow, now, 0);
		else
			place(queue, 0);
	}
	if (!queue)
		return;
	if (!sk->sk_receive_queue.lock.rlock.raw_lock.locked)
		queue->racy = true;
	/* A packet whose arrival was forgotten, or that a reader was quicker to take, has a position too. */
	queue->calls++;
	if ((int)(queue->calls - queue->tail) > 0)
		place(queue, 0);
}

static __always_inline u32 serial_at(struct queue *queue, u32 position)
{
	u32 index = position & (QUEUED - 1);
	return queue->at[index].position == position ? queue->at[index].serial : 0;
}

static __always_inline struct waiting *waiting_with(u32 serial)
{
	return &waitings[serial & (PACKETS - 1)];
}

/* TCP: what tcp_probe put in, and is in order now, can be read. */
static __always_inline void queue_segments(struct sock *sk, u64 now)
{
	struct queue *queue = queue_of(sk, 0);
	if (!queue)
		return;
	u32 next = BPF_CORE_READ((struct tcp_sock *)sk, rcv_nxt), at = queue->tail;
	for (int i = 0; i < 16; i++) {
		if (at == queue->head)
			break;
		at--;
		u32 serial = serial_at(queue, at);
		struct waiting *waiting = waiting_with(serial);
		if (waiting->serial != serial || waiting->journey.times[QUEUE])
			break;
		if ((int)(waiting->journey.end_seq - next) <= 0)
			waiting->journey.times[QUEUE] = now;
	}
}

static __always_inline bool socket_watched(const struct sock *sk)
{
	u16 family = sk->__sk_common.skc_family;
	return (family == AF_INET || family == AF_INET6) && is_ours(sk->__sk_common.skc_net.net);
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(data_ready, struct sock *sk)
{
	if (!socket_watched(sk))
		return 0;
	u64 now = bpf_ktime_get_ns();
	if (sk->sk_protocol == TCP)
		queue_segments(sk, now);
	else
		queue_datagrams(sk, now);
	return 0;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(segment, struct sock *sk, const struct sk_buff *skb)
{
	struct arrival *arrival = arrival_of(skb);
	if (!arrival || !arrival->inside)
		return 0;
	struct tcp_skb_cb *cb = (void *)__builtin_preserve_access_index(&skb->cb);
	struct tcp_skb_cb seen = {};
	bpf_core_read(&seen.seq, 4, &cb->seq);
	bpf_core_read(&seen.end_seq, 4, &cb->end_seq);
	u32 next = BPF_CORE_READ((struct tcp_sock *)sk, rcv_nxt);
	/* Without data, or nothing new. */
	if (seen.seq == seen.end_seq || (int)(seen.end_seq - next) <= 0)
		return 0;
	struct flow flow;
	if (!packet_watched(skb, arrival, &flow))
		return 0;
	struct queue *queue = queue_of(sk, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (queue)
		append(queue, skb, arrival, &flow, 0, seen.end_seq);
	return 0;
}

/* Completes the journey with what its reader did, and tells it. */
static __always_inline void finish(struct waiting *waiting, u64 now)
{
	struct journey *journey = &waiting->journey;
	struct thread *thread = known_thread();
	u64 queued = journey->times[QUEUE];
	if (!thread_watched())
		return;
	journey->times[READ] = now;
	journey->reader_core = bpf_get_smp_processor_id();
	note_process(journey);
	if (!thread) {
		tell(journey);
		return;
	}
	if (thread->waking >= queued)
		journey->times[WAKING] = thread->waking;
	if (thread->running >= queued && thread->running >= thread->waking) {
		journey->times[RUNNING] = thread->running;
		journey->before = thread->before;
		journey->idle = thread->idle;
		journey->before_pid = thread->before_pid;
		journey->before_tid = thread->before_tid;
		__builtin_memcpy(journey->before_name, thread->before_name, 16);
	}
	if (thread->asked >= queued)
		journey->times[ASKED] = thread->asked;
	let_go(thread, 0);
	if (thread->announces) {
		thread->journey = *journey;
		thread->holds = true;
	} else {
		tell(journey);
	}
}

static __always_inline void read_datagram(struct sock *sk, struct queue *queue, u32 length, u64 now)
{
	u32 tid = bpf_get_current_pid_tgid();
	if (queue->reader && queue->reader != tid)
		queue->shared = true;
	queue->reader = tid;
	u32 tail = queue->tail;
	u32 held = tail - queue->head;
	/* What was taken out and not yet told of. One: this one. */
	int taken = held - lying(sk);
	if (queue->tail != tail)
		taken = 1;
	if (taken > 1) {
		/* Several readers: none can be told from the other. One reader: older ones left without a read. */
		u32 drop = queue->shared ? taken : taken - 1;
		queue->head += drop;
		held -= drop;
		if (queue->shared)
			held = 0;
	} else if (taken < 1 && (queue->shared || queue->racy)) {
		held = 0;
	}
	if (held == 0) {
		LOST(unmatched);
		return;
	}
	u32 position = __sync_fetch_and_add(&queue->head, 1);
	u32 index = position & (QUEUED - 1);
	u32 serial = queue->at[index].serial;
	struct waiting *waiting = waiting_with(serial);
	if ((int)(position - queue->first) < 0)
		return;
	if (queue->at[index].position != position || (serial && waiting->serial != serial))
		LOST(table_full);
	else if (serial)
		finish(waiting, now);
}

static __always_inline void read_stream(struct sock *sk, struct queue *queue, u64 now)
{
	u32 copied = BPF_CORE_READ((struct tcp_sock *)sk, copied_seq), at = queue->head;
	for (int i = 0; i < 64; i++, at++) {
		if (at == queue->tail)
			break;
		u32 serial = serial_at(queue, at);
		struct waiting *waiting = waiting_with(serial);
		if (waiting->serial != serial) {
			LOST(table_full);
		} else if (!waiting->told) {
			if ((int)(waiting->journey.end_seq - copied) > 0)
				break;
			waiting->told = true;
			if (!waiting->journey.times[QUEUE])
				waiting->journey.times[QUEUE] = now;
			finish(waiting, now);
		}
		queue->head = at + 1;
	}
}

enum { MSG_PEEK = 2, MSG_ERRQUEUE = 0x2000 };

SEC("tp_btf/sock_recv_length")
int BPF_PROG(reading, struct sock *sk, int length, int flags)
{
	if (length < 0 || flags & (MSG_PEEK | MSG_ERRQUEUE) || !socket_watched(sk))
		return 0;
	struct queue *queue = queue_of(sk, 0);
	if (!queue)
		return 0;
	u64 now = bpf_ktime_get_ns();
	if (sk->sk_protocol == TCP)
		read_stream(sk, queue, now);
	else
		read_datagram(sk, queue, length, now);
	return 0;
}
