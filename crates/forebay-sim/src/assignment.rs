//! Which thread runs which partitions in the next window.

/// Every thread computes the same assignment from the same input, so no communication is needed.
pub(crate) struct Assignment {
    /// Thread of each partition.
    thread: Vec<usize>,
    threads: usize,
    /// Expected events of each partition.
    expected: Vec<u64>,
    /// Partitions of the thread that asked.
    mine: Vec<usize>,
    order: Vec<usize>,
    candidate: Vec<usize>,
}

/// A new assignment must be better by this many percent. Else each partition stays where it is in
/// the cache.
const WORTH_PERCENT: u64 = 5;

impl Assignment {
    /// Assign each partition to one of the threads.
    pub fn new(parts: usize, threads: usize) -> Assignment {
        assert!(threads > 0);
        let thread: Vec<usize> = (0..parts).map(|part| part % threads).collect();
        let (expected, mine, order) = (Vec::new(), Vec::new(), (0..parts).collect());
        Assignment { candidate: thread.clone(), thread, threads, expected, mine, order }
    }

    /// Assign partitions for the next window, given the expected events of each. Gives the
    /// partitions of thread `me`. The longest job goes first, each to the thread with the least
    /// load (Graham 1969, doi:10.1137/0117039).
    pub fn settle(&mut self, expected: impl Iterator<Item = u64>, me: usize) -> &[usize] {
        self.expected.clear();
        // A partition costs something even if nothing happens.
        self.expected.extend(expected.map(|events| events + 1));
        let Assignment { expected, order, candidate, .. } = self;
        order.sort_unstable_by_key(|&part| (std::cmp::Reverse(expected[part]), part));
        let mut loads = vec![0; self.threads];
        for &part in &*order {
            let least = (0..loads.len()).min_by_key(|&t| loads[t]).expect("there are threads");
            candidate[part] = least;
            loads[least] += expected[part];
        }
        let better = loads.into_iter().max().expect("there are threads");
        if self.longest() > better + better * WORTH_PERCENT / 100 {
            std::mem::swap(&mut self.thread, &mut self.candidate);
        }
        self.mine.clear();
        self.mine.extend((0..self.thread.len()).filter(|&part| self.thread[part] == me));
        &self.mine
    }
    /// The thread that runs a partition under the current assignment.
    pub fn thread_of(&self, part: usize) -> usize {
        self.thread[part]
    }
    /// The largest load of a thread under the current assignment.
    fn longest(&self) -> u64 {
        let mut loads = vec![0; self.threads];
        for (&thread, &events) in self.thread.iter().zip(&self.expected) {
            loads[thread] += events;
        }
        loads.into_iter().max().expect("there are threads")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settle(assignment: &mut Assignment, expected: &[u64]) -> Vec<Vec<usize>> {
        let threads = assignment.threads;
        // Each thread has its own; here one is asked for all.
        (0..threads).map(|me| assignment.settle(expected.iter().copied(), me).to_vec()).collect()
    }

    #[test]
    fn the_longest_first_each_to_who_has_least() {
        let mut assignment = Assignment::new(5, 2);
        // By hand, each counted with one more: 91 to the first; 81 and 71 to the second (152); 21
        // and 11 to the first (123).
        assert_eq!(settle(&mut assignment, &[90, 10, 80, 20, 70]), [vec![0, 1, 3], vec![2, 4]]);
    }

    #[test]
    fn who_has_a_partition_keeps_it_unless_it_matters() {
        let mut assignment = Assignment::new(4, 2);
        let first = [vec![0, 2], vec![1, 3]];
        assert_eq!(settle(&mut assignment, &[100, 100, 100, 100]), first);
        assert_eq!(settle(&mut assignment, &[104, 100, 100, 99]), first, "3 % are not worth it");
        // 301 before; 201 to the first, 101 and 100 to the second, then 11 to the smaller number of
        // two equals.
        assert_eq!(settle(&mut assignment, &[200, 100, 99, 10]), [vec![0, 3], vec![1, 2]]);
    }

    #[test]
    fn every_partition_has_one_thread() {
        let mut assignments = [0, 1, 2].map(|_| Assignment::new(7, 3));
        let mut state = 1u64;
        for _ in 0..100 {
            let expected: Vec<u64> = (0..7)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    state >> 50
                })
                .collect();
            let mut all: Vec<usize> = Vec::new();
            for (me, assignment) in assignments.iter_mut().enumerate() {
                all.extend(assignment.settle(expected.iter().copied(), me));
            }
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3, 4, 5, 6]);
        }
    }
}
