use std::io;

macro_rules! point {
    ($(#[$meta:meta])* $vis:vis $name:ident, $($field:ident: $kind:ty),*) => {
        /// A point.
        $(#[$meta])* $vis struct $name { $($field: $kind),* }

        impl $name {
            /// Its distance from the origin.
            $vis fn distance<$($field),*>(&self) -> f64 { length(self) }
        }
    };
    (@maximum $first:expr) => { $first };
}

macro_rules! wrapped {
    ($($item:item)*) => { $($item)* };
}

cfg_if::cfg_if! {
    if #[cfg(unix)] {
        /// Opens a file.
        pub fn open(path: &str) -> io::Result<u8> { helper(path) }

        pub struct Handle { fd: i32 }

        impl Handle {
            pub fn close(self) { drop(self.fd) }
        }
    } else if #[cfg(windows)] {
        mod windows;
        pub use windows::*;
    } else {
        pub const LIMIT: usize = 3;
    }
}

wrapped! {
    #![cfg(feature = "rt")]

    pub trait Reader { fn poll(&self) -> u8; }

    wrapped! { pub fn inner() {} }
}

lazy_static! {
    static ref PATTERN: Regex = Regex::new("x").unwrap();
}

bitflags! {
    pub struct Flags: u32 { const A = 1; }
}

mod part {
    impl Handle {
        wrapped! {
            pub fn new() -> Self { Self { fd: 0 } }
        }
    }
}

fn user() {
    println!("fn nothing() {{}}");
    let all = vec![1];
}
