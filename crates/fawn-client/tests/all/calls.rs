//! Every call, once each way that it can end.

use crate::cluster::{Cluster, run};
use fawn_client::{Batch, BatchOutcome, Error, Item, Options, Removal, Swap, What, blocking};
use fawn_kv::range::entry::Kept;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

#[test]
fn every_call_says_what_came_of_it() {
    let cluster = Cluster::start(2);
    run(async {
        let client = cluster.client().await;
        assert_eq!(client.get("k").await.unwrap(), None);
        assert_eq!(client.replace("k", "v").await.unwrap(), None);
        assert_eq!(client.append("k", "v").await.unwrap(), None);
        assert_eq!(client.cas("k", "v", 7).await.unwrap(), Swap::NotFound);
        assert_eq!(client.increment("k", 1).await.unwrap(), None);
        assert!(!client.delete("k").await.unwrap() && !client.touch("k", None).await.unwrap());

        let first = client.put("k", Item::new("one").flags(7)).await.unwrap();
        let got = client.get("k").await.unwrap().unwrap();
        assert_eq!((&got.bytes[..], got.flags, got.cas, got.expiry), (&b"one"[..], 7, first, None));
        assert_eq!(client.add("k", "other").await.unwrap(), None);
        let Swap::Stored(second) = client.cas("k", "two", first).await.unwrap() else { panic!("it is that version") };
        assert_eq!(client.cas("k", "three", first).await.unwrap(), Swap::Changed);
        assert!(second > first);
        client.append("k", ">").await.unwrap().unwrap();
        client.prepend("k", "<").await.unwrap().unwrap();
        assert_eq!(client.get("k").await.unwrap().unwrap().bytes, b"<two>");
        assert_eq!(client.increment("k", 1).await, Err(Error::NotANumber));
        client.replace("k", "41").await.unwrap().unwrap();
        assert_eq!(client.increment("k", 2).await.unwrap(), Some(43));
        assert_eq!(client.decrement("k", 50).await.unwrap(), Some(0));
        assert!(client.touch("k", Some(Duration::from_secs(1000))).await.unwrap());
        assert!(client.get("k").await.unwrap().unwrap().expiry.is_some());
        assert!(client.delete("k").await.unwrap());
        client.put("k", Item::new("gone").expires_at(1)).await.unwrap();
        assert_eq!(client.get("k").await.unwrap(), None, "an expiry that is over deletes");
    });
}

#[test]
fn a_value_far_above_the_limit_is_refused_and_its_neighbours_are_stored() {
    let cluster = Cluster::start(2);
    run(async {
        let client = cluster.client().await;
        let long = vec![7; 20 << 20];
        assert_eq!(client.put("long", &long[..]).await, Err(Error::TooLarge));
        let mut batch = Batch::new();
        for at in 0..20 {
            batch = batch.put(format!("before{at}"), "v");
        }
        batch = batch.put("long", &long[..]);
        for at in 0..20 {
            batch = batch.put(format!("after{at}"), "v");
        }
        let done = client.run(batch).await;
        for (at, done) in done.iter().enumerate() {
            assert_eq!(done.as_ref().err(), (at == 20).then_some(&Error::TooLarge), "{at}");
        }
        assert_eq!(client.get("long").await.unwrap(), None);
        assert!(client.get("after19").await.unwrap().is_some());
    });
}

#[test]
fn a_write_that_no_frame_can_carry_is_refused_before_it_is_sent() {
    let cluster = Cluster::start(1);
    let client = blocking::Client::connect(cluster.options()).unwrap();
    let value = vec![7; fawn_client::MOST_WRITE_BYTES];
    let began = Instant::now();
    for put in [client.put("k", &value), client.append("k", &value).map(|_| 0)] {
        let Err(Error::Oversize(bytes)) = put else { panic!("no frame is that long: {put:?}") };
        assert!(
            (value.len() + 2..value.len() + 64).contains(&bytes),
            "key, value and what is to be done with it: {bytes}"
        );
        let sentence = Error::Oversize(bytes).to_string();
        assert!(sentence.contains("at most 142606080 bytes") && sentence.contains(&bytes.to_string()), "{sentence}");
    }
    assert!(began.elapsed() < cluster.options().timeout, "nobody is asked");
    assert!(client.put("k", "v").is_ok(), "the connection goes on");
}

#[test]
fn a_get_with_a_continuation_brings_it_back_with_what_is_there() {
    let cluster = Cluster::start(2);
    let client = blocking::Client::connect(cluster.options()).unwrap();
    for key in ["a", "b", "c", "d"] {
        client.put(key, key).unwrap();
        let (value, continuation) = client.get_with(key, format!("after {key}")).unwrap();
        assert_eq!((value.unwrap().bytes, continuation), (key.into(), format!("after {key}").into_bytes()));
    }
    let most = vec![7; fawn_client::MOST_CONTINUATION_BYTES];
    assert_eq!(client.get_with("nothing", most.clone()), Ok((None, most.clone())));
    let long = [&most[..], &[7]].concat();
    assert_eq!(client.get_with("a", long.clone()), Err(Error::Continuation(long.len())));
}

#[test]
fn what_has_changed_is_not_deleted_by_the_cas_of_an_older_version() {
    let cluster = Cluster::start(2);
    let client = blocking::Client::connect(cluster.options()).unwrap();
    assert_eq!(client.delete_cas("k", 7).unwrap(), Removal::NotFound);
    let first = client.put("k", "one").unwrap();
    let second = client.put("k", "two").unwrap();
    assert_eq!(client.delete_cas("k", first).unwrap(), Removal::Changed);
    assert_eq!(client.get("k").unwrap().unwrap().bytes, b"two");
    assert_eq!(client.delete_cas("k", second).unwrap(), Removal::Deleted);
    assert_eq!(client.get("k").unwrap(), None);
}

#[test]
fn a_flush_leaves_nothing_of_what_was_there_and_all_that_is_put_after_it() {
    let cluster = Cluster::start(2);
    let client = blocking::Client::connect(cluster.options()).unwrap();
    for n in 0..100 {
        client.put(format!("key{n}"), "v").unwrap();
    }
    client.flush_all().unwrap();
    let all = || (0..100).map(|n| format!("key{n}"));
    assert!(client.get_many(all()).unwrap().iter().all(Option::is_none));
    client.put("key7", "new").unwrap();
    // Another flush is another request.
    let other = blocking::Client::connect(cluster.options()).unwrap();
    assert_eq!(other.get("key7").unwrap().unwrap().bytes, b"new");
    other.flush_all().unwrap();
    assert_eq!(client.get("key7").unwrap(), None);
}

#[test]
fn what_is_empty_is_there_and_what_cannot_be_a_key_or_a_value_is_refused() {
    let cluster = Cluster::start(1);
    run(async {
        let client = cluster.client().await;
        client.put("empty", "").await.unwrap();
        assert_eq!(client.get("empty").await.unwrap().unwrap().bytes, b"");
        assert_eq!(client.get("nothing").await.unwrap(), None);
        assert_eq!(client.put("", "v").await, Err(Error::Key(0)));
        assert_eq!(client.get(vec![b'k'; 65_536]).await, Err(Error::Key(65_536)));
        let long = vec![b'k'; 65_535];
        client.put(&long, "v").await.unwrap();
        assert_eq!(client.get(&long).await.unwrap().unwrap().bytes, b"v");
    });
}

#[test]
fn batches_are_carried_out_side_by_side_within_what_is_allowed_at_a_time() {
    let cluster = Cluster::start(3);
    run(async {
        let options = Options { in_flight: 16, in_flight_bytes: 4000, ..cluster.options() };
        let client = fawn_client::Client::connect(options).await.unwrap();
        let value = vec![b'v'; 1000];
        let puts = (0..500).fold(Batch::new(), |batch, n| batch.put(format!("key{n}"), &value));
        let done = client.run(puts).await;
        assert!(done.len() == 500 && done.iter().all(|done| matches!(done, Ok(BatchOutcome::Put(_)))), "{done:?}");
        let got = client.get_many((0..501).map(|n| format!("key{n}"))).await.unwrap();
        assert!(got[..500].iter().all(|got| got.as_ref().is_some_and(|got| got.bytes == value)));
        assert_eq!(got[500], None);
        let mixed = Batch::new().delete("key0").delete("none").get("key1").put("", "v");
        let done = client.run(mixed).await;
        assert_eq!((&done[0], &done[1]), (&Ok(BatchOutcome::Deleted(true)), &Ok(BatchOutcome::Deleted(false))));
        assert!(matches!(&done[2], Ok(BatchOutcome::Got(Some(_)))) && done[3] == Err(Error::Key(0)));
    });
}

#[test]
fn a_blocking_client_is_shared_by_threads_and_found_by_a_members_address() {
    let cluster = Cluster::start(2);
    let options = Options { addresses: vec![cluster.address_of("b")], ..cluster.options() };
    let client = blocking::Client::connect(options).unwrap();
    client.put("counter", "0").unwrap();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let client = client.clone();
            std::thread::spawn(move || {
                for _ in 0..25 {
                    client.increment("counter", 1).unwrap().unwrap();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(client.get("counter").unwrap().unwrap().bytes, b"100");
    let done = client.run(Batch::new().put("a", "1").get("b"));
    assert!(matches!(done[..], [Ok(BatchOutcome::Put(_)), Ok(BatchOutcome::Got(None))]), "{done:?}");
    assert_eq!(client.get_many(["a", "b"]).unwrap()[1], None);
    assert!(client.add("a", "2").unwrap().is_none() && client.delete("a").unwrap());
}

#[test]
fn a_dump_has_all_that_there_is_once_and_goes_on_from_its_bookmarks() {
    let cluster = Cluster::start(2);
    let client = blocking::Client::connect(cluster.options()).unwrap();
    for n in 0..400 {
        client.put(format!("key{n}"), Item::new(&n.to_string()).flags(n)).unwrap();
    }
    for n in 0..50 {
        assert!(client.delete(format!("key{n}")).unwrap());
    }
    let (mut came, mut there) = (BTreeMap::<Vec<u8>, Kept>::new(), BTreeMap::new());
    let (mut bookmark, mut stretches) = (None, 0);
    // Each dump is left after one event.
    loop {
        let mut dump = client.dump(bookmark.clone());
        let Some(event) = dump.next_event().unwrap() else { break };
        bookmark = Some(event.bookmark);
        match event.what {
            What::Part(kept) | What::Records(kept) => {
                came.extend(kept.into_iter().map(|kept| (kept.key.clone(), kept)));
            }
            What::Anew(_) => panic!("nothing has gone wrong"),
            What::Over(cut) => {
                stretches += 1;
                for kept in came.values().filter(|kept| cut.shows(kept, &dump.place(&kept.key))) {
                    let version = kept.version.clone().unwrap();
                    assert!(cut.keys.contains(&dump.place(&kept.key)) && kept.position <= cut.at);
                    assert!(there.insert(kept.key.clone(), (version.value, version.flags)).is_none(), "it was there");
                }
                came.clear();
            }
        }
    }
    let expected = (50..400_u32).map(|n| (format!("key{n}").into_bytes(), (n.to_string().into_bytes(), n)));
    assert_eq!(there, expected.collect());
    assert!(stretches > 2, "there is a range for each place on the ring");
    assert!(bookmark.unwrap().is_over());
}
