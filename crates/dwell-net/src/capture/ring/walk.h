/* From a packet's network header inwards, through every encapsulation that Dwell knows, to a header of TCP or UDP. */

/* A header is an EtherType, or the number of an IP protocol with this on top. */
enum { IP_PROTOCOL = 0x10000 };
enum {
	IPV4 = 0x0800,
	IPV6 = 0x86dd,
	VLAN = 0x8100,
	QINQ = 0x88a8,
	OLD_QINQ = 0x9100,
	OLD_QINQ_2 = 0x9200,
	OLD_QINQ_3 = 0x9300,
	MPLS = 0x8847,
	MPLS_MULTICAST = 0x8848,
	PPPOE = 0x8864,
	ETHERNET = 0x6558,
	VN_TAG = 0x8926,
	BACKBONE = 0x88e7,
	SERVICE = 0x894f,
	LONG_LLC = 0x8870,
	HOP_BY_HOP = IP_PROTOCOL | 0,
	ICMP = IP_PROTOCOL | 1,
	IPV4_IN_IP = IP_PROTOCOL | 4,
	TCP = IP_PROTOCOL | 6,
	UDP = IP_PROTOCOL | 17,
	IPV6_IN_IP = IP_PROTOCOL | 41,
	ROUTING = IP_PROTOCOL | 43,
	FRAGMENT = IP_PROTOCOL | 44,
	GRE = IP_PROTOCOL | 47,
	AUTHENTICATION = IP_PROTOCOL | 51,
	ICMPV6 = IP_PROTOCOL | 58,
	DESTINATION_OPTIONS = IP_PROTOCOL | 60,
	ETHERIP = IP_PROTOCOL | 97,
	MOBILITY = IP_PROTOCOL | 135,
	MPLS_IN_IP = IP_PROTOCOL | 137,
	HIP = IP_PROTOCOL | 139,
	SHIM6 = IP_PROTOCOL | 140,
	ETHERNET_IN_IP = IP_PROTOCOL | 143,
};

enum { HEADERS = 24, ERSPAN = 0x88be, ERSPAN_3 = 0x22eb, PPP_IN_GRE = 0x880b, LONGEST_LENGTH = 1500 };

/* How a walk ended. */
enum found {
	OTHER, /* neither TCP nor UDP */
	SEGMENT,
	DATAGRAM, /* that is no tunnel's */
	QUOTED, /* by an ICMP error */
	TUNNEL, /* of a kind that is not looked into here: it is left to who reads the ring */
	CUT, /* the packet ends within a header */
	DEEP, /* more headers than are looked at */
};

struct inner {
	u32 at; /* where the header of TCP or UDP begins, from the network header on */
	u64 from; /* hashes of both ends; of other protocols, of the addresses */
	u64 to;
	u8 length; /* of a TCP header */
	u8 flags;
};

static __always_inline u64 mixed(u64 value)
{
	value ^= value >> 32;
	value *= 0x9e3779b97f4a7c15ull;
	return value ^ value >> 29;
}

static __always_inline u64 end_of(u64 address, u16 port)
{
	return mixed(address + port);
}

static __always_inline bool load(struct __sk_buff *skb, u32 at, void *to, u32 length)
{
	return bpf_skb_load_bytes_relative(skb, at, to, length, BPF_HDR_START_NET) == 0;
}

static __always_inline u32 word16(const u8 *bytes)
{
	return (u32)bytes[0] << 8 | bytes[1];
}

static __always_inline bool is_vxlan(u32 port)
{
	return port == 4789 || port == 8472;
}

/* VXLAN for other protocols than Ethernet, Geneve, MPLS; and GTP, L2TP, Teredo, whose answers may come from the port. */
static __always_inline bool is_tunnel(u32 from, u32 to)
{
	return to == 4790 || to == 6081 || to == 6635 || to == 2152 || from == 2152 || to == 1701 || from == 1701 ||
	       to == 3544 || from == 3544;
}

/* Of an ICMP message of this type, the packet that it quotes follows after 8 bytes. */
static __always_inline bool quotes(u32 header, u8 type)
{
	return header == ICMP ? type == 3 || type == 11 || type == 12 : type >= 1 && type <= 4;
}

static __always_inline enum found walk(struct __sk_buff *skb, struct inner *inner)
{
	u32 header = bpf_ntohs((u16)skb->protocol), at = 0;
	u64 from = 0, to = 0;
	bool quoted = false;

	for (int step = 0; step < HEADERS; step++) {
		u8 bytes[16];

		switch (header) {
		case VLAN:
		case QINQ:
		case OLD_QINQ:
		case OLD_QINQ_2:
		case OLD_QINQ_3:
			if (!load(skb, at, bytes, 4))
				return CUT;
			header = word16(bytes + 2);
			at += 4;
			break;
		case MPLS:
		case MPLS_MULTICAST:
			if (!load(skb, at, bytes, 5))
				return CUT;
			at += 4;
			if (!(bytes[2] & 1))
				break;
			/* Behind the last label nothing but the first half-byte tells what comes: IP, what belongs to the path itself,
			 * or a frame of Ethernet. */
			if (bytes[4] >> 4 == 1)
				return OTHER;
			if (bytes[4] >> 4 != 4 && bytes[4] >> 4 != 6)
				return TUNNEL;
			header = bytes[4] >> 4 == 4 ? IPV4 : IPV6;
			break;
		case PPPOE:
			if (!load(skb, at, bytes, 8))
				return CUT;
			/* A link's own protocols are of no use; what else there is, as a protocol in one byte, or MPLS, may be. */
			if (word16(bytes + 6) >= 0x8000)
				return OTHER;
			if (word16(bytes + 6) != 0x0021 && word16(bytes + 6) != 0x0057)
				return TUNNEL;
			header = word16(bytes + 6) == 0x0021 ? IPV4 : IPV6;
			at += 8;
			break;
		case ETHERNET:
			if (!load(skb, at, bytes, 14))
				return CUT;
			header = word16(bytes + 12);
			at += 14;
			break;
		case IPV4_IN_IP:
		case IPV4: {
			struct {
				u8 fixed[12];
				u32 from;
				u32 to;
			} ip;

			if (!load(skb, at, &ip, 20))
				return CUT;
			/* A later fragment has no TCP header. */
			if (ip.fixed[0] >> 4 != 4 || (word16(ip.fixed + 6) & 0x1fff))
				return OTHER;
			inner->from = from = mixed(ip.from);
			inner->to = to = mixed(ip.to);
			header = IP_PROTOCOL | ip.fixed[9];
			at += (ip.fixed[0] & 15) * 4;
			break;
		}
		case IPV6_IN_IP:
		case IPV6: {
			struct {
				u8 fixed[8];
				u64 from[2];
				u64 to[2];
			} ip;

			if (!load(skb, at, &ip, 40))
				return CUT;
			if (ip.fixed[0] >> 4 != 6)
				return OTHER;
			inner->from = from = mixed(mixed(ip.from[0]) + ip.from[1]);
			inner->to = to = mixed(mixed(ip.to[0]) + ip.to[1]);
			header = IP_PROTOCOL | ip.fixed[6];
			at += 40;
			break;
		}
		case ROUTING:
			if (!load(skb, at, bytes, 4))
				return CUT;
			/* The other end answers from the last stop. */
			if (bytes[3])
				return TUNNEL;
			header = IP_PROTOCOL | bytes[0];
			at += (bytes[1] + 1) * 8;
			break;
		case HOP_BY_HOP:
		case MOBILITY:
		case HIP:
		case SHIM6:
		case DESTINATION_OPTIONS:
		case AUTHENTICATION:
			if (!load(skb, at, bytes, 2))
				return CUT;
			at += header == AUTHENTICATION ? (bytes[1] + 2) * 4 : (bytes[1] + 1) * 8;
			header = IP_PROTOCOL | bytes[0];
			break;
		case FRAGMENT:
			if (!load(skb, at, bytes, 8))
				return CUT;
			if (word16(bytes + 2) & 0xfff8)
				return OTHER;
			header = IP_PROTOCOL | bytes[0];
			at += 8;
			break;
		case GRE:
			if (!load(skb, at, bytes, 4))
				return CUT;
			header = word16(bytes + 2);
			if ((bytes[1] & 7) || header == PPP_IN_GRE || header == ERSPAN || header == ERSPAN_3)
				return TUNNEL;
			/* Check sum, key and sequence number may follow. */
			at += 4 + 4 * (bytes[0] >> 7) + 4 * (bytes[0] >> 5 & 1) + 4 * (bytes[0] >> 4 & 1);
			break;
		case UDP:
			if (!load(skb, at, bytes, 4))
				return CUT;
			if (is_tunnel(word16(bytes), word16(bytes + 2)))
				return TUNNEL;
			if (!is_vxlan(word16(bytes + 2))) {
				if (quoted)
					return OTHER;
				inner->at = at;
				inner->from = end_of(from, word16(bytes));
				inner->to = end_of(to, word16(bytes + 2));
				return DATAGRAM;
			}
			header = ETHERNET;
			at += 16;
			break;
		case ICMP:
		case ICMPV6:
			if (!load(skb, at, bytes, 1))
				return CUT;
			if (quoted || !quotes(header, bytes[0]))
				return OTHER;
			quoted = true;
			header = header == ICMP ? IPV4 : IPV6;
			at += 8;
			break;
		case TCP:
			/* Of a quoted one eight bytes may be all. */
			if (!load(skb, at, bytes, quoted ? 8 : 14))
				return CUT;
			inner->at = at;
			inner->from = end_of(from, word16(bytes));
			inner->to = end_of(to, word16(bytes + 2));
			if (quoted)
				return QUOTED;
			inner->length = (bytes[12] >> 4) * 4;
			inner->flags = bytes[13];
			return SEGMENT;
		case VN_TAG:
		case BACKBONE:
		case SERVICE:
		case LONG_LLC:
		case ETHERIP:
		case MPLS_IN_IP:
		case ETHERNET_IN_IP:
			return TUNNEL;
		default:
			/* A length, or what the kernel says instead of one: logical link control follows, which may hold IP. */
			return header <= LONGEST_LENGTH ? TUNNEL : OTHER;
		}
	}
	return DEEP;
}
