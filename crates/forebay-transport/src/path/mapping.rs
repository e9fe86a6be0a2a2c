//! Which bytes of the connection's stream the bytes of a path are.

use alloc::collections::VecDeque;

/// `len` bytes from path offset `path` on are those from data offset `data` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub path: u64,
    pub data: u64,
    pub len: u64,
}

/// Mappings in path order, from SND.UNA on. Adjacent ones are one.
#[derive(Debug, Default)]
pub(crate) struct Mappings {
    runs: VecDeque<Mapping>,
}

impl Mappings {
    /// Append a run after the last.
    pub(crate) fn push(&mut self, run: Mapping) {
        if let Some(last) = self.runs.back_mut() {
            debug_assert_eq!(last.path + last.len, run.path);
            if last.data + last.len == run.data {
                last.len += run.len;
                return;
            }
        }
        self.runs.push_back(run);
    }
    /// The data offset that path offset `at` maps to, and the bytes that follow in one run.
    pub(crate) fn locate(&self, at: u64) -> Option<(u64, u64)> {
        let index = self.runs.partition_point(|r| r.path + r.len <= at);
        let run = self.runs.get(index).filter(|r| r.path <= at)?;
        let skip = at - run.path;
        Some((run.data + skip, run.len - skip))
    }
    /// The path has acknowledged everything below `una`.
    pub(crate) fn trim_below(&mut self, una: u64) {
        while self.runs.front().is_some_and(|r| r.path + r.len <= una) {
            self.runs.pop_front();
        }
    }
    /// The runs from path offset `una` on.
    pub(crate) fn from(&self, una: u64) -> impl Iterator<Item = Mapping> + '_ {
        self.runs.iter().filter(move |r| r.path + r.len > una).map(move |r| {
            let skip = una.saturating_sub(r.path);
            Mapping { path: r.path + skip, data: r.data + skip, len: r.len - skip }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn offsets_are_located_across_runs() {
        let mut m = Mappings::default();
        m.push(Mapping { path: 1, data: 0, len: 100 });
        m.push(Mapping { path: 101, data: 100, len: 50 }); // joins
        m.push(Mapping { path: 151, data: 900, len: 10 });
        assert_eq!(m.locate(1), Some((0, 150)));
        assert_eq!(m.locate(150), Some((149, 1)));
        assert_eq!(m.locate(155), Some((904, 6)));
        assert_eq!(m.locate(161), None);
        m.trim_below(151);
        assert_eq!(m.locate(150), None);
        let rest: Vec<_> = m.from(153).collect();
        assert_eq!(rest, [Mapping { path: 153, data: 902, len: 8 }]);
    }
}
