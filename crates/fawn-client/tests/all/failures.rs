//! What goes wrong: nodes that go, maps that are out of date, nobody who answers.

use crate::cluster::{Cluster, LONG, run};
use fawn_client::{Client, ConnectError, Error, Options, blocking};
use fawn_kv::ids::ManagerId;
use fawn_kv::link::{Control, Greeted, Party, frame};
use fawn_kv::wire::version::VersionRange;
use std::io::Write;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Counters show whether a write that was tried again was carried out twice, or not at all though it was acknowledged.
#[test]
fn while_a_node_goes_and_comes_back_every_write_is_carried_out_once() {
    let mut cluster = Cluster::start(3);
    let client = blocking::Client::connect(cluster.options()).unwrap();
    let keys: Vec<String> = (0..8).map(|n| format!("counter{n}")).collect();
    for key in &keys {
        client.put(key, "0").unwrap();
    }
    let stop = AtomicBool::new(false);
    let count = |key: &str| {
        let mut last = 0;
        while !stop.load(Ordering::SeqCst) {
            let number = client.increment(key, 1).unwrap().unwrap();
            assert_eq!(number, last + 1, "{key}");
            last = number;
        }
        last
    };
    let counted: Vec<u64> = std::thread::scope(|scope| {
        let count = &count;
        let threads: Vec<_> = keys.iter().map(|key| scope.spawn(move || count(key))).collect();
        std::thread::sleep(Duration::from_millis(300));
        cluster.stop_member("b");
        std::thread::sleep(Duration::from_millis(300));
        cluster.start_member("b");
        cluster.settles(3);
        std::thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::SeqCst);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (key, counted) in keys.iter().zip(counted) {
        assert!(counted > 0);
        assert_eq!(client.get(key).unwrap().unwrap().bytes, counted.to_string().as_bytes());
    }
}

#[test]
fn a_map_that_is_out_of_date_leads_to_the_same_keys_and_is_mended() {
    let mut cluster = Cluster::start(2);
    let client = blocking::Client::connect(cluster.options()).unwrap();
    for n in 0..50 {
        client.put(format!("key{n}"), &n.to_string()).unwrap();
    }
    // Meanwhile the client asks nothing, and hears nothing of who owns what.
    cluster.start_member("c");
    let begun = Instant::now();
    while cluster.status().wedges.iter().filter(|wedge| wedge.owner.is_some_and(|owner| owner.front.0 == 3)).count()
        < 50
    {
        assert!(begun.elapsed() < LONG, "the newcomer owns nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
    cluster.stop_member("a");
    for n in 0..50 {
        assert_eq!(client.get(format!("key{n}")).unwrap().unwrap().bytes, n.to_string().as_bytes());
        client.put(format!("key{n}"), "new").unwrap();
    }
}

#[test]
fn gets_and_puts_go_on_while_the_manager_is_away() {
    // A hundred puts take a second or two where syncs are slow.
    let mut cluster = Cluster::with_leases(2, Duration::from_secs(10));
    let client = blocking::Client::connect(cluster.options()).unwrap();
    client.put("k", "before").unwrap();
    drop(cluster.manager.take());
    for n in 0..100 {
        client.put(format!("key{n}"), "v").unwrap();
    }
    assert_eq!(client.get("k").unwrap().unwrap().bytes, b"before");
    cluster.start_manager(2);
    cluster.start_member("c");
    cluster.stop_member("a");
    assert_eq!(client.get("key7").unwrap().unwrap().bytes, b"v", "it finds the manager again");
}

/// Answers every call as a manager that knows of none that leads, and says no more; where.
fn lost_manager() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut calls = Vec::new();
        for call in listener.incoming() {
            let mut call = call.unwrap();
            let (mut bytes, from) = (Vec::new(), Party::Manager(ManagerId(99)));
            let greeted = Greeted { version: VersionRange::OWN.newest, cluster: None, from, you: Party::Client(1) };
            frame::put_control(&mut bytes, &Control::Greeted(greeted));
            frame::put_control(&mut bytes, &Control::Leads { term: 1, leader: None });
            call.write_all(&bytes).unwrap();
            calls.push(call);
        }
    });
    address
}

#[test]
fn a_manager_that_knows_of_none_that_leads_is_left_for_another() {
    let cluster = Cluster::start(1);
    let addresses = vec![lost_manager(), cluster.address.clone()];
    let client = blocking::Client::connect(Options { addresses, ..cluster.options() }).unwrap();
    client.put("k", "v").unwrap();
}

#[test]
fn what_nobody_answers_ends_in_time_and_says_whether_anything_may_be_done() {
    let mut cluster = Cluster::start(1);
    run(async {
        let timeout = Duration::from_millis(700);
        let client = Client::connect(Options { timeout, ..cluster.options() }).await.unwrap();
        client.put("k", "v").await.unwrap();
        cluster.stop_member("a");
        let begun = Instant::now();
        // The first may have been sent before it is noticed that nobody is there any more.
        let first = client.put("k", "w").await.unwrap_err();
        assert!(matches!(first, Error::Unknown | Error::Unreached), "{first}");
        let put = client.put("k", "x").await.unwrap_err();
        assert!(put == Error::Unreached && put.is_certain(), "every call was refused: {put}");
        assert_eq!(client.get("k").await, Err(Error::Unreached));
        assert!(begun.elapsed() >= 3 * timeout);
    });
}

#[test]
fn who_says_that_an_operation_may_take_for_ever_is_served() {
    let cluster = Cluster::start(1);
    run(async {
        let (timeout, connect_timeout) = (Duration::MAX, Duration::MAX);
        let client = Client::connect(Options { timeout, connect_timeout, ..cluster.options() }).await.unwrap();
        client.put("k", "v").await.unwrap();
        assert_eq!(client.get("k").await.unwrap().unwrap().bytes, b"v");
    });
}

#[test]
fn connecting_ends_in_time_and_says_why() {
    run(async {
        let connect = |address: String| async move {
            let connect_timeout = Duration::from_millis(600);
            Client::connect(Options { connect_timeout, ..Options::new([address]) }).await.unwrap_err()
        };
        // One that takes calls and never says anything, and one that takes none.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap().to_string();
        assert!(matches!(connect(address.clone()).await, ConnectError::NoAnswer { .. }));
        drop(silent);
        let refused = connect(address.clone()).await.to_string();
        assert!(refused.contains(&address) && refused.contains("refused"), "{refused}");
        let nobody = Client::connect(Options::new([""; 0])).await.unwrap_err();
        assert!(matches!(nobody, ConnectError::Nobody));
    });
}
