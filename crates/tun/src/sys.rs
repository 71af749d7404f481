//! Unsafe system calls, each behind a safe function.
#![expect(
    unsafe_code,
    reason = "ioctls of TUN devices, fork, unshare, signal handlers, scheduling: no safe wrapper exists"
)]

mod datagrams;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::ioctl::{IntegerSetter, Setter, Updater, ioctl, opcode};
use rustix::thread::{UnshareFlags, unshare_unsafe};

pub(crate) use datagrams::{ControlMessage, receive, set_socket_option};

/// `struct ifreq` as used for TUN devices: a name, and flags in a union of 24 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct InterfaceRequest {
    pub(crate) name: [u8; libc::IFNAMSIZ],
    pub(crate) flags: u16,
    rest: [u8; 22],
}

impl InterfaceRequest {
    pub(crate) fn new(name: &str, flags: u16) -> Option<Self> {
        let mut request = Self { name: [0; libc::IFNAMSIZ], flags, rest: [0; 22] };
        // The last byte remains zero.
        let room = request.name.len() - 1;
        let fits = name.len() <= room && !name.bytes().any(|byte| byte == 0);
        fits.then(|| {
            request.name[..name.len()].copy_from_slice(name.as_bytes());
            request
        })
    }
}

/// Attaches an open `/dev/net/tun` to a device, which is created if necessary. The kernel writes
/// its name.
pub(crate) fn tun_set_interface(file: &File, request: &mut InterfaceRequest) -> io::Result<()> {
    const SET: u32 = opcode::write::<libc::c_int>(b'T', 202);
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq` of 40 bytes, and `InterfaceRequest` has
    // this layout.
    let operation = unsafe { Updater::<SET, InterfaceRequest>::new(request) };
    // SAFETY: as above; `request` outlives the call.
    Ok(unsafe { ioctl(file, operation) }?)
}

/// Reads name and flags of the device that a descriptor belongs to.
pub(crate) fn tun_interface(fd: impl AsFd) -> io::Result<InterfaceRequest> {
    const GET: u32 = opcode::read::<libc::c_uint>(b'T', 210);
    let mut request = InterfaceRequest { name: [0; libc::IFNAMSIZ], flags: 0, rest: [0; 22] };
    // SAFETY: TUNGETIFF writes one `struct ifreq`, as above.
    let operation = unsafe { Updater::<GET, InterfaceRequest>::new(&mut request) };
    // SAFETY: as above; `request` outlives the call.
    unsafe { ioctl(fd, operation) }?;
    Ok(request)
}

/// Sets the offload features of the reader of a TUN device.
pub(crate) fn tun_set_offload(file: &File, features: u32) -> io::Result<()> {
    const SET: u32 = opcode::write::<libc::c_uint>(b'T', 208);
    // SAFETY: TUNSETOFFLOAD takes an integer in place of a pointer.
    let operation = unsafe { IntegerSetter::<SET>::new_usize(features as usize) };
    // SAFETY: as above.
    Ok(unsafe { ioctl(file, operation) }?)
}

/// Sets the length of the header before each packet.
pub(crate) fn tun_set_header_len(file: &File, len: libc::c_int) -> io::Result<()> {
    const SET: u32 = opcode::write::<libc::c_int>(b'T', 216);
    // SAFETY: TUNSETVNETHDRSZ reads one `int`.
    let operation = unsafe { Setter::<SET, libc::c_int>::new(len) };
    // SAFETY: as above; the number is in `operation`.
    Ok(unsafe { ioctl(file, operation) }?)
}

/// Moves the calling thread into a new network namespace.
pub(crate) fn unshare_network() -> io::Result<()> {
    // SAFETY: without `FILES` the descriptors stay shared.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?)
}

/// Moves the calling process, which must have one thread, into a new mount namespace.
pub(crate) fn unshare_mounts() -> io::Result<()> {
    // SAFETY: without `FILES` the descriptors stay shared.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?)
}

/// Moves the calling process, which must have one thread, into a new user namespace with a new
/// network namespace.
pub(crate) fn unshare_user_and_network() -> io::Result<()> {
    // SAFETY: without `FILES` the descriptors stay shared.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNET) }?)
}

/// Scheduling policy and priority of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scheduling {
    policy: libc::c_int,
    priority: libc::c_int,
}

impl Scheduling {
    /// Priority above ordinary programs and above real-time programs of the lowest priority. It is
    /// reset on fork.
    pub(crate) const HIGHEST: Self =
        Self { policy: libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, priority: 2 };

    /// The scheduling of the calling thread.
    pub(crate) fn current() -> io::Result<Self> {
        // SAFETY: `sched_param` is plain data, and all zeros is a valid value.
        let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
        // SAFETY: 0 is the calling thread; the kernel writes one `sched_param`.
        let (policy, result) =
            unsafe { (libc::sched_getscheduler(0), libc::sched_getparam(0, &raw mut parameters)) };
        if policy < 0 || result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { policy, priority: parameters.sched_priority })
    }

    /// Applies the scheduling to the calling thread.
    pub(crate) fn set(self) -> io::Result<()> {
        // SAFETY: `sched_param` is plain data, and all zeros is a valid value.
        let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
        parameters.sched_priority = self.priority;
        // SAFETY: 0 is the calling thread; the kernel reads one `sched_param`.
        let result = unsafe { libc::sched_setscheduler(0, self.policy, &raw const parameters) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Runs `child` in a forked process, with its result as exit status. Returns the process id.
pub(crate) fn fork(child: impl FnOnce() -> i32) -> io::Result<rustix::process::Pid> {
    // SAFETY: the child has only this thread. The C library keeps its allocator usable there.
    // `child` belongs to this crate: it makes system calls and allocates, takes no lock that
    // another thread could hold, and never returns into the caller.
    let pid = unsafe { libc::fork() };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        return Ok(pid);
    }
    let status = child();
    // SAFETY: ends the child without running the exit handlers of the parent.
    unsafe { libc::_exit(status) }
}

/// Closes all descriptors except `kept`, and opens the standard ones on `/dev/null`. For a process
/// that continues after its parent: it must not keep the parent's files open.
pub(crate) fn close_other_files(kept: &[RawFd]) {
    let Ok(nothing) = File::options().read(true).write(true).open("/dev/null") else { return };
    let mut kept = kept.to_vec();
    kept.sort_unstable();
    for standard in 0..3 {
        // SAFETY: replaces a descriptor that no value of this process uses: it only has the forked
        // copies of its parent's values, and does not return to their owners.
        unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&nothing), standard) };
    }
    let mut first = 3;
    for end in kept.into_iter().map(Some).chain([None]) {
        let (first_u, last) = (
            libc::c_uint::try_from(first).unwrap_or_default(),
            end.map_or(libc::c_uint::MAX, |end| libc::c_uint::try_from(end - 1).unwrap_or(3)),
        );
        if end.is_none_or(|end| end > first) {
            // SAFETY: as above.
            unsafe { libc::syscall(libc::SYS_close_range, first_u, last, 0) };
        }
        first = end.map_or(first, |end| first.max(end + 1));
    }
    // It was closed above.
    std::mem::forget(nothing);
}

/// Blocks all signals of the calling thread that can be blocked.
pub(crate) fn block_signals() {
    // SAFETY: `sigset_t` is plain data; both functions only access the set.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
}

/// Runs `before` in the child of `command` just before `exec`.
pub(crate) fn before_exec(
    command: &mut Command,
    before: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: all closures passed here are in `spawn` and make system calls only: no allocation, no
    // lock.
    unsafe { command.pre_exec(before) };
}

/// Descriptor that the handler writes to; −1 if there is none.
static SIGNALS_TO: AtomicI32 = AtomicI32::new(-1);

/// The previous action of a signal.
pub(crate) struct Previous(libc::c_int, libc::sigaction);

/// Writes the signal number, and whether a process sent it, to the socket.
extern "C" fn handler(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    let fd = SIGNALS_TO.load(Ordering::Relaxed);
    if fd < 0 {
        return;
    }
    // SAFETY: with SA_SIGINFO the kernel passes a valid `siginfo_t`; `write` and `errno` are
    // async-signal-safe.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        // `SI_KERNEL` marks signals from terminal keys.
        let sent = u8::from((*info).si_code != libc::SI_KERNEL);
        let bytes = [u8::try_from(signal).unwrap_or(0), sent];
        libc::write(fd, bytes.as_ptr().cast(), bytes.len());
        *errno = before;
    }
}

/// Installs a handler that writes `signals` to `to`, two bytes each. Ignored signals stay ignored.
/// `None` if a handler is installed already.
pub(crate) fn catch(signals: &[libc::c_int], to: RawFd) -> Option<io::Result<Vec<Previous>>> {
    SIGNALS_TO.compare_exchange(-1, to, Ordering::SeqCst, Ordering::SeqCst).ok()?;
    let mut previous = Vec::new();
    for &signal in signals {
        // SAFETY: `sigaction` is plain data, and all zeros is a valid value; the handler is
        // async-signal-safe.
        let result = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            let mut before: libc::sigaction = std::mem::zeroed();
            let result = libc::sigaction(signal, &raw const action, &raw mut before);
            previous.push(Previous(signal, before));
            if result == 0 && before.sa_sigaction == libc::SIG_IGN {
                // The signal is ignored, as under `nohup`. It stays ignored, also for started
                // programs.
                libc::sigaction(signal, &raw const before, std::ptr::null_mut())
            } else {
                result
            }
        };
        if result < 0 {
            let error = io::Error::last_os_error();
            previous.pop();
            release(&previous);
            return Some(Err(error));
        }
    }
    Some(Ok(previous))
}

/// Restores the actions from before [`catch`].
pub(crate) fn release(previous: &[Previous]) {
    for Previous(signal, action) in previous {
        // SAFETY: the kernel returned this action earlier.
        unsafe { libc::sigaction(*signal, &raw const *action, std::ptr::null_mut()) };
    }
    SIGNALS_TO.store(-1, Ordering::SeqCst);
}

/// Returns free pages of the heap to the system.
pub(crate) fn trim_heap() {
    // SAFETY: any thread may call it at any time; it only accesses freed memory.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The kernel's count of timer interrupts, in units of 10 ms; `None` if it cannot be read.
pub(crate) fn clock_ticks() -> Option<u64> {
    // SAFETY: Linux accepts a null pointer, and then writes no times.
    let count = unsafe { libc::times(std::ptr::null_mut()) };
    u64::try_from(count).ok()
}
