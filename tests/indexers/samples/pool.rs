//! A pool of workers.
//!
//! Nothing else.

use std::{collections::HashMap, sync::Arc};
use crate::job::*;

/// How many at most.
pub const LIMIT: usize = 8;
static mut COUNTER: u32 = 0;

/// A pool.
///
/// It works.
#[derive(Debug, Clone)]
pub struct Pool<T: Job> {
    workers: Vec<T>,
}

pub enum State { Idle, Busy(u32) }
type Jobs = HashMap<String, Arc<dyn Job>>;
pub union Bits { a: u32, b: f32 }

/** Work to do. */
pub trait Job: Send {
    const NAME: &'static str;
    /// Runs it.
    fn run(&self) -> Result<(), Error>;
    fn name(&self) -> &str { Self::NAME }
}

impl<T: Job> Pool<T> {
    pub const EMPTY: usize = 0;

    /// Makes a pool.
    #[must_use]
    pub async fn new(size: usize) -> Self
    where
        T: Default,
    {
        fn check(size: usize) {}
        check(size);
        println!("{}", size);
        Self { workers: Vec::<T>::with_capacity(size).into_iter().collect() }
    }
}

impl<T: Job> Drop for Pool<T> {
    fn drop(&mut self) { self.workers.clear(); }
}

macro_rules! job {
    ($name:ident) => { $name.run() };
}

extern "C" {
    fn getpid() -> i32;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works() { assert_eq!(super::pool::size(), 1); }
}
