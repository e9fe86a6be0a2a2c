//! A list that almost always holds one item.

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

/// Stores one element inline; saves a cache miss.
#[derive(Debug)]
pub(super) enum InlineOne<T> {
    One(T),
    /// None, or several.
    Many(Vec<T>),
}

impl<T> Default for InlineOne<T> {
    fn default() -> InlineOne<T> {
        InlineOne::Many(Vec::new())
    }
}

impl<T> InlineOne<T> {
    pub fn push(&mut self, item: T) {
        *self = match core::mem::take(self) {
            InlineOne::Many(mut many) if !many.is_empty() => {
                many.push(item);
                InlineOne::Many(many)
            }
            InlineOne::Many(_) => InlineOne::One(item),
            InlineOne::One(first) => InlineOne::Many(Vec::from([first, item])),
        };
    }
}

impl<T> Deref for InlineOne<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            InlineOne::One(one) => core::slice::from_ref(one),
            InlineOne::Many(many) => many,
        }
    }
}
impl<T> DerefMut for InlineOne<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            InlineOne::One(one) => core::slice::from_mut(one),
            InlineOne::Many(many) => many,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_list() {
        let mut inline = InlineOne::default();
        let mut list = Vec::new();
        for item in 0..5 {
            assert_eq!(*inline, *list);
            inline.push(item);
            list.push(item);
            inline[0] = 7;
            list[0] = 7;
        }
        assert_eq!(*inline, *list);
    }
}
