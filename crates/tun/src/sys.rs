//! The system calls that the type system cannot vouch for, each behind a function that can be
//! called with anything.
#![expect(
    unsafe_code,
    reason = "ioctls of TUN devices, fork, unshare, signal handlers, scheduling: no safe wrapper exists"
)]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::ioctl::{IntegerSetter, Setter, Updater, ioctl, opcode};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// `struct ifreq` as far as TUN devices use it: a name, and flags in a union of 24 bytes.
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
        // The last byte stays zero.
        let room = request.name.len() - 1;
        let fits = name.len() <= room && !name.bytes().any(|byte| byte == 0);
        fits.then(|| {
            request.name[..name.len()].copy_from_slice(name.as_bytes());
            request
        })
    }
}

/// Binds an open `/dev/net/tun` to a device, which is made if there is none; the kernel writes its
/// name.
pub(crate) fn tun_set_interface(file: &File, request: &mut InterfaceRequest) -> io::Result<()> {
    const SET: u32 = opcode::write::<libc::c_int>(b'T', 202);
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq` of 40 bytes, which `InterfaceRequest`
    // is laid out as.
    let operation = unsafe { Updater::<SET, InterfaceRequest>::new(request) };
    // SAFETY: the same; `request` outlives the call.
    Ok(unsafe { ioctl(file, operation) }?)
}

/// Asks which device a descriptor belongs to, and with which flags.
pub(crate) fn tun_interface(fd: impl AsFd) -> io::Result<InterfaceRequest> {
    const GET: u32 = opcode::read::<libc::c_uint>(b'T', 210);
    let mut request = InterfaceRequest { name: [0; libc::IFNAMSIZ], flags: 0, rest: [0; 22] };
    // SAFETY: TUNGETIFF writes one `struct ifreq`, as above.
    let operation = unsafe { Updater::<GET, InterfaceRequest>::new(&mut request) };
    // SAFETY: the same; `request` outlives the call.
    unsafe { ioctl(fd, operation) }?;
    Ok(request)
}

/// Says what may be left to the reader of a TUN device.
pub(crate) fn tun_set_offload(file: &File, features: u32) -> io::Result<()> {
    const SET: u32 = opcode::write::<libc::c_uint>(b'T', 208);
    // SAFETY: TUNSETOFFLOAD takes a number where others take a pointer.
    let operation = unsafe { IntegerSetter::<SET>::new_usize(features as usize) };
    // SAFETY: the same.
    Ok(unsafe { ioctl(file, operation) }?)
}

/// Says how long the header before each packet is.
pub(crate) fn tun_set_header_len(file: &File, len: libc::c_int) -> io::Result<()> {
    const SET: u32 = opcode::write::<libc::c_int>(b'T', 216);
    // SAFETY: TUNSETVNETHDRSZ reads one `int`.
    let operation = unsafe { Setter::<SET, libc::c_int>::new(len) };
    // SAFETY: the same; the number is in `operation`.
    Ok(unsafe { ioctl(file, operation) }?)
}

/// Puts the calling thread into a new network namespace.
pub(crate) fn unshare_network() -> io::Result<()> {
    // SAFETY: without `FILES` the descriptors stay shared.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?)
}

/// Puts the calling process, which has one thread, into a new user namespace and a network
/// namespace of it.
pub(crate) fn unshare_user_and_network() -> io::Result<()> {
    // SAFETY: without `FILES` the descriptors stay shared.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNET) }?)
}

/// How a thread is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scheduling {
    policy: libc::c_int,
    priority: libc::c_int,
}

impl Scheduling {
    /// Before all ordinary programs and those in real time that ask for the least; what is started
    /// is ordinary again.
    pub(crate) const HIGHEST: Self =
        Self { policy: libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, priority: 2 };

    /// That of the calling thread.
    pub(crate) fn current() -> io::Result<Self> {
        // SAFETY: `sched_param` is plain data for which all zeros is a value.
        let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
        // SAFETY: 0 is the calling thread; the kernel writes one `sched_param`.
        let (policy, result) =
            unsafe { (libc::sched_getscheduler(0), libc::sched_getparam(0, &raw mut parameters)) };
        if policy < 0 || result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { policy, priority: parameters.sched_priority })
    }

    /// Makes it that of the calling thread.
    pub(crate) fn set(self) -> io::Result<()> {
        // SAFETY: `sched_param` is plain data for which all zeros is a value.
        let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
        parameters.sched_priority = self.priority;
        // SAFETY: 0 is the calling thread; the kernel reads one `sched_param`.
        let result = unsafe { libc::sched_setscheduler(0, self.policy, &raw const parameters) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Runs `child` in a copy of this process, with its result as the exit status, and returns the
/// copy's id.
pub(crate) fn fork(child: impl FnOnce() -> i32) -> io::Result<rustix::process::Pid> {
    // SAFETY: the child has this thread alone. The C library keeps its allocator usable there, and
    // `child` is ours: it makes system calls and allocates, takes no lock that another thread
    // could have held, and never returns into the caller.
    let pid = unsafe { libc::fork() };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        return Ok(pid);
    }
    let status = child();
    // SAFETY: ends the copy without running what the original registered for its own end.
    unsafe { libc::_exit(status) }
}

/// Has `before` run in the child of `command` just before it becomes the program.
pub(crate) fn before_exec(
    command: &mut Command,
    before: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: all closures given here are in `spawn` and make system calls only: no allocation, no
    // lock.
    unsafe { command.pre_exec(before) };
}

/// Where the handler writes; −1 while there is none.
static SIGNALS_TO: AtomicI32 = AtomicI32::new(-1);

/// What was there before a handler.
pub(crate) struct Previous(libc::c_int, libc::sigaction);

/// Writes the number of the signal, and whether a process sent it, to the pipe.
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
    // allowed in a handler.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        // SI_KERNEL is what a terminal's keys give.
        let sent = u8::from((*info).si_code != libc::SI_KERNEL);
        let bytes = [u8::try_from(signal).unwrap_or(0), sent];
        libc::write(fd, bytes.as_ptr().cast(), bytes.len());
        *errno = before;
    }
}

/// Has `signals` written to the pipe `to`, two bytes each; not those that are ignored. One caller
/// at a time: `None` if there is another.
pub(crate) fn catch(signals: &[libc::c_int], to: RawFd) -> Option<io::Result<Vec<Previous>>> {
    SIGNALS_TO.compare_exchange(-1, to, Ordering::SeqCst, Ordering::SeqCst).ok()?;
    let mut previous = Vec::new();
    for &signal in signals {
        // SAFETY: `sigaction` is plain data for which all zeros is a value; the handler is
        // async-signal-safe.
        let result = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            let mut before: libc::sigaction = std::mem::zeroed();
            let result = libc::sigaction(signal, &raw const action, &raw mut before);
            previous.push(Previous(signal, before));
            if result == 0 && before.sa_sigaction == libc::SIG_IGN {
                // As `nohup` leaves it: it stays so, for the programs that are started too.
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

/// Puts back what was there before [`catch`].
pub(crate) fn release(previous: &[Previous]) {
    for Previous(signal, action) in previous {
        // SAFETY: the action is one that the kernel gave out.
        unsafe { libc::sigaction(*signal, &raw const *action, std::ptr::null_mut()) };
    }
    SIGNALS_TO.store(-1, Ordering::SeqCst);
}

/// Gives pages of the heap that are free back to the system.
pub(crate) fn trim_heap() {
    // SAFETY: it may be called at any time, by any thread; it only looks at memory that has been
    // freed.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}
