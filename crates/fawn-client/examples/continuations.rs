//! Many gets under way at once of which no front-end remembers anything: what is to be done with each answer travels with the
//! request and comes back with the value.
//!
//! ```sh
//! cargo run --release -p fawn-client --example continuations -- 127.0.0.1:7400
//! ```
//!
//! takes the managers' addresses, with commas. It puts a few prices, and then adds up an order whose lines are the
//! continuations: number of the line, and how many pieces of what it is.

use fawn_client::{Client, Options};
use std::error::Error;
use tokio::task::JoinSet;

/// What is ordered, and how many of it.
const ORDER: [(&str, u32); 4] = [("apple", 12), ("pear", 3), ("quince", 7), ("medlar", 1)];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let managers = std::env::args().nth(1).ok_or("usage: continuations MANAGERS")?;
    let client = Client::connect(Options::new(managers.split(','))).await?;
    for (price, (fruit, _)) in (30_u32..).step_by(5).zip(ORDER) {
        client.put(format!("price/{fruit}"), &price.to_string()).await?;
    }
    let mut asked = JoinSet::new();
    for (line, (fruit, pieces)) in (1_u32..).zip(ORDER) {
        let client = client.clone();
        let continuation = [line.to_le_bytes(), pieces.to_le_bytes()].concat();
        asked.spawn(async move { client.get_with(format!("price/{fruit}"), continuation).await });
    }
    let mut total = 0;
    while let Some(answer) = asked.join_next().await {
        // Nothing is known of the request but what came back.
        let (price, continuation) = answer??;
        let number = |at: usize| Some(u32::from_le_bytes(continuation.get(at..at + 4)?.try_into().ok()?));
        let (Some(line), Some(pieces)) = (number(0), number(4)) else { return Err("no line of the order".into()) };
        let price = price.ok_or("there is no such price")?.bytes;
        let price: u32 = std::str::from_utf8(&price)?.parse()?;
        println!("line {line}: {pieces} at {price}");
        total += pieces * price;
    }
    println!("total {total}");
    Ok(())
}
