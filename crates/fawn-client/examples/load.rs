//! Puts or gets of keys as fast as a number of workers can, each with so many in flight: to see what a cluster does for
//! programs that ask it by this library. Writes one line of JSON.
//!
//! ```sh
//! cargo run --release -p fawn-client --example load -- 127.0.0.1:7400 get 32 16 5
//! ```
//!
//! takes the managers' addresses (with commas), `put` or `get`, workers, requests of one in flight, and seconds. Keys are those
//! that `put` writes, 200,000 of them, with values of 256 bytes; a get that finds nothing ends the run.

use fawn_client::{Client, Options};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const KEYS: u64 = 200_000;
const VALUE_BYTES: usize = 256;

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [managers, what, workers, depth, seconds] = &arguments[..] else {
        return Err("usage: load MANAGERS put|get WORKERS DEPTH SECONDS".into());
    };
    let (workers, depth, seconds): (u64, u64, u64) = (workers.parse()?, depth.parse()?, seconds.parse()?);
    let puts = match what.as_str() {
        "put" => true,
        "get" => false,
        other => return Err(format!("{other} is neither put nor get").into()),
    };
    let (stop, count, wait_us) = (Arc::new(AtomicBool::new(false)), Arc::default(), Arc::default());
    let began = Instant::now();
    let mut running = Vec::new();
    for worker in 0..workers {
        let client = Arc::new(Client::connect(Options::new(managers.split(','))).await?);
        for lane in 0..depth {
            let (client, stop) = (Arc::clone(&client), Arc::clone(&stop));
            let (count, wait_us): (Arc<AtomicU64>, Arc<AtomicU64>) = (Arc::clone(&count), Arc::clone(&wait_us));
            running.push(tokio::spawn(async move {
                // Puts go through all keys, gets take any.
                let (mut next, lanes) = (worker * depth + lane, workers * depth);
                let mut random = (worker * depth + lane + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                while !stop.load(Relaxed) {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    let number = if puts { next } else { random };
                    next += lanes;
                    let (key, asked) = (format!("key{:017}", number % KEYS), Instant::now());
                    if puts {
                        client.put(&key, &[b'v'; VALUE_BYTES]).await?;
                    } else if client.get(&key).await?.is_none() {
                        return Err(format!("{key} is not there: put first, for long enough").into());
                    }
                    count.fetch_add(1, Relaxed);
                    wait_us.fetch_add(asked.elapsed().as_micros() as u64, Relaxed);
                }
                Ok::<(), Failure>(())
            }));
        }
    }
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    stop.store(true, Relaxed);
    for task in running {
        task.await??;
    }
    let (count, took) = (count.load(Relaxed), began.elapsed().as_secs_f64());
    let mean_us = wait_us.load(Relaxed) as f64 / count.max(1) as f64;
    println!(
        "{{\"operations\":{count},\"seconds\":{took:.3},\"per_second\":{:.0},\"mean_us\":{mean_us:.0}}}",
        count as f64 / took
    );
    Ok(())
}
