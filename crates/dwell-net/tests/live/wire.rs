//! Two network namespaces joined by a veth pair. It takes privileges; without them nobody can test on a wire.

use nix::sched::{CloneFlags, unshare};
use std::process::Command;
use std::sync::mpsc::channel;

/// The near end's address.
pub(crate) const NEAR: &str = "10.77.0.1";
/// The far end's address.
pub(crate) const FAR: &str = "10.77.0.2";
/// The same over IPv6.
pub(crate) const FAR6: &str = "fd77::2";
const NEAR6: &str = "fd77::1";

/// Runs `near` and `far` in two namespaces, as long as the nearer one takes; `far` gets a flag to look at. `None`
/// where namespaces are not permitted, or there is no `ip` to build the pair with.
pub(crate) fn between<T: Send>(
    near: impl FnOnce() -> T + Send,
    far: impl FnOnce(&std::sync::atomic::AtomicBool) + Send,
) -> Option<T> {
    let stop = std::sync::atomic::AtomicBool::new(false);
    let (tell, told) = channel();
    let (go, going) = channel();
    std::thread::scope(|scope| {
        let stop = &stop;
        scope.spawn(move || {
            let entered = unshare(CloneFlags::CLONE_NEWNET).is_ok();
            let _ = tell.send(entered.then(nix::unistd::gettid));
            if going.recv().is_ok() {
                ip(&format!("address add {FAR}/24 dev far"));
                ip(&format!("address add {FAR6}/64 dev far nodad"));
                ip("link set far up");
                far(stop);
            }
        });
        let here = scope.spawn(move || {
            let far = told.recv().ok()??;
            unshare(CloneFlags::CLONE_NEWNET).ok()?;
            if !ip(&format!("link add near type veth peer name far netns {far}")) {
                return None;
            }
            ip(&format!("address add {NEAR}/24 dev near"));
            ip(&format!("address add {NEAR6}/64 dev near nodad"));
            ip("link set near up");
            ip("link set lo up");
            go.send(()).ok()?;
            Some(near())
        });
        let result = here.join();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs `ip` in the calling thread's namespace.
fn ip(arguments: &str) -> bool {
    Command::new("ip").args(arguments.split(' ')).status().is_ok_and(|status| status.success())
}
