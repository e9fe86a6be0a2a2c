//! The paths of a connection: almost always one.

use crate::path::Path;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

/// The first path is stored inline: its input needs no further memory access.
pub(crate) struct Paths {
    pub first: Path,
    more: Vec<Path>,
}

impl Paths {
    /// Panics if there is none.
    pub(crate) fn new(mut paths: impl Iterator<Item = Path>) -> Paths {
        let first = paths.next().expect("a connection needs a path");
        Paths { first, more: paths.collect() }
    }
    #[inline]
    pub(crate) fn len(&self) -> usize {
        1 + self.more.len()
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Path> {
        core::iter::once(&self.first).chain(&self.more)
    }
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Path> {
        core::iter::once(&mut self.first).chain(&mut self.more)
    }
}

impl Index<usize> for Paths {
    type Output = Path;
    #[inline]
    fn index(&self, index: usize) -> &Path {
        if index == 0 { &self.first } else { &self.more[index - 1] }
    }
}
impl IndexMut<usize> for Paths {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut Path {
        if index == 0 { &mut self.first } else { &mut self.more[index - 1] }
    }
}
