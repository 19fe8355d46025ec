// SPDX-License-Identifier: MIT
// rust_threads: named std::thread threads, one of which panics.
use std::thread;

fn burn(seed: u64) -> u64 {
    (0..8_000_000u64).fold(seed, |x, i| x.wrapping_mul(6364136223846793005).wrapping_add(i))
}

fn main() {
    let handles: Vec<_> = (0..4)
        .map(|i| {
            thread::Builder::new()
                .name(format!("rust-{i}"))
                .spawn(move || {
                    if i == 3 {
                        panic!("on purpose");
                    }
                    burn(i)
                })
                .unwrap()
        })
        .collect();
    for h in handles {
        match h.join() {
            Ok(v) => println!("{v:x}"),
            Err(_) => println!("panicked"),
        }
    }
    std::process::exit(3);
}
