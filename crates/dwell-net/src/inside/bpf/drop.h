/* Packets that the host drops. */

#define CONSUMED 1

SEC("tp_btf/kfree_skb")
int BPF_PROG(dropping, struct sk_buff *skb, void *location, u32 reason)
{
	if (reason <= CONSUMED)
		return 0;
	struct departure *departure = departure_of(skb);
	if (is_leaving(departure, skb)) {
		departure->live = false;
		departure->journey.reason = reason;
		departure->journey.kernel_stamp = bpf_ktime_get_ns();
		tell(&departure->journey);
		return 0;
	}
	struct arrival *arrival = arrival_of(skb);
	if (!arrival || !arrival->inside || !wanted(RECEIVE))
		return 0;
	arrival->inside = false;
	struct journey journey = { .reason = reason, .way = RECEIVE };
	if (!watched_flow((u64)skb->head + skb->network_header, false, &journey.flow))
		return 0;
	journey.kernel_stamp = bpf_ktime_get_ns();
	tell(&journey);
	return 0;
}
