/* The threads that read and send: when they were woken, given a core, and what they asked for. A thread is known from
 * its first read or send on. */

struct thread {
	u64 waking, running, asked, called;
	u64 noted; /* when `numbers`, `cgroup` and `name` were read */
	struct numbers numbers;
	u64 cgroup;
	char name[16];
	u64 idle; /* how long its core had slept before it was given to it */
	struct numbers before_numbers;
	char before_name[16];
	u8 before;
	bool announces; /* tells its application's stamps */
	bool holds; /* `journey` waits for its stamp */
	struct journey journey;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

#define CORES 1024
struct core {
	u64 idle_since;
	u64 processing; /* the packet in protocol input */
	bool in_softirq; /* which has nothing to do with the thread that it interrupted */
	u32 place; /* where that one is in `arrivals` */
};
struct core cores[CORES];

static __always_inline struct core *this_core(void)
{
	return &cores[bpf_get_smp_processor_id() & (CORES - 1)];
}

/* Softirqs do not nest on a core. The end stands first, for programs are attached in the order in which they stand: a
 * softirq that began with nobody to note its end would seem to last until the next one. */
SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_ends, u32 kind)
{
	this_core()->in_softirq = false;
	return 0;
}
SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_begins, u32 kind)
{
	this_core()->in_softirq = true;
	return 0;
}

/* The kernel nests no more PID namespaces than that below the first. */
#define NAMESPACES 32

/* The number in the observer's PID namespace of what the `struct pid` at that address stands for; 0: it is not in that.
 * A function of its own for the verifier, which would follow each place that asks through all namespaces. */
__noinline u32 number_here(u64 address)
{
	const struct pid *pid = (const void *)address;
	u32 level = BPF_CORE_READ(pid, level);
	const struct upid *numbers = __builtin_preserve_access_index(&pid->numbers[0]);
	for (u32 i = 1; i <= NAMESPACES && i <= level; i++) {
		struct upid number = {};
		bpf_probe_read_kernel(&number, sizeof(number), numbers + i);
		if (BPF_CORE_READ(number.ns, ns.inum) == watching.pidns)
			return number.nr;
	}
	return 0;
}

static __always_inline struct numbers numbers_of(struct task_struct *task)
{
	struct numbers machine = { .pid = task->tgid, .tid = task->pid };
	if (!watching.pidns)
		return machine;
	struct numbers here = {
		.pid = number_here((u64)BPF_CORE_READ(task, group_leader, thread_pid)),
		.tid = number_here((u64)BPF_CORE_READ(task, thread_pid)),
	};
	if (here.pid && here.tid)
		return here;
	machine.pid |= OUTSIDE;
	return machine;
}

static __always_inline struct thread *thread_of(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, 0, 0);
}

static __always_inline struct thread *known_thread(void)
{
	return bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* Whether it was about to sleep, and has its core still: it goes on, and no core is given to it. (A kernel for one
 * core has no such note.) */
static __always_inline bool still_runs(const struct task_struct *task)
{
	return bpf_core_field_exists(task->on_cpu) && task->on_cpu && task->on_rq;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *task)
{
	struct thread *thread = thread_of(task);
	if (thread && !still_runs(task))
		thread->waking = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switching, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (next->pid == 0) {
		this_core()->idle_since = bpf_ktime_get_ns();
		return 0;
	}
	struct thread *thread = thread_of(next);
	/* Only the first time after it was woken: what comes later is no part of its waking up. */
	if (!thread || thread->running >= thread->waking)
		return 0;
	u64 now = bpf_ktime_get_ns();
	thread->running = now;
	if (prev->pid == 0) {
		u64 since = this_core()->idle_since;
		thread->before = since ? 1 : 0;
		thread->idle = now - since;
	} else {
		thread->before = 2;
		thread->before_numbers = numbers_of(prev);
		bpf_core_read(thread->before_name, 16, &prev->comm);
	}
	return 0;
}

/* Tells the journey that waited for its stamp. */
static __always_inline void let_go(struct thread *thread, u64 stamped)
{
	if (!thread->holds)
		return;
	thread->holds = false;
	thread->journey.times[STAMPED] = stamped;
	tell(&thread->journey);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(entering, struct pt_regs *regs, long id)
{
	if (id < 0 || id >= CALLS)
		return 0;
	u8 call = watching.call[id & (CALLS - 1)];
	if (call == OTHER_CALL)
		return 0;
	if (call == CONTROL) {
		if ((int)FIRST(regs) != -1 || (u32)SECOND(regs) != watching.announce)
			return 0;
		struct thread *thread = known_thread();
		if (thread) {
			thread->announces = true;
			let_go(thread, THIRD(regs));
		}
		return 0;
	}
	struct thread *thread = thread_of(bpf_get_current_task_btf());
	if (!thread)
		return 0;
	u64 now = bpf_ktime_get_ns();
	if (call == RECEIVING) {
		let_go(thread, 0);
		thread->asked = now;
		thread->called = 0;
	} else {
		thread->called = now;
	}
	return 0;
}

static __always_inline bool thread_watched(void)
{
	if (watching.pid && watching.pid != numbers_of(bpf_get_current_task_btf()).pid)
		return false;
	return !watching.cgroup || watching.cgroup == bpf_get_current_cgroup_id();
}

/* A thread seldom changes its name or its group, and its numbers hardly ever: they are read anew once in a while. */
#define NOTED 100000000

static __always_inline void note_process(struct journey *journey, struct thread *thread, u64 now)
{
	/* The kernel had no room for notes on this thread. */
	if (!thread) {
		journey->numbers = numbers_of(bpf_get_current_task_btf());
		journey->cgroup = bpf_get_current_cgroup_id();
		bpf_get_current_comm(journey->name, sizeof(journey->name));
		return;
	}
	if (now - thread->noted > NOTED) {
		thread->noted = now;
		thread->numbers = numbers_of(bpf_get_current_task_btf());
		thread->cgroup = bpf_get_current_cgroup_id();
		bpf_get_current_comm(thread->name, sizeof(thread->name));
	}
	journey->numbers = thread->numbers;
	journey->cgroup = thread->cgroup;
	__builtin_memcpy(journey->name, thread->name, sizeof(journey->name));
}
