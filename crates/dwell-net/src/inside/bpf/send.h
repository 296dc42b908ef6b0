/* From the program, or from the kernel that answers by itself, to the driver. */

struct departure {
	u64 skb;
	bool live;
	struct journey journey;
};
struct departure departures[PACKETS];

static __always_inline struct departure *departure_of(const struct sk_buff *skb)
{
	return &departures[place_of(skb)];
}

static __always_inline bool is_leaving(const struct departure *departure, const struct sk_buff *skb)
{
	return departure->skb == (u64)skb && departure->live;
}

#define FIN_SYN_RST 7
#define SYN 2
#define RST 4
#define ACK 16

/* Whether the kernel answers `request` with `reply`: both ends are the same ones, seen from here. */
static __always_inline bool answers(const struct flow *request, const struct flow *reply)
{
	if (request->protocol != reply->protocol || request->local_port != reply->local_port ||
	    request->remote_port != reply->remote_port || !same_address(request->local, reply->local) ||
	    !same_address(request->remote, reply->remote))
		return false;
	if (request->protocol == TCP)
		return (request->kind & (SYN | ACK)) == SYN &&
		       ((reply->kind & RST) || (reply->kind & (SYN | ACK)) == (SYN | ACK));
	return (request->protocol == ICMP && request->kind == 8 && reply->kind == 0) ||
	       (request->protocol == ICMP6 && request->kind == 128 && reply->kind == 129);
}

/* Whether what leaves answers the packet that this core has in protocol input; if so, notes its times. */
static __always_inline bool is_answer(struct journey *journey)
{
	struct core *core = this_core();
	struct arrival *arrival = &arrivals[core->place & (PACKETS - 1)];
	struct flow request;
	u16 network;
	if (!arrival->interface || arrival->skb != core->processing)
		return false;
	const struct sk_buff *skb = (void *)core->processing;
	if (bpf_core_read(&network, sizeof(network), &skb->network_header) ||
	    !watched_flow((u64)BPF_CORE_READ(skb, head) + network, false, &request) ||
	    !answers(&request, &journey->flow))
		return false;
	journey->times[DRIVER] = arrival->driver;
	journey->times[PROTOCOL] = arrival->protocol;
	return true;
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(discipline, struct sk_buff *skb)
{
	struct net_device *dev = skb->dev;
	u32 interface = dev->ifindex;
	if (!is_ours(dev->nd_net.net) || (watching.interface && watching.interface != interface))
		return 0;
	struct departure *departure = departure_of(skb);
	struct journey *journey = &departure->journey;
	u64 now = bpf_ktime_get_ns();
	u64 network = (u64)skb->head + skb->network_header;
	if (departure->live && departure->skb != (u64)skb)
		LOST(table_full);
	departure->live = false;
	departure->skb = (u64)skb;
	if (!watched_flow(network, true, &journey->flow))
		return 0;
	journey->size = ip_length(skb);
	/* A mere acknowledgement carries nothing from a program. */
	if (journey->flow.protocol == TCP && !(journey->flow.kind & FIN_SYN_RST) && journey->size == journey->flow.header)
		return 0;
	__builtin_memset(journey->times, 0, sizeof(journey->times));
	journey->times[DISCIPLINE] = now;
	journey->numbers.pid = 0;
	journey->way = SEND;
	if (this_core()->in_softirq) {
		if (wanted(ANSWER) && is_answer(journey))
			journey->way = ANSWER;
		/* Of no socket: it is passed on for another host. */
		else if (!skb->sk)
			return 0;
		/* Not of the thread that happens to be there. */
		if (!wanted(journey->way) || watching.pid || watching.cgroup)
			return 0;
	} else {
		if (!skb->sk || !wanted(SEND) || !thread_watched())
			return 0;
		struct thread *thread = known_thread();
		note_process(journey, thread, now);
		if (thread)
			journey->times[CALLED] = thread->called;
	}
	journey->kernel_stamp = 0;
	journey->interface = interface;
	journey->core = bpf_get_smp_processor_id();
	journey->segments = segments_of(skb);
	journey->reason = 0;
	journey->before = 0;
	journey->ahead = 0;
	departure->live = true;
	return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(starting, const struct sk_buff *skb, const struct net_device *dev)
{
	struct departure *departure = departure_of(skb);
	if (is_leaving(departure, skb))
		departure->journey.times[XMIT] = bpf_ktime_get_ns();
	return 0;
}

/* The driver took it, unless the code says that it is to be tried again. */
#define TRIED_AGAIN 16

SEC("tp_btf/net_dev_xmit")
int BPF_PROG(handing, struct sk_buff *skb, int code, struct net_device *dev, u32 length)
{
	struct departure *departure = departure_of(skb);
	struct journey *journey = &departure->journey;
	if (!is_leaving(departure, skb) || code >= TRIED_AGAIN)
		return 0;
	journey->times[HANDED] = bpf_ktime_get_ns();
	/* It may have completed already, on another core. */
	if (watching.completes && !journey->times[COMPLETED])
		return 0;
	departure->live = false;
	tell(journey);
	return 0;
}

SEC("tp_btf/consume_skb")
int BPF_PROG(completing, struct sk_buff *skb)
{
	struct departure *departure = departure_of(skb);
	struct journey *journey = &departure->journey;
	if (!is_leaving(departure, skb) || !journey->times[XMIT])
		return 0;
	journey->times[COMPLETED] = bpf_ktime_get_ns();
	if (!journey->times[HANDED])
		return 0;
	departure->live = false;
	tell(journey);
	return 0;
}
