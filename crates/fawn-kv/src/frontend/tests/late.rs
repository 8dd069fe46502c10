//! When a request is sent again of which nothing is heard.

use super::*;

#[test]
fn what_is_not_answered_is_tried_again_ever_later_and_at_once_where_more_is_known() {
    let mut bench = Bench::serving();
    let Limits { retry_us, .. } = Limits::default();
    bench.set("k", "v");
    let mut tried = Vec::new();
    for tick in 1..=16 {
        if !all_asked(&bench.tick(retry_us)).is_empty() {
            tried.push(tick);
        }
    }
    assert_eq!(tried, [1, 3, 7, 11, 15], "a slow link has not to carry it each time");
    let chains = chains(Epoch(2), 5);
    let told = bench.hear(Message::View { since: 0, number: 2, chains, wedges: Vec::new() });
    assert_eq!(all_asked(&told).len(), 1, "the chain may have lost it");
}
