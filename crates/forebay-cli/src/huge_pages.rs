//! Huge pages for the heap: maps of thousands of links touch more pages than the processor
//! remembers addresses of. And pages that stay: each of many small runs would else ask the system
//! for its memory anew.
//!
//! Where Linux gives huge pages to those who ask (`madvise`), the allocator of glibc asks if a
//! tunable says so, and it reads its tunables once, before `main`. So the process replaces itself
//! by the same program with the tunable set: number, parent, arguments, open files and terminal
//! stay what they are. Nothing but speed depends on it.

/// `0` leaves the pages as they are.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const VARIABLE: &str = "FOREBAY_HUGE_PAGES";

/// Begin again with huge pages, once, where that is possible and may gain something. Returns where
/// it is not.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn ask_for_huge() {
    use std::env;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    let modes = std::fs::read_to_string(MODES).unwrap_or_default(); // no such file: no such pages
    let tunables = env::var_os(TUNABLES).unwrap_or_default();
    let Some(tunables) = with_huge(&modes, tunables.to_str(), env::var_os(VARIABLE).as_deref())
    else {
        return;
    };
    let Ok(program) = env::current_exe() else { return };
    let mut args = env::args_os();
    let mut again = Command::new(program);
    if let Some(name) = args.next() {
        again.arg0(name);
    }
    // It comes back only if it failed: then the pages stay small, and the results are the same.
    let _ = again.args(args).env(TUNABLES, tunables).exec();
}

/// Other systems have other allocators, or give huge pages unasked.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn ask_for_huge() {}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
const TUNABLES: &str = "GLIBC_TUNABLES";
/// Admin guide of Linux, "Transparent Hugepage Support": the mode that holds is in brackets.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MODES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// The tunables to begin again with; None if there is nothing to gain, or the tunable says
/// something already, as it does after the process was replaced.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn with_huge(
    modes: &str,
    tunables: Option<&str>,
    wish: Option<&std::ffi::OsStr>,
) -> Option<String> {
    let refused = wish.is_some_and(|wish| wish == "0");
    let tunables = tunables?;
    if refused || !modes.contains("[madvise]") || tunables.contains("glibc.malloc.hugetlb") {
        return None;
    }
    // Of two settings of one tunable the later one counts.
    let separator = if tunables.is_empty() { "" } else { ":" };
    Some(format!("{SETTINGS}{separator}{tunables}"))
}

/// Since glibc 2.35; older ones do not know the first, and go on. Freed memory goes back to the
/// system where more than 64 MiB are free, or in pieces of 4 MiB or more.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const SETTINGS: &str = "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=4194304:\
                        glibc.malloc.trim_threshold=67108864";

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn asked_once_and_only_where_asking_counts() {
        let asks = "always [madvise] never\n";
        assert_eq!(with_huge(asks, Some(""), None).as_deref(), Some(SETTINGS));
        assert_eq!(with_huge(asks, Some(""), Some("1".as_ref())).as_deref(), Some(SETTINGS));
        let both = format!("{SETTINGS}:glibc.malloc.check=1");
        assert_eq!(with_huge(asks, Some("glibc.malloc.check=1"), None), Some(both.clone()));
        assert_eq!(with_huge(asks, Some(&both), None), None);
        assert_eq!(with_huge(asks, Some("glibc.malloc.hugetlb=0"), None), None);
        assert_eq!(with_huge(asks, None, None), None); // not text: not ours to add to
        assert_eq!(with_huge(asks, Some(""), Some("0".as_ref())), None);
        for modes in ["[always] madvise never\n", "always madvise [never]\n", ""] {
            assert_eq!(with_huge(modes, Some(""), None), None);
        }
    }
}
