/* In the socket's queue, and out of it to the program. */

#define AT_ONCE 16

/* A packet that a reader was quicker to take than the kernel to tell of it: it is what this core received last. Null:
 * the socket got no watched packet so far. */
static __always_inline struct queue *place_quick(struct sock *sk, struct queue *queue, u64 now)
{
	struct core *core = this_core();
	struct arrival *arrival = &arrivals[core->place & (PACKETS - 1)];
	struct flow flow;
	if (arrival->interface && arrival->inside && arrival->skb == core->processing) {
		const struct sk_buff *skb = bpf_core_cast((void *)core->processing, struct sk_buff);
		bool watched = packet_watched(skb, arrival, &flow);
		/* Its memory may be another's by now. */
		if (watched && flow.local_port == sk->__sk_common.skc_num) {
			if (!queue) {
				queue = new_queue(sk, 0, 0);
				if (queue)
					queue->quick = true;
			}
			if (queue)
				append(queue, skb, arrival, &flow, now, 0);
			return queue;
		}
	}
	if (queue)
		place(queue, UNKNOWN);
	return queue;
}

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
	if (!queue || (int)(queue->calls + 1 - queue->tail) > 0)
		queue = place_quick(sk, queue, now);
	if (!queue)
		return;
	queue->calls++;
	/* No more can have been read than came: where the count says so, a packet was missed. Those that a reader moved to
	 * a queue of its own are left out, for they cost a look. */
	u32 lies = sk->sk_receive_queue.qlen;
	/* Nor fewer: as many reads were seen as there were. */
	if (fresh && queue->tail - queue->head == lies)
		queue->quick = false;
	if (fresh && (int)(queue->tail - queue->head) < (int)lies)
		queue->head = queue->tail - lies;
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
		if (waiting->serial != serial || waiting->queue)
			break;
		if ((int)(waiting->end_seq - next) <= 0)
			waiting->queue = now;
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

static __always_inline void complete(struct journey *journey, const struct waiting *waiting, struct thread *thread,
				     u64 now)
{
	u64 queued = waiting->queue;
	journey->times[DRIVER] = waiting->driver;
	journey->times[PROTOCOL] = waiting->protocol;
	journey->times[QUEUE] = queued;
	journey->times[WAKING] = thread && thread->waking >= queued ? thread->waking : 0;
	journey->times[RUNNING] = 0;
	journey->times[ASKED] = thread && thread->asked >= queued ? thread->asked : 0;
	journey->times[READ] = now;
	journey->times[STAMPED] = 0;
	journey->kernel_stamp = waiting->kernel_stamp;
	journey->flow = waiting->flow;
	note_process(journey, thread, now);
	journey->interface = waiting->interface;
	journey->size = waiting->size;
	journey->core = waiting->core;
	journey->reader_core = bpf_get_smp_processor_id();
	journey->ahead = waiting->ahead;
	journey->reason = 0;
	journey->segments = waiting->segments;
	journey->way = RECEIVE;
	journey->before = 0;
	if (thread && thread->running >= queued && thread->running >= thread->waking) {
		journey->times[RUNNING] = thread->running;
		journey->before = thread->before;
		journey->before_numbers = thread->before_numbers;
		journey->idle = thread->idle;
		__builtin_memcpy(journey->before_name, thread->before_name, 16);
	}
}

/* Tells the journey, with what its reader did; of a thread that tells its stamps, when it did. */
static __always_inline void finish(const struct waiting *waiting, u64 now)
{
	struct thread *thread = known_thread();
	if (!thread_watched())
		return;
	if (thread)
		let_go(thread, 0);
	if (thread && thread->announces) {
		complete(&thread->journey, waiting, thread, now);
		thread->holds = true;
		return;
	}
	struct journey *journey = bpf_ringbuf_reserve(&told, sizeof(*journey), 0);
	if (!journey) {
		LOST(buffer_full);
		return;
	}
	complete(journey, waiting, thread, now);
	bpf_ringbuf_submit(journey, BPF_RB_NO_WAKEUP);
}

/* The order tells which packet this is: as many are told of as are read. A reader may be here before its packet has its
 * place; that place is then skipped. Where another thread may have come between, the length must be right as well. */
static __always_inline void read_datagram(struct sock *sk, struct queue *queue, u32 length, u64 now)
{
	u32 tid = bpf_get_current_pid_tgid();
	if (queue->reader && queue->reader != tid)
		queue->shared = true;
	queue->reader = tid;
	u32 tail = queue->tail;
	/* What was taken out and not yet told of. One: this one. Less: its place, or a later one's, is still to come. */
	int taken = tail - queue->head - lying(sk);
	if (taken > 1 && queue->tail == tail) {
		/* Several readers: none can be told from the other. One reader: older ones left without a read that was seen. */
		queue->head += queue->shared ? taken : taken - 1;
		if (queue->shared) {
			LOST(unmatched);
			return;
		}
		/* Every read is told or counted, so those are not counted here, but the first if it was read unseen. */
		if (queue->quick)
			LOST(unmatched);
	} else if (taken < 1 && queue->shared) {
		LOST(unmatched);
		return;
	} else if (taken > 0 && queue->quick && !queue->shared) {
		/* Of the first packet, or of one that has no place yet, and the first was read unseen: a later read tells. */
		__sync_fetch_and_add(&queue->head, 1);
		LOST(unmatched);
		return;
	}
	bool sure = !queue->shared && taken <= 1;
	u32 position = __sync_fetch_and_add(&queue->head, 1);
	u32 index = position & (QUEUED - 1);
	u32 serial = queue->at[index].serial;
	struct waiting *waiting = waiting_with(serial);
	if ((int)(position - queue->first) < 0)
		return;
	queue->quick = false;
	if ((int)(position - tail) >= 0 || serial == UNKNOWN)
		LOST(unmatched);
	else if (queue->at[index].position != position || (serial && waiting->serial != serial))
		LOST(table_full);
	else if (serial && !sure && waiting->size != length + waiting->flow.header)
		LOST(unmatched);
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
			if ((int)(waiting->end_seq - copied) > 0)
				break;
			waiting->told = true;
			if (!waiting->queue)
				waiting->queue = now;
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
