//! A list that almost always holds one item.

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

/// A list whose only item, while there is one, lies in the list itself: who looks at it need not look further into memory.
#[derive(Debug)]
pub(crate) enum Few<T> {
    One(T),
    /// None, or several.
    Many(Vec<T>),
}

impl<T> Default for Few<T> {
    fn default() -> Few<T> {
        Few::Many(Vec::new())
    }
}

impl<T> Few<T> {
    pub fn push(&mut self, item: T) {
        *self = match core::mem::take(self) {
            Few::Many(mut many) if !many.is_empty() => {
                many.push(item);
                Few::Many(many)
            }
            Few::Many(_) => Few::One(item),
            Few::One(first) => Few::Many(Vec::from([first, item])),
        };
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Few::One(one) => core::slice::from_ref(one),
            Few::Many(many) => many,
        }
    }
}
impl<T> DerefMut for Few<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Few::One(one) => core::slice::from_mut(one),
            Few::Many(many) => many,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_list() {
        let mut few = Few::default();
        let mut list = Vec::new();
        for item in 0..5 {
            assert_eq!(*few, *list);
            few.push(item);
            list.push(item);
            few[0] = 7;
            list[0] = 7;
        }
        assert_eq!(*few, *list);
    }
}
