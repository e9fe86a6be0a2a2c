//! A process of its own, in namespaces of its own: when it ends, or the one that began it does,
//! nothing of it is left.
//!
//! The namespaces are those of users (unless the rights are there already), processes and network.
//! The child is process 1 of its process namespace, so what it has started dies with it; and it is
//! killed when its parent dies, even by SIGKILL. The network namespace has no name and goes with
//! the last process and socket in it.

use crate::os;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getgid, getuid, pipe, setpgid};
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;

/// Why no isolated process can be started.
#[derive(Debug, thiserror::Error)]
pub enum IsolateError {
    /// Threads cannot change their user or process namespace.
    #[error("this process has {0} threads; namespaces are entered before the first is started")]
    HasThreads(usize),
    /// The kernel or its settings forbid namespaces.
    #[error(
        "no namespaces of users, processes and network ({errno}): run as root, or {}",
        grant_user_namespaces()
    )]
    Namespaces {
        /// What the kernel answered.
        errno: Errno,
    },
    /// The user of the new namespace cannot be set.
    #[error("{path} cannot be written ({source}): run as root")]
    Map {
        /// The file.
        path: &'static str,
        /// Why.
        source: io::Error,
    },
    /// A call failed for another reason.
    #[error("{call}: {errno}")]
    Call {
        /// Its name.
        call: &'static str,
        /// What the kernel answered.
        errno: Errno,
    },
}

fn call(call: &'static str) -> impl Fn(Errno) -> IsolateError {
    move |errno| IsolateError::Call { call, errno }
}

/// What to type where user namespaces are refused, from the settings that are found.
pub fn grant_user_namespaces() -> &'static str {
    let setting = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_string());
    let is = |path, value: &str| setting(path).as_deref() == Some(value);
    if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        "allow user namespaces: `sudo sysctl -w kernel.unprivileged_userns_clone=1`"
    } else if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        "allow user namespaces: `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`"
    } else if is("/proc/sys/user/max_user_namespaces", "0") {
        "allow user namespaces: `sudo sysctl -w user.max_user_namespaces=10000`"
    } else {
        "in a container, start it with `--security-opt seccomp=unconfined` or `--privileged`"
    }
}

/// Run `work` in an isolated child and return its exit code: 101 if it panicked, 128 + N if
/// signal N killed it. SIGINT, SIGTERM and SIGHUP are passed on to the child.
///
/// The calling process must have one thread. It is in other namespaces afterwards, so it should
/// only report and end.
pub fn isolate(work: impl FnOnce() -> u8) -> Result<u8, IsolateError> {
    let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads != 1 {
        return Err(IsolateError::HasThreads(threads));
    }
    unshare_namespaces()?;
    let watched: SigSet =
        [Signal::SIGCHLD, Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
    let before = watched.thread_swap_mask(SigmaskHow::SIG_BLOCK).map_err(call("sigmask"))?;
    let (dies_with_parent, parent_lives) = pipe().map_err(call("pipe"))?;
    // What is buffered would be written by both.
    let _ = (io::stdout().flush(), io::stderr().flush());
    match os::fork().map_err(call("fork"))? {
        Some(child) => {
            let code = wait(child, &watched);
            drop(parent_lives);
            code
        }
        None => {
            drop(parent_lives);
            let prepared = prepare(&dies_with_parent, &before);
            let run = || match prepared {
                Ok(()) => work(),
                Err(_) => 101,
            };
            let code = catch_unwind(AssertUnwindSafe(run)).unwrap_or(101);
            let _ = (io::stdout().flush(), io::stderr().flush());
            process::exit(i32::from(code))
        }
    }
}

/// Into new namespaces: with the rights of this process, else with those of a user namespace.
fn unshare_namespaces() -> Result<(), IsolateError> {
    let inner = CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNET;
    match unshare(inner) {
        Err(Errno::EPERM) => {}
        result => return result.map_err(|errno| IsolateError::Namespaces { errno }),
    }
    let (user, group) = (getuid(), getgid());
    unshare(CloneFlags::CLONE_NEWUSER | inner)
        .map_err(|errno| IsolateError::Namespaces { errno })?;
    // The same user inside, so that files belong to whom they should. Groups cannot be changed by
    // a process that could drop one by it (user_namespaces(7)).
    let maps = [
        ("/proc/self/setgroups", "deny".to_string()),
        ("/proc/self/uid_map", format!("{user} {user} 1")),
        ("/proc/self/gid_map", format!("{group} {group} 1")),
    ];
    maps.into_iter().try_for_each(|(path, text)| {
        fs::write(path, text).map_err(|source| IsolateError::Map { path, source })
    })
}

/// In the child: die with the parent, and have a process group of its own, so that a terminal
/// signals only the parent, which passes it on once.
fn prepare(dies_with_parent: &OwnedFd, mask: &SigSet) -> nix::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // The parent may have died before: then it has closed its end of the pipe.
    let mut ends = [PollFd::new(dies_with_parent.as_fd(), PollFlags::POLLIN)];
    if poll(&mut ends, PollTimeout::ZERO)? > 0 {
        process::exit(101);
    }
    setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
    mask.thread_set_mask()
}

/// In the parent: wait for the child, and pass signals on.
fn wait(child: Pid, watched: &SigSet) -> Result<u8, IsolateError> {
    loop {
        let signal = watched.wait().map_err(call("sigwait"))?;
        if signal != Signal::SIGCHLD {
            // The child may have ended meanwhile, or not be the leader of its group yet.
            let _ = killpg(child, signal).or_else(|_| kill(child, signal));
            continue;
        }
        match waitpid(child, Some(WaitPidFlag::WNOHANG)).map_err(call("waitpid"))? {
            WaitStatus::Exited(_, code) => return Ok(code as u8),
            WaitStatus::Signaled(_, signal, _) => return Ok(128 + signal as u8),
            _ => {}
        }
    }
}

/// Give up all capabilities of the calling thread, for good: what it executes gains none either.
/// Sockets that are open stay usable.
pub fn seal() -> nix::Result<()> {
    prctl::set_no_new_privs()?;
    os::drop_capabilities()
}
