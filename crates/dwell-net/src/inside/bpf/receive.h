/* From the driver to the read. */

/* A packet in the stack, not yet in a socket's queue. */
struct arrival {
	u64 skb;
	u64 driver, protocol;
	u32 core;
	u32 interface; /* 0: none of ours */
	bool inside; /* not yet put in a queue */
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

/* What lies in one socket's queue: serials of `waitings`. */
#define QUEUED 1024
struct queue {
	u32 head, tail;
	u32 reader; /* the thread that read last */
	bool shared; /* several threads read */
	bool racy; /* this kernel tells of a packet after it can be read already */
	u32 serial[QUEUED];
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
	if (!is_ours(dev->nd_net.net) || (watching.interface && watching.interface != interface))
		return 0;
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
	this_core()->processing = (u64)skb;
	if (arrival)
		arrival->protocol = bpf_ktime_get_ns();
	return 0;
}

/* Puts the packet behind those that wait in the socket's queue. `queued` 0: it is in the queue, but not yet to be read
 * (TCP tells that later). */
static __always_inline void append(struct queue *queue, const struct sk_buff *skb, struct arrival *arrival, u64 queued,
				   u32 end_seq)
{
	arrival->inside = false;
	u32 serial = __sync_fetch_and_add(&serials, 1) + 1;
	struct waiting *waiting = &waitings[serial & (PACKETS - 1)];
	struct journey *journey = &waiting->journey;
	u64 network = (u64)skb->head + skb->network_header;
	waiting->serial = 0;
	if (!watched_flow(network, false, &journey->flow))
		return;
	__builtin_memset(journey->times, 0, sizeof(journey->times));
	journey->times[DRIVER] = arrival->driver;
	journey->times[PROTOCOL] = arrival->protocol;
	journey->times[QUEUE] = queued;
	journey->kernel_stamp = skb->tstamp;
	journey->interface = arrival->interface;
	journey->core = arrival->core;
	/* The transport has taken its headers off; of TCP it has not when this is called. */
	journey->size = skb->len + journey->flow.header;
	journey->segments = segments_of(skb);
	journey->reason = 0;
	journey->way = RECEIVE;
	journey->before = 0;
	journey->idle = 0;
	journey->end_seq = end_seq;
	u32 ahead = queue->tail - queue->head;
	journey->ahead = ahead;
	if (ahead >= QUEUED) {
		LOST(table_full);
		return;
	}
	waiting->told = false;
	waiting->serial = serial;
	queue->serial[queue->tail & (QUEUED - 1)] = serial;
	queue->tail++;
}

static __always_inline struct queue *queue_of(struct sock *sk, u64 create)
{
	return bpf_sk_storage_get(&queues, sk, 0, create);
}

/* Datagrams: this is called once for each after several were put in the queue, so those not yet seen are at its end. */
static __always_inline void queue_datagrams(struct sock *sk, struct queue *queue, u64 now)
{
	struct sk_buff *skb = sk->sk_receive_queue.prev;
	struct arrival *arrival;
	u32 fresh = 0;
	for (int i = 0; i < 16; i++) {
		arrival = arrival_of(skb);
		if (!arrival || !arrival->inside)
			break;
		fresh++;
		skb = skb->prev;
	}
	for (int i = 0; i < 16; i++) {
		if (i >= fresh)
			break;
		skb = skb->next;
		arrival = arrival_of(skb);
		if (arrival)
			append(queue, skb, arrival, now, 0);
	}
}

static __always_inline u32 serial_at(struct queue *queue, u32 at)
{
	return queue->serial[at & (QUEUED - 1)];
}

static __always_inline struct waiting *waiting_with(u32 serial)
{
	return &waitings[serial & (PACKETS - 1)];
}

/* TCP: what tcp_probe put in, and is in order now, can be read. */
static __always_inline void queue_segments(struct sock *sk, struct queue *queue, u64 now)
{
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
	bool tcp = sk->sk_protocol == TCP;
	struct queue *queue = queue_of(sk, tcp ? 0 : BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!queue)
		return 0;
	if (tcp) {
		queue_segments(sk, queue, now);
	} else {
		if (!sk->sk_receive_queue.lock.rlock.raw_lock.locked)
			queue->racy = true;
		queue_datagrams(sk, queue, now);
	}
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
	struct queue *queue = queue_of(sk, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (queue)
		append(queue, skb, arrival, 0, seen.end_seq);
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
	u32 lying = sk->sk_receive_queue.qlen;
	if (sk->sk_protocol == UDP)
		lying += BPF_CORE_READ((struct udp_sock *)sk, reader_queue.qlen);
	/* What was taken out and not yet told of. One: this one. */
	int taken = held - lying;
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
	if (held == 0 || held > QUEUED) {
		LOST(unmatched);
		return;
	}
	u32 at = __sync_fetch_and_add(&queue->head, 1);
	u32 serial = serial_at(queue, at);
	struct waiting *waiting = waiting_with(serial);
	if (waiting->serial != serial) {
		LOST(table_full);
		return;
	}
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
