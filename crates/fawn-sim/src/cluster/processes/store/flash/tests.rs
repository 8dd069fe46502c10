use super::*;
use fawn_kv::ids::Epoch;
use fawn_kv::range::entry::Version;

const RANGE: RangeId = RangeId(2);
const CLUSTER: ClusterId = ClusterId([3; 16]);
const DUE: u32 = BEGIN_UNIX + 100;
const PLAIN: Plain = Plain { store: 1, stores: 3, keys: Interval::ALL };

/// Ten keys, of which two were flushed, one is deleted and two were written twice.
fn writes() -> Vec<PlainWrite> {
    let put = |key, value| PlainWrite::Put { key, value, expiry: 0 };
    let mut writes: Vec<_> = (0..2).map(|key| put(key, 7)).collect();
    writes.push(PlainWrite::Flush { due: 0 });
    writes.extend((2..10).map(|key| put(key, 100 + key)));
    writes.extend([put(4, 200), put(5, 201), PlainWrite::Delete { key: 6 }]);
    writes.push(PlainWrite::Flush { due: DUE });
    writes
}

fn found(node: &mut FlashNode, key: u64) -> Option<Kept> {
    match node.lookup(RANGE, &written(key, 0).0, 1) {
        Lookup::Known(kept) => kept,
        Lookup::Later => match node.take_reads().pop() {
            Some((1, FlashRead::Key(kept))) => kept,
            other => panic!("{:?}", other.map(|(ticket, _)| ticket)),
        },
    }
}

/// Whether all is as it was, but for the cas, which is the one that was told.
fn look(node: &mut FlashNode, recovered: &RecoveredRange, told: &[u64]) {
    let end = recovered.meta.committed;
    assert_eq!((end.epoch, recovered.held, recovered.entries.len()), (Epoch(0), Some(Attempt(1)), 0));
    assert!(told.iter().all(|cas| *cas < end.seq.0), "{told:?} {end:?}");
    assert_eq!(node.forgotten(RANGE), end.seq, "a copy is whole");
    let alive = &recovered.meta.alive;
    for key in 0..10 {
        let kept = found(node, key).unwrap();
        assert!(kept.position < end);
        let place = SECRET.position(&kept.key);
        let newest = writes().iter().rposition(|write| matches!(write, PlainWrite::Put { key: of, .. } if *of == key));
        let Some(Version { value, client_cas, .. }) = &kept.version else {
            assert_eq!(key, 6, "one is deleted");
            continue;
        };
        assert_ne!(key, 6);
        let PlainWrite::Put { value: put, .. } = writes()[newest.unwrap()] else { panic!("it is a put") };
        assert_eq!((value, *client_cas), (&written(key, put).1, Some(told[newest.unwrap()])));
        let shows = |time| alive.shows_at(&place, kept.version.as_ref().unwrap(), kept.position.seq, time);
        assert_eq!((shows(1), shows(DUE)), (key >= 2, false), "key {key}, by the flushes");
    }
}

#[test]
fn a_store_is_adopted_as_a_whole_or_not_at_all_wherever_the_power_fails() {
    let mut seen = [0; 2];
    for seed in 0..400 {
        let (mut node, told) = FlashNode::of_plain(Random::new(seed), PLAIN, &writes());
        let mut random = Random::new(seed ^ 1);
        for _ in 0..random.below(12) {
            node.work();
        }
        assert_eq!((RangeStore::plain(&node), node.cluster()), (Some(PLAIN), None));
        let Some(adopted) = node.adopt(CLUSTER, RANGE) else { continue };
        look(&mut node, &adopted, &told);
        assert_eq!((RangeStore::plain(&node), node.cluster(), node.adopt(CLUSTER, RANGE)), (None, Some(CLUSTER), None));
        for _ in 0..random.below(30) {
            if random.chance(1, 3) {
                node.write_batch();
            }
            node.work();
        }
        let is_durable = node.store.durable() >= node.written();
        for _ in 0..2 {
            let (mut crashed, ranges) = node.crash(random.fork());
            let recovered = match (RangeStore::plain(&crashed), ranges.get(&RANGE)) {
                (None, Some(recovered)) => recovered.clone(),
                (Some(PLAIN), None) if !is_durable => {
                    seen[1] += 1;
                    crashed.adopt(CLUSTER, RANGE).unwrap()
                }
                other => panic!("half adopted: {other:?}"),
            };
            seen[0] += 1;
            look(&mut crashed, &recovered, &told);
            let written = crashed.written();
            crashed.synced(written);
            node = crashed;
            if !is_durable {
                break;
            }
        }
    }
    assert!(seen[0] > 200 && seen[1] > 5, "{seen:?}");
}

#[test]
fn a_store_for_some_keys_takes_all_others_once_a_node_has_it() {
    let keys = Interval::ALL.divide(3)[1];
    let held: Vec<u64> = (0..300).filter(|key| keys.contains(&SECRET.position(&written(*key, 0).0))).collect();
    let writes: Vec<_> = held.iter().map(|key| PlainWrite::Put { key: *key, value: 1, expiry: 0 }).collect();
    let (mut node, _) = FlashNode::of_plain(Random::new(1), Plain { keys, ..PLAIN }, &writes);
    node.adopt(CLUSTER, RANGE).unwrap();
    let (below, above) = (keys.low.predecessor().unwrap(), keys.high.successor().unwrap());
    let others = [Interval::new(Key::MIN, below), Interval::new(above, Key::MAX)];
    for (number, keys) in others.into_iter().enumerate() {
        let range = RangeId(3 + number as u32);
        node.create(range, keys);
        let version = Version { value: vec![8], flags: 0, expiry: 0, stale: false, won: false, client_cas: None };
        let (position, version) = (Position { epoch: Epoch(1), seq: Seq(1) }, Some(version));
        let names = (0..300).map(|key| written(key, 0).0).filter(|name| keys.contains(&SECRET.position(name)));
        let kept: Vec<_> = names.map(|key| Kept { key, position, version: version.clone() }).collect();
        node.install(range, &kept);
    }
    let written_so_far = node.written();
    node.synced(written_so_far);
    for crash in 0..3 {
        for key in 0..300 {
            let name = written(key, 0).0;
            let lies = SECRET.position(&name);
            let range = others.iter().position(|keys| keys.contains(&lies)).map_or(RANGE, |at| RangeId(3 + at as u32));
            let kept = match node.lookup(range, &name, 1) {
                Lookup::Known(kept) => kept,
                Lookup::Later => match node.take_reads().pop() {
                    Some((_, FlashRead::Key(kept))) => kept,
                    _ => panic!("key {key} cannot be read"),
                },
            };
            let version = kept.unwrap().version.unwrap();
            assert_eq!((version.value == [8], version.client_cas.is_none()), (range != RANGE, range != RANGE), "{key}");
        }
        node = node.crash(Random::new(crash)).0;
    }
}
