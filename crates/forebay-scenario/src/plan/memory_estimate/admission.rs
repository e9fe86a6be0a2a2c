//! How many runs fit side by side.

use super::{MemoryEstimate, Outline};
use std::fmt;

/// The run needs more memory than is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotEnoughMemory {
    /// Memory of one run.
    pub estimate: MemoryEstimate,
    /// What it needs with the results of all runs, which are kept until the last one is over, in
    /// bytes.
    pub with_results_bytes: u64,
    /// Available memory, in bytes.
    pub available_bytes: u64,
    /// True if no more is known than the sizes of the scenario: it needs that, and more.
    pub at_least: bool,
}

impl std::error::Error for NotEnoughMemory {}

impl fmt::Display for NotEnoughMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotEnoughMemory { estimate, with_results_bytes, available_bytes, at_least } = self;
        let (name, bytes) = estimate.most();
        let available = Size(*available_bytes);
        let all = Size(estimate.bytes().max(*with_results_bytes));
        let about = if *at_least { "at least" } else { "about" };
        write!(f, "{about} {all} of memory are needed, and {available} are available; ")?;
        if estimate.bytes() > *available_bytes {
            write!(f, "most of it for {name}: {}", Size(bytes))
        } else {
            write!(f, "{} of it for the results of all runs", {
                Size(with_results_bytes.saturating_sub(estimate.bytes()))
            })
        }
    }
}

/// Refuse what needs more than is available; None: unknown.
pub fn check(
    estimate: MemoryEstimate,
    available_bytes: Option<u64>,
) -> Result<(), NotEnoughMemory> {
    admit(1, estimate, 1, available_bytes).map(|_| ())
}

/// Refuse a scenario of which the sizes alone need more than is available.
pub fn check_outline(
    outline: &Outline,
    available_bytes: Option<u64>,
) -> Result<(), NotEnoughMemory> {
    let checked = check(MemoryEstimate::at_least(outline), available_bytes);
    checked.map_err(|refused| NotEnoughMemory { at_least: true, ..refused })
}

/// How many runs go side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// That many.
    pub jobs: usize,
    /// Why they are fewer than were wanted, if they are.
    pub fewer: Option<String>,
    /// What is available, in bytes, where that is known.
    pub available_bytes: Option<u64>,
}

/// How many of `runs` runs, of which the dearest needs `need`, go side by side if `wanted` are
/// wanted: no more than fit into the memory that is available with the results of all. Where no one
/// knows what is available, as many as are wanted.
pub fn admit(
    wanted: usize,
    estimate: MemoryEstimate,
    runs: usize,
    available_bytes: Option<u64>,
) -> Result<Admission, NotEnoughMemory> {
    assert!(wanted > 0, "runs need a job");
    let wanted = wanted.min(runs.max(1));
    let Some(available_bytes) = available_bytes else {
        return Ok(Admission { jobs: wanted, fewer: None, available_bytes });
    };
    let others = estimate.kept_bytes().saturating_mul(runs.saturating_sub(1) as u64);
    let with_results_bytes = estimate.bytes().saturating_add(others);
    if with_results_bytes > available_bytes {
        return Err(NotEnoughMemory {
            estimate,
            with_results_bytes,
            available_bytes,
            at_least: false,
        });
    }
    // The program is there once.
    let more_bytes = (estimate.bytes() - estimate.process_bytes.min(estimate.bytes())).max(1);
    let more = (available_bytes - with_results_bytes) / more_bytes;
    let jobs = wanted.min(usize::try_from(more).unwrap_or(usize::MAX).saturating_add(1));
    let fewer = (jobs < wanted).then(|| {
        let (each, available) = (Size(estimate.bytes()), Size(available_bytes));
        let mostly = estimate.mostly();
        format!(
            "jobs lowered from {wanted} to {jobs}: a run needs about {each} of memory, most of it \
             for {mostly}, and {available} are available"
        )
    });
    Ok(Admission { jobs, fewer, available_bytes: Some(available_bytes) })
}

/// Bytes as people read them.
pub(crate) struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = self.0 as f64 / 1048576.0;
        match mib {
            _ if mib >= 10.0 * 1024.0 => write!(f, "{:.0} GiB", mib / 1024.0),
            _ if mib >= 1024.0 => write!(f, "{:.1} GiB", mib / 1024.0),
            _ if mib >= 10.0 => write!(f, "{mib:.0} MiB"),
            _ => write!(f, "{mib:.1} MiB"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// 100 MiB in all, 10 of them the program; 40 000 bytes of results.
    fn estimate() -> MemoryEstimate {
        let (process_bytes, connections_bytes, routes_bytes) = (10 * MIB, 70 * MIB, 20 * MIB);
        MemoryEstimate {
            flows: 100,
            process_bytes,
            connections_bytes,
            routes_bytes,
            ..MemoryEstimate::default()
        }
    }

    #[test]
    fn as_many_go_side_by_side_as_fit() {
        let jobs = |wanted, available_mib: u64| {
            admit(wanted, estimate(), 8, Some(available_mib * MIB)).map(|admission| admission.jobs)
        };
        // One run, 7 x 40 000 bytes of other results, and 90 MiB for each further one.
        assert_eq!((jobs(1, 101), jobs(4, 101), jobs(4, 190)), (Ok(1), Ok(1), Ok(1)));
        assert_eq!((jobs(4, 191), jobs(4, 371), jobs(4, 10_000)), (Ok(2), Ok(4), Ok(4)));
        // More jobs than runs are none.
        assert_eq!(jobs(1_000, 1_000_000), Ok(8));
        let all = Admission { jobs: 8, fewer: None, available_bytes: None };
        assert_eq!(admit(1_000, estimate(), 8, None), Ok(all));
    }

    #[test]
    fn the_note_says_from_where_to_where_and_why() {
        let fewer = |wanted, mib: u64| admit(wanted, estimate(), 8, Some(mib * MIB)).unwrap().fewer;
        assert_eq!(fewer(4, 371), None);
        let text = "jobs lowered from 4 to 2: a run needs about 100 MiB of memory, most of it for \
                    connections, and 200 MiB are available";
        assert_eq!(fewer(4, 200).as_deref(), Some(text));
        // From what can be: of a thousand jobs, eight would have had a run.
        assert!(fewer(1_000, 200).unwrap().starts_with("jobs lowered from 8 to 2"));
    }

    #[test]
    fn what_fits_not_even_once_is_refused() {
        let says =
            |runs, mib: u64| admit(4, estimate(), runs, Some(mib * MIB)).unwrap_err().to_string();
        let text = "about 100 MiB of memory are needed, and 99 MiB are available; most of it for \
                    connections: 70 MiB";
        assert_eq!(says(8, 99), text);
        assert_eq!(says(8, 0), text.replace("99 MiB", "0.0 MiB"));
        let text = "about 481 MiB of memory are needed, and 200 MiB are available; 381 MiB of it \
                    for the results of all runs";
        assert_eq!(says(10_000, 200), text);
        assert!(check(estimate(), Some(99 * MIB)).is_err());
        assert!(check(estimate(), Some(100 * MIB)).is_ok() && check(estimate(), None).is_ok());
    }

    #[test]
    fn sizes_have_two_or_three_digits() {
        let texts =
            [0, MIB / 2, 99 * MIB / 10, 123 * MIB, 1 << 30, 23 << 30].map(|n| Size(n).to_string());
        assert_eq!(texts, ["0.0 MiB", "0.5 MiB", "9.9 MiB", "123 MiB", "1.0 GiB", "23 GiB"]);
    }
}
