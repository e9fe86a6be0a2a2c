//! Buffers for the bytes of packets that are carried as they are: those of packets that have ended
//! are used again. What is kept is bounded; what is in use is bounded by the queues that hold it.

use alloc::sync::Arc;
use alloc::vec::Vec;

/// Buffers are kept in so many classes of lengths, and so many in each: a driver on real interfaces
/// takes that many packets at once.
const CLASSES: usize = 64;
const MAX_OF_CLASS: usize = 256;
/// Longer buffers are not kept: those of jumbo frames are.
const MAX_KEPT_BYTES: usize = 9216;
/// Bytes of all that are kept.
const MAX_BYTES: usize = 4 << 20;

/// How often buffers were needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BodyCounts {
    /// Made anew.
    pub made: u64,
    /// Used again.
    pub reused: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    /// By class; none until the first is kept.
    spare: Vec<Vec<Arc<[u8]>>>,
    spare_bytes: usize,
    pub counts: BodyCounts,
}

impl Bodies {
    /// A buffer with these bytes.
    pub fn fill(&mut self, bytes: &[u8]) -> Arc<[u8]> {
        if let Some(class) = self.spare.get_mut(bytes.len() % CLASSES)
            && let Some(at) = class.iter().rposition(|spare| spare.len() == bytes.len())
        {
            let mut body = class.swap_remove(at);
            self.spare_bytes -= body.len();
            if let Some(room) = Arc::get_mut(&mut body) {
                room.copy_from_slice(bytes);
                self.counts.reused += 1;
                return body;
            }
        }
        self.counts.made += 1;
        bytes.into()
    }
    /// A packet with this body has ended. It is kept if no other packet has it.
    #[cold]
    pub fn keep(&mut self, mut body: Arc<[u8]>) {
        if body.len() > MAX_KEPT_BYTES || Arc::get_mut(&mut body).is_none() {
            return;
        }
        if self.spare.is_empty() {
            self.spare.resize_with(CLASSES, Vec::new);
        }
        // What is kept may be of lengths that no longer come.
        if self.spare_bytes + body.len() > MAX_BYTES {
            self.spare.iter_mut().for_each(Vec::clear);
            self.spare_bytes = 0;
        }
        let class = &mut self.spare[body.len() % CLASSES];
        if class.len() == MAX_OF_CLASS {
            self.spare_bytes -= class.swap_remove(0).len();
        }
        self.spare_bytes += body.len();
        class.push(body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn buffers_are_used_again_where_they_fit() {
        let mut bodies = Bodies::default();
        let first = bodies.fill(b"one");
        let place = first.as_ptr();
        bodies.keep(first);
        let other = bodies.fill(b"four");
        let again = bodies.fill(b"two");
        assert_eq!((&*again, again.as_ptr(), &*other), (&b"two"[..], place, &b"four"[..]));
        assert_eq!(bodies.counts, BodyCounts { made: 2, reused: 1 });
    }

    #[test]
    fn what_is_kept_is_bounded_and_no_one_elses() {
        let mut bodies = Bodies::default();
        let shared = bodies.fill(b"shared");
        bodies.keep(Arc::clone(&shared));
        let new = bodies.fill(b"SHARED");
        assert_eq!((&*shared, &*new), (&b"shared"[..], &b"SHARED"[..]));
        bodies.keep(vec![0; MAX_KEPT_BYTES + 1].into());
        // Each length thrice; and so many of one class that they are too many.
        let of_each = (0..65 * CLASSES).cycle().take(3 * 65 * CLASSES);
        let of_one = (0..2 * MAX_OF_CLASS).map(|number| number % 8 * CLASSES);
        for lens in [of_each.collect::<Vec<_>>(), of_one.collect()] {
            for each in lens.chunks(2 * MAX_OF_CLASS) {
                // All at once.
                let made: Vec<_> = each.iter().map(|&len| bodies.fill(&vec![7; len])).collect();
                made.into_iter().for_each(|body| bodies.keep(body));
                let kept: Vec<usize> = bodies.spare.iter().map(Vec::len).collect();
                assert!(kept.iter().all(|&kept| kept <= MAX_OF_CLASS), "{kept:?}");
                let bytes: usize = bodies.spare.iter().flatten().map(|body| body.len()).sum();
                assert_eq!(bytes, bodies.spare_bytes);
                assert!(bytes <= MAX_BYTES, "{bytes}");
            }
        }
        assert_eq!(bodies.spare[0].len(), MAX_OF_CLASS);
    }
}
