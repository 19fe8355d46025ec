// SPDX-License-Identifier: MIT
// overflow: a thread overflows its stack; the handler of the Rust runtime reports it and aborts.
use std::thread;

fn deeper(n: u64) -> u64 {
    let room = [n; 512];
    if n == u64::MAX {
        return 0;
    }
    // std::hint::black_box is newer than the rustc of some distributions.
    deeper(n + 1) + unsafe { std::ptr::read_volatile(&room[(n % 512) as usize]) }
}

fn main() {
    println!("going down");
    let t = thread::Builder::new().name("diver".into()).spawn(|| deeper(0));
    println!("{}", t.unwrap().join().unwrap());
}
