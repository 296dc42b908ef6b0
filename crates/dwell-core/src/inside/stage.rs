//! The points of a packet's way through a host, and the stages between them.

use serde::{Deserialize, Serialize};

/// Which way a packet goes through the host.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// From the link to a program.
    Receive,
    /// From a program to the link.
    Send,
    /// From the link to the link: the kernel itself answers (ICMP echo, SYN, RST), and no program runs.
    Answer,
}

impl Way {
    /// All.
    pub const ALL: [Self; 3] = [Self::Receive, Self::Send, Self::Answer];

    /// Its name in JSON and on the screen.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Receive => "receive",
            Self::Send => "send",
            Self::Answer => "answer",
        }
    }
}

/// A place that a packet passes, in the order of passing.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Point {
    /// The NIC stamped its arrival (hardware stamp, brought to the host's clock).
    Nic,
    /// The driver handed it to the stack: NAPI poll, or `netif_rx` for a virtual device. The kernel's own receive stamp
    /// is taken here.
    Driver,
    /// Protocol input begins (`netif_receive_skb`).
    Protocol,
    /// It lies in the socket's queue (`sk_data_ready`).
    Queue,
    /// The thread that is to read it is woken (`sched_waking`); only where that thread slept.
    Waking,
    /// That thread has a core (`sched_switch`); only where it slept.
    Running,
    /// That thread asks for it (entry of the system call); only where it asked after the packet was queued.
    Asked,
    /// The read returns (`sock_recv_length`): it is copied to the program.
    Read,
    /// The program took its time stamp; Dwell's own receivers alone tell it.
    Stamped,
    /// The program called (entry of the system call); only for packets that leave within that call.
    Called,
    /// It reached the device's queueing discipline (`net_dev_queue`).
    Discipline,
    /// It left the queueing discipline for the driver (`net_dev_start_xmit`).
    Xmit,
    /// The driver took it (`net_dev_xmit`).
    Handed,
    /// The driver reported it sent, or the NIC's own stamp.
    Completed,
}

impl Point {
    /// How many there are.
    pub const COUNT: usize = 14;

    /// All, in the order of passing.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Nic,
        Self::Driver,
        Self::Protocol,
        Self::Queue,
        Self::Waking,
        Self::Running,
        Self::Asked,
        Self::Read,
        Self::Stamped,
        Self::Called,
        Self::Discipline,
        Self::Xmit,
        Self::Handed,
        Self::Completed,
    ];

    /// Place in [`Self::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// What lies between two points that follow each other.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// NIC to driver: DMA, interrupt coalescing, interrupt, NAPI poll.
    Nic,
    /// Driver to protocol input: generic receive offload, or the backlog queue of a core.
    Driver,
    /// Protocol input to socket queue.
    Protocol,
    /// In the socket's queue, until the reader is woken or asks for it.
    SocketQueue,
    /// From waking to running: the scheduler, and a core that sleeps or is busy.
    WakeUp,
    /// The reader runs but has not asked yet: its own way from `epoll` to the read.
    Reader,
    /// The read itself.
    Copy,
    /// From the read's return to the program's stamp.
    Application,
    /// From the system call to the queueing discipline.
    Call,
    /// In the queueing discipline.
    Discipline,
    /// In the driver.
    Xmit,
    /// From the driver to the report that it was sent.
    Completion,
    /// The kernel's own answer: from protocol input to the reply's queueing discipline.
    Answer,
}

impl Stage {
    /// All, in the order of passing; the answer last.
    pub const ALL: [Self; 13] = [
        Self::Nic,
        Self::Driver,
        Self::Protocol,
        Self::SocketQueue,
        Self::WakeUp,
        Self::Reader,
        Self::Copy,
        Self::Application,
        Self::Call,
        Self::Discipline,
        Self::Xmit,
        Self::Completion,
        Self::Answer,
    ];

    /// The stage between two points that follow each other in a journey of `way`; it is the earlier point that names
    /// it, but for the kernel's answer, and but for the reader that had to be woken.
    #[must_use]
    pub const fn between(way: Way, earlier: Point, later: Point) -> Self {
        match (earlier, later) {
            (Point::Nic, _) => Self::Nic,
            (Point::Driver, _) => Self::Driver,
            (Point::Protocol, _) if matches!(way, Way::Answer) => Self::Answer,
            (Point::Protocol, _) => Self::Protocol,
            // Waked before the packet was queued, and not yet running: what is left of the wake-up.
            (Point::Queue, Point::Running) => Self::WakeUp,
            (Point::Queue, _) => Self::SocketQueue,
            (Point::Waking, _) => Self::WakeUp,
            (Point::Running, Point::Asked) => Self::Reader,
            (Point::Running | Point::Asked, _) => Self::Copy,
            (Point::Read | Point::Stamped, _) => Self::Application,
            (Point::Called, _) => Self::Call,
            (Point::Discipline, _) => Self::Discipline,
            (Point::Xmit, _) => Self::Xmit,
            (Point::Handed | Point::Completed, _) => Self::Completion,
        }
    }

    /// Its name in JSON and on the screen.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nic => "nic",
            Self::Driver => "driver",
            Self::Protocol => "protocol",
            Self::SocketQueue => "socket_queue",
            Self::WakeUp => "wake_up",
            Self::Reader => "reader",
            Self::Copy => "copy",
            Self::Application => "application",
            Self::Call => "call",
            Self::Discipline => "discipline",
            Self::Xmit => "xmit",
            Self::Completion => "completion",
            Self::Answer => "answer",
        }
    }
}
