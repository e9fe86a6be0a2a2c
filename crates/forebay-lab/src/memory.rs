//! What the system reports about memory: the peak of this process, and what is left. Linux reports
//! it; elsewhere nothing is known.

use std::fs;
use std::path::{Path, PathBuf};

/// Forget the peak until now. Where the system refuses, the peak is that of the whole life of the
/// process.
pub(crate) fn reset_peak() {
    // 5 resets the high-water mark (proc(5), /proc/pid/clear_refs). An error leaves a peak that is
    // too high, never too low.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The peak of resident memory in MiB since the last reset; None where the system does not report
/// it.
pub(crate) fn peak_mib() -> Option<f64> {
    high_water_mib(&fs::read_to_string("/proc/self/status").ok()?)
}

/// Memory that this process may still take, in bytes: what the system can give without swapping,
/// and what is left below the limits of the control groups that the process is in. None where the
/// system does not report it.
pub fn available_bytes() -> Option<u64> {
    let system = mem_available(&fs::read_to_string("/proc/meminfo").ok()?)?;
    // a kernel without them sets no limits
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let left = left_in_groups(&groups, Path::new("/sys/fs/cgroup"));
    Some(left.map_or(system, |left| left.min(system)))
}

/// `VmHWM:     12345 kB`, where a kB is 1024 bytes.
fn high_water_mib(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}

/// `MemAvailable:   24099448 kB`, in bytes.
fn mem_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The files in which a hierarchy of control groups gives the limit, the use, and in `memory.stat`
/// the pages of files that it would give up first, which count as use.
struct Files {
    limit: &'static str,
    usage: &'static str,
    inactive: &'static str,
}

/// Admin guide of Linux, "Control Group v2", memory interface files.
const V2: Files = Files { limit: "memory.max", usage: "memory.current", inactive: "inactive_file" };
/// Admin guide of Linux, "Memory Resource Controller" of version 1; its counts of single groups
/// leave out their children.
const V1: Files = Files {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    inactive: "total_inactive_file",
};

/// The least that is left in a group of `/proc/self/cgroup`, or in one above it; None if none has a
/// limit.
fn left_in_groups(groups: &str, mount: &Path) -> Option<u64> {
    let lines = groups.lines().filter_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        match controllers {
            "" => Some((&V2, mount.to_path_buf(), path)),
            _ if controllers.split(',').any(|name| name == "memory") => {
                Some((&V1, mount.join("memory"), path))
            }
            _ => None,
        }
    });
    let left = lines.flat_map(|(files, top, path)| {
        // In a container the path may be one of the host, of which only the top is seen here.
        let group: PathBuf = top.join(path.trim_start_matches('/'));
        let levels = group.ancestors().take_while(|at| at.starts_with(&top)).map(Path::to_path_buf);
        levels.collect::<Vec<_>>().into_iter().filter_map(|at| left_in_group(&at, files))
    });
    left.min()
}

/// What is left in one group; None if it has no limit.
fn left_in_group(group: &Path, files: &Files) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    // "max" is not a number: no limit. Version 1 has a number beyond all memory instead.
    let (limit, usage) = (number(files.limit)?, number(files.usage)?);
    let stat = read("memory.stat").unwrap_or_default();
    let inactive = stat.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        (name == files.inactive).then(|| value.parse::<u64>().ok())?
    });
    Some(limit.saturating_sub(usage.saturating_sub(inactive.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_kernel_are_read() {
        assert_eq!(high_water_mib("Name:\tx\nVmHWM:\t   65536 kB\nVmRSS:\t 1 kB\n"), Some(64.0));
        assert_eq!(high_water_mib("Name:\tx\n"), None);
        let meminfo = "MemTotal:       24681992 kB\nMemAvailable:       3 kB\nBuffers: 1 kB\n";
        assert_eq!(mem_available(meminfo), Some(3 * 1024));
        assert_eq!(mem_available("MemTotal: 1 kB\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_peak_sees_what_is_touched() {
        let before = peak_mib().unwrap();
        let touched = std::hint::black_box(vec![1u8; 64 << 20]);
        assert!(peak_mib().unwrap() >= before.max(64.0));
        drop(touched);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_machine_that_runs_tests_has_memory_left() {
        assert!(available_bytes().unwrap() > 1 << 20);
    }

    fn group(at: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(at).unwrap();
        files.iter().for_each(|(name, text)| fs::write(at.join(name), text).unwrap());
    }

    #[test]
    fn the_tightest_group_counts_and_pages_of_files_are_not_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let (top, groups) = (folder.path(), "3:cpu:/other\n0::/user/run\n");
        assert_eq!(left_in_groups(groups, top), None);
        let run = [("memory.max", "max\n"), ("memory.current", "900\n")];
        group(&top.join("user/run"), &run);
        assert_eq!(left_in_groups(groups, top), None);
        let stat = "anon 700\nfile 300\ninactive_file 150\nactive_file 150\n";
        let user = [("memory.max", "1000\n"), ("memory.current", "800\n"), ("memory.stat", stat)];
        group(&top.join("user"), &user);
        assert_eq!(left_in_groups(groups, top), Some(1000 - (800 - 150)));
        group(&top.join("user/run"), &[("memory.max", "1000\n")]);
        assert_eq!(left_in_groups(groups, top), Some(100));
        // More in use than the limit, which was lowered: nothing is left.
        group(&top.join("user/run"), &[("memory.max", "800\n")]);
        assert_eq!(left_in_groups(groups, top), Some(0));
    }

    #[test]
    fn the_first_version_of_groups_is_read_where_it_lies() {
        let folder = tempfile::tempdir().unwrap();
        let (top, groups) = (folder.path(), "4:cpu,memory:/a/b\n2:cpuset:/c\n0::/\n");
        let limit = [("memory.limit_in_bytes", "500\n"), ("memory.usage_in_bytes", "200\n")];
        // The limit of a path that is not seen here, but its top is.
        group(&top.join("memory"), &limit);
        assert_eq!(left_in_groups(groups, top), Some(300));
        let stat = "inactive_file 1\ntotal_inactive_file 50\n";
        group(&top.join("memory/a"), &limit);
        group(&top.join("memory/a"), &[("memory.stat", stat)]);
        group(&top.join("memory"), &[("memory.limit_in_bytes", "9223372036854771712\n")]);
        assert_eq!(left_in_groups(groups, top), Some(350));
    }
}
