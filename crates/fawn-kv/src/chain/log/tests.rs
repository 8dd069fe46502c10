//! The log by itself, over a store in which everything is durable at once.

use super::*;
use crate::chain::wedge_fence::tests::{FRONT, ME, Plain, SECRET, step_part};
use crate::ids::{Asker, RequestId};
use crate::operation::Outcome;
use crate::range::entry::Version;
use crate::store::Gate;

fn at(epoch: u32, seq: u64) -> Position {
    Position { epoch: Epoch(epoch), seq: Seq(seq) }
}

fn entry(position: Position, change: Change) -> Entry {
    Entry { position, time: position.seq.0 as u32, key: Vec::new(), change, asked: None }
}

fn put(seq: u64, key: &[u8]) -> Entry {
    let version = Version { value: Vec::new(), flags: 0, expiry: 0, stale: false, won: false, client_cas: None };
    let asker = Asker { address: FRONT, tag: 0 };
    let id = RequestId { session: 7, number: seq };
    let asked = Some(Asked { id, answered: 0, asker, outcome: Outcome::Deleted, shown: None });
    Entry { key: key.to_vec(), asked, ..entry(at(1, seq), Change::Value(version)) }
}

/// A log of which so much is committed, and these records follow.
fn log(committed: Position, entries: Vec<Entry>) -> RangeLog {
    let meta = Meta { committed, ..Meta::default() };
    RangeLog::new((RangeId(0), Interval::ALL, ME), meta, entries, &SECRET)
}

fn positions<'a>(entries: impl Iterator<Item = &'a LoggedEntry>) -> Vec<Position> {
    entries.map(|entry| entry.position).collect()
}

#[test]
fn what_is_recovered_is_durable_and_what_is_committed_is_told_if_asked_for() {
    let mut log = log(at(1, 1), vec![put(2, b"a"), put(3, b"b")]);
    assert_eq!((log.committed(), log.last(), log.synced()), (at(1, 1), at(1, 3), Seq(3)));
    let told = |sent: Vec<Message>| sent.iter().filter(|message| matches!(message, Message::Reply { .. })).count();
    let mut store = Plain::default();
    assert_eq!(told(step_part(&mut store, |context| log.commit(Seq(2), false, context)).1), 0);
    assert_eq!(told(step_part(&mut store, |context| log.commit(Seq(9), true, context)).1), 1);
    assert_eq!((log.committed(), log.suffix().size().0), (at(1, 3), 0));
    assert_eq!(positions(log.history()), [at(1, 2), at(1, 3)]);
    assert_eq!(store.kept.len(), 2);
}

#[test]
fn less_of_the_history_stays_in_memory_of_a_range_that_nobody_follows() {
    let timing = Timing { history: 32, ..Timing::default() };
    let mut store = Plain { timing, ..Plain::default() };
    let mut log = log(Position::default(), Vec::new());
    let first = entry(at(1, 1), Change::Begin { after: Position::default() });
    step_part(&mut store, |context| {
        log.append(first, context);
        for _ in 0..99 {
            log.append_next(Epoch(1), super::super::stretch::NO_KEY, Change::Nothing, None, context);
        }
        log.commit(Seq(50), false, context);
    });
    assert_eq!(log.history().count(), 2);
    log.note_follower(1);
    step_part(&mut store, |context| log.commit(Seq(100), false, context));
    assert_eq!(log.history().count(), 32);
}

#[test]
fn a_record_of_another_member_is_appended_if_it_can_be_one_of_the_range() {
    let (low, high) = Interval::ALL.cut(&SECRET.position(b"a")).unwrap();
    assert!(low.contains(&SECRET.position(b"a")));
    let meta = Meta { committed: at(1, 1), ..Meta::default() };
    let mut log = RangeLog::new((RangeId(0), low, ME), meta, vec![put(2, b"a")], &SECRET);
    let outside = (0..=u8::MAX).map(|byte| vec![byte]).find(|key| high.contains(&SECRET.position(key))).unwrap();
    let mut append =
        |entry| step_part(&mut Plain::default(), |context| log.append_of_other(Arc::new(entry), context)).0;
    assert!(append(put(3, &outside)).is_err());
    assert!(append(Entry { asked: put(2, b"a").asked, ..put(3, b"a") }).is_err(), "it is applied already");
    assert!(append(entry(at(1, 3), Change::Delete)).is_err(), "a deletion has a key");
    assert!(append(put(3, &vec![b'k'; MAX_KEY_BYTES + 1])).is_err());
    assert_eq!(append(put(3, b"a")), Ok(()));
    assert_eq!(log.last(), at(1, 3));
}

#[test]
fn a_log_goes_on_from_what_its_epochs_began_after() {
    let begin = entry(at(4, 20), Change::Begin { after: at(3, 7) });
    let log = log(at(3, 7), vec![begin]);
    assert_eq!([6, 7, 8].map(|seq| log.goes_on_from(at(3, seq))), [true, true, false]);
    assert!(log.goes_on_from(Position::default()) && log.goes_on_from(at(4, 20)));
    let timing = Timing::default();
    let records = log.records_after(at(3, 5), &[at(3, 9)], log.last(), &timing).unwrap();
    assert_eq!((records.common, records.entries.len(), records.last), (at(3, 7), 1, at(4, 20)));
    assert!(log.records_after(at(3, 5), &[], log.last(), &timing).is_none(), "6 and 7 are not in memory");
}

#[test]
fn what_a_source_gives_takes_the_place_of_what_contradicts_it() {
    let mut log = log(at(1, 1), vec![put(2, b"a"), put(3, b"b")]);
    let mut store = Plain::default();
    let mut give = |log: &mut RangeLog, entries: &[Entry], last| {
        let entries = entries.iter().cloned().map(Arc::new).collect();
        let records = Records { common: at(1, 1), entries, last };
        let before = step_part(&mut store, |context| log.append_records(records, context)).0;
        (before, log.last())
    };
    assert_eq!(give(&mut log, &[put(2, b"a")], at(1, 5)), (Ok(at(1, 3)), at(1, 3)), "some of what is here");
    let other = [put(2, b"a"), Entry { change: Change::Begin { after: at(1, 2) }, ..entry(at(2, 9), Change::Nothing) }];
    assert_eq!(give(&mut log, &other, at(2, 9)), (Ok(at(1, 2)), at(2, 9)));
    assert_eq!(give(&mut log, &[], at(1, 1)), (Ok(at(1, 1)), at(1, 1)), "the source's log ends there");
    assert!(give(&mut log, &[put(4, b"a")], at(1, 4)).0.is_err(), "2 and 3 are lacking");
}

#[test]
fn what_is_cut_off_is_not_there_and_what_is_reset_neither() {
    let mut log = log(at(1, 1), vec![put(2, b"a"), put(3, b"b")]);
    let mut store = Plain::default();
    step_part(&mut store, |context| log.truncate(at(1, 2), context));
    assert_eq!((log.last(), log.synced(), log.time()), (at(1, 2), Seq(2), 2));
    assert!(log.has(at(1, 2)) && log.has(at(1, 1)) && !log.has(at(1, 3)));
    assert!(log.is_clean(&SECRET.position(b"b")) && !log.is_clean(&SECRET.position(b"a")));
    step_part(&mut store, |context| log.reset(context));
    assert_eq!((log.last(), log.synced(), log.time()), (Position::default(), Seq(0), 0));
    let meta = Meta { committed: at(2, 9), ..Meta::default() };
    step_part(&mut store, |context| log.install(meta, Seq(0), context));
    assert_eq!((log.last(), log.synced()), (at(2, 9), Seq(0)));
    step_part(&mut store, |context| log.learn_synced(context));
    assert_eq!((log.synced(), store.durable()), (Seq(9), Gate(0)));
}
