//! A tour of a client: `cargo run -p fawn-client --example tour -- HOST:PORT`, of a manager, or a member of the cluster.
//!
//! Of a cluster with certificates: `-- HOST:PORT DIR NAME`, where DIR is the directory of certificates and NAME a client in it.

use fawn_client::{Batch, BatchOutcome, Client, Item, Material, Options, Swap};
use std::path::Path;
use std::time::{Duration, Instant};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().ok_or("where is the cluster? HOST:PORT")?;
    let certificates = arguments.next().zip(arguments.next());
    let certificates = certificates.map(|(dir, name)| Material::in_dir(Path::new(&dir), &name));
    let client = Client::connect(Options { certificates, ..Options::new([address]) }).await?;

    // One key: put, get, and put only over what was seen.
    client.put("greeting", Item::new("hello, deer").flags(7)).await?;
    let seen = client.get("greeting").await?.ok_or("it was just put, and is gone")?;
    println!("greeting: {} (flags {})", String::from_utf8_lossy(&seen.bytes), seen.flags);
    match client.cas("greeting", "hello again", seen.cas).await? {
        Swap::Stored(_) => println!("greeting is another now"),
        Swap::Changed | Swap::NotFound => println!("somebody else was quicker"),
    }
    // Nothing is something else than an empty value.
    client.put("empty", Item::new("").expires_in(Duration::from_mins(1))).await?;
    println!("empty: {:?}", client.get("empty").await?.map(|value| value.bytes));
    println!("nothing: {:?}", client.get("nothing").await?);

    // Many at once.
    let begun = Instant::now();
    let puts = (0..10_000).fold(Batch::new(), |batch, n| batch.put(format!("key{n}"), &format!("value {n}")));
    let done = client.run(puts).await;
    let put = done.iter().filter(|done| matches!(done, Ok(BatchOutcome::Put(_)))).count();
    println!("{put} of {} were put in {:?}", done.len(), begun.elapsed());
    for error in done.iter().filter_map(|done| done.as_ref().err()).take(1) {
        println!("{error}; is it certain that nothing was done? {}", error.is_certain());
    }
    let begun = Instant::now();
    let found = client.get_many((0..10_000).map(|n| format!("key{n}"))).await?;
    println!("{} were found in {:?}", found.iter().flatten().count(), begun.elapsed());
    Ok(())
}
