//! The peak of resident memory of this process, where Linux tells.

use std::fs;

/// Forget the peak until now. Where the system refuses, the peak is that of the whole life of the process.
pub(super) fn reset_peak() {
    // 5 resets the high-water mark (proc(5), /proc/pid/clear_refs). An error leaves a peak that is too high, never too low.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The peak in MiB since the last reset; None where the system does not tell.
pub(super) fn peak_mib() -> Option<f64> {
    high_water_mib(&fs::read_to_string("/proc/self/status").ok()?)
}

/// Memory that the system can give without swapping, in MiB; None where it does not tell.
pub(super) fn available_mib() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib / 1024)
}

/// `VmHWM:     12345 kB`, where a kB is 1024 bytes.
fn high_water_mib(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_kernel_is_read() {
        assert_eq!(high_water_mib("Name:\tx\nVmHWM:\t   65536 kB\nVmRSS:\t 1 kB\n"), Some(64.0));
        assert_eq!(high_water_mib("Name:\tx\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_peak_sees_what_is_touched() {
        let before = peak_mib().unwrap();
        let touched = std::hint::black_box(vec![1u8; 64 << 20]);
        assert!(peak_mib().unwrap() >= before.max(64.0));
        drop(touched);
    }
}
