/* What the programs tell (struct journey), what they are told (struct watching), and what they count.
 * The same layouts stand in record.rs. */

/* Places in `times`. No packet passes all: those of an answer stand where those of the reader do. */
enum point {
	DRIVER, PROTOCOL, QUEUE, WAKING, RUNNING, ASKED, READ, STAMPED,
	POINTS,
	DISCIPLINE = 2, XMIT, HANDED, COMPLETED, CALLED,
};
enum way { RECEIVE, SEND, ANSWER };

struct flow {
	u8 local[16];
	u8 remote[16];
	u16 local_port;
	u16 remote_port;
	u8 protocol;
	u8 version;
	u8 kind; /* of ICMP the type, of TCP the flags */
	u8 header; /* bytes before the transport's payload */
} __attribute__((aligned(8)));

/* Of a thread, as the observer's PID namespace counts. One that is not in that has the machine's own, marked so. */
struct numbers {
	u32 pid, tid; /* no pid: no thread */
};
#define OUTSIDE 0x80000000 /* in `pid`, beyond any number that the kernel gives */

struct journey {
	u64 times[POINTS];
	u64 kernel_stamp; /* of a drop: when */
	u64 cgroup;
	struct flow flow;
	struct numbers numbers;
	char name[16];
	u32 interface;
	u32 size;
	u32 core;
	u32 reader_core;
	u32 ahead;
	u32 reason; /* of a drop; 0: a journey */
	u16 segments;
	u8 way;
	u8 before; /* 0: not known; 1: idle; 2: another thread */
	struct numbers before_numbers;
	u64 idle;
	char before_name[16];
};

#define LISTED 16
#define CALLS 512

/* What is watched; constant when the programs are loaded, so that the verifier strikes out what is not asked for. */
struct watching {
	u32 netns;
	u32 pidns; /* 0: the machine's first */
	u32 interface; /* 0: any */
	u32 pid; /* 0: any */
	u32 ports; /* how many of `port`; 0: any */
	u32 addresses;
	u32 announce; /* the request that carries an application's stamp */
	u16 ways; /* bits */
	u16 completes; /* whether the interface's driver reports what it sent */
	u64 cgroup; /* 0: any */
	u16 port[LISTED];
	u8 address[LISTED][16];
	u8 call[CALLS]; /* system calls, by enum call */
};
enum call { OTHER_CALL, RECEIVING, SENDING, CONTROL };

const volatile struct watching watching;

struct losses {
	u64 buffer_full, table_full, unmatched;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct losses);
} losses SEC(".maps");

/* Room for some 8,000 journeys. A larger one would be written to memory that no cache holds. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 2 << 20);
} told SEC(".maps");

#define LOST(what)                                                      \
	do {                                                            \
		u32 zero = 0;                                           \
		struct losses *count = bpf_map_lookup_elem(&losses, &zero); \
		if (count)                                              \
			count->what++;                                  \
	} while (0)

/* Nobody is woken: the reader comes by every few milliseconds, which costs far less than a wake-up a packet. */
static __always_inline void tell(struct journey *journey)
{
	if (bpf_ringbuf_output(&told, journey, sizeof(*journey), BPF_RB_NO_WAKEUP))
		LOST(buffer_full);
}

static __always_inline bool wanted(enum way way)
{
	return watching.ways & (1 << way);
}
