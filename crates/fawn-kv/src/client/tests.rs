//! What a client asks whom, and what it makes of the answers.

use super::{Client, Limits, MOST_WRITE_BYTES, RequestOutcome, Want};
use crate::ids::{Address, Asker, FrontId, FrontMember, Incarnation, Position, RequestId, Wedge, WedgeEpoch};
use crate::link::frame::{HEADER_BYTES, MOST_BYTES, put_message};
use crate::operation::{Cas, Operation, Outcome, Store};
use crate::range::entry::Kept;
use crate::timing::Now;
use crate::wire::version::{NEWEST, SURE_UNKNOWNS};
use crate::wire::{Answer, Continuation, Message};
use fawn_ring::{Interval, Secret};
use std::sync::Arc;

const ME: Address = Address::Client(9);
const DEADLINE_US: u64 = 3_000_000;

/// What was asked of a front-end.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SentRequest {
    of: u32,
    id: RequestId,
    answered: Option<u64>,
    tag: u64,
}

struct Bench {
    client: Client,
    now: Now,
    out: Vec<(Address, Message)>,
}

impl Bench {
    /// A client of front-ends 1 to 3.
    fn new() -> Self {
        let mut client = Client::new(ME, 77, Limits::default(), Secret([1; 32]));
        client.set_fronts((1..=3).map(FrontId));
        Self { client, now: Now::at(1_000_000, 1000), out: Vec::new() }
    }

    /// Front-end `owner` has the only wedge, since this epoch.
    fn owned_by(&mut self, owner: u32, epoch: u64) {
        let owner = FrontMember { front: FrontId(owner), incarnation: Incarnation(1) };
        let wedge = Wedge { keys: Interval::ALL, epoch: WedgeEpoch(epoch), owner: Some(owner), released: false };
        let view = Message::View { since: 0, number: epoch, chains: Vec::new(), wedges: vec![wedge] };
        self.client.receive(self.now, (view, NEWEST), &mut self.out);
    }

    fn put(&mut self, key: &str) -> u64 {
        let want = Want::Write(Operation::Store(Store::set(b"v")).encode());
        self.client.ask(self.now, key.into(), want, self.now.us + DEADLINE_US, &mut self.out)
    }

    fn get(&mut self, key: &str) -> u64 {
        self.client.ask(self.now, key.into(), Want::Get, self.now.us + DEADLINE_US, &mut self.out)
    }

    fn pass(&mut self, us: u64) {
        self.now.us += us;
        self.client.tick(self.now, &mut self.out);
    }

    fn answer(&mut self, asked: &SentRequest, answer: Answer) {
        self.answer_in(NEWEST, asked, answer);
    }

    /// The same by one who speaks this version.
    fn answer_in(&mut self, version: u8, asked: &SentRequest, answer: Answer) {
        let reply = Message::Reply { id: asked.id, tag: asked.tag, continuation: None, until: 0, answer };
        self.client.receive(self.now, (reply, version), &mut self.out);
    }

    fn asked(&mut self) -> Vec<SentRequest> {
        let asked = self.out.drain(..).filter_map(|(to, message)| match (to, message) {
            (Address::Front(FrontId(of)), Message::Ask { id, answered, asker, forwarded: false, .. }) => {
                assert_eq!(asker.address, ME);
                Some(SentRequest { of, id, answered, tag: asker.tag })
            }
            (Address::Manager, Message::AskView { .. }) => None,
            other => panic!("{other:?}"),
        });
        asked.collect()
    }

    fn ended(&mut self) -> Vec<(u64, RequestOutcome)> {
        std::iter::from_fn(|| self.client.next_ended()).collect()
    }
}

fn done() -> Answer {
    let outcome = Outcome::Stored { cas: Cas::Appended, size: 1 };
    Answer::Done { outcome, position: Position::default(), again: false, shown: None }
}

#[test]
fn the_owner_of_a_keys_wedge_is_asked_and_another_only_while_that_one_cannot_be_reached() {
    let mut bench = Bench::new();
    bench.owned_by(2, 1);
    let ticket = bench.put("k");
    let first = bench.asked().remove(0);
    assert_eq!(first.of, 2);
    bench.client.lost(FrontId(2), bench.now);
    bench.pass(0);
    let second = bench.asked().remove(0);
    assert_ne!(second.of, 2);
    assert_eq!((second.id, second.tag == first.tag), (first.id, false), "the same request, another try");
    bench.owned_by(3, 2);
    bench.pass(500_000);
    assert_eq!(bench.asked().remove(0).of, 3, "the new owner");
    bench.answer(&second, done());
    assert!(
        matches!(bench.ended()[..], [(of, RequestOutcome::Done { .. })] if of == ticket),
        "an answer to any try will do"
    );
    bench.answer(&first, done());
    assert_eq!(bench.ended(), [], "it is answered once");
}

#[test]
fn what_waits_for_a_call_that_nobody_answers_is_asked_of_another() {
    let mut bench = Bench::new();
    bench.owned_by(2, 1);
    let first = bench.put("k");
    bench.client.called(FrontId(2), bench.now);
    bench.get("l");
    assert_eq!(bench.asked().iter().map(|asked| asked.of).collect::<Vec<_>>(), [2, 2], "it may answer yet");
    bench.pass(200_000);
    let again = bench.asked();
    assert!(again.len() == 2 && again.iter().all(|asked| asked.of != 2), "{again:?}");
    bench.answer(&again[0], done());
    assert_eq!(bench.ended()[0].0, first);
    // The call has come to nothing, and so does the next one, for which nobody waits but who made it.
    bench.client.unreached(FrontId(2), &[], bench.now);
    bench.pass(1_000_000);
    bench.out.clear();
    bench.get("m");
    bench.client.called(FrontId(2), bench.now);
    bench.get("n");
    let asked = bench.asked();
    assert!(asked[0].of == 2 && asked[1].of != 2, "{asked:?}");
    // It answers: it is the owner again.
    bench.client.up(FrontId(2));
    bench.get("o");
    assert_eq!(bench.asked()[0].of, 2);
}

/// Has every call of a front-end be refused at once, until all has ended; how often each was called.
fn refuse_all(bench: &mut Bench) -> [usize; 3] {
    let mut called = [0; 3];
    while bench.client.in_flight() > 0 {
        let mut rounds = 0;
        // Whatever is asked is refused within the same microsecond.
        while let Some((to, message)) = bench.out.pop() {
            let Address::Front(front) = to else { continue };
            rounds += 1;
            assert!(rounds < 100, "it asks again and again without any time passing");
            called[front.0 as usize - 1] += 1;
            bench.client.unreached(front, &[(to, message)], bench.now);
            bench.pass(0);
        }
        let due_us = bench.client.due_us().unwrap();
        bench.pass(due_us.saturating_sub(bench.now.us));
    }
    called
}

#[test]
fn while_every_call_is_refused_it_is_called_again_ever_more_rarely_and_nothing_was_done() {
    let mut bench = Bench::new();
    bench.owned_by(2, 1);
    let tickets = [bench.put("a"), bench.get("b")];
    let called = refuse_all(&mut bench);
    // Of 3 s: after 50, 100, 200, 400, 800 and 1000 ms, by each of the two.
    assert!(called.iter().all(|called| *called <= 2 * 8), "{called:?}");
    assert!(called[1] >= 5, "the owner is called again: {called:?}");
    assert_eq!(bench.ended(), tickets.map(|ticket| (ticket, RequestOutcome::Unreached)));
}

#[test]
fn a_try_that_was_not_sent_leaves_nothing_open_and_one_that_was_does() {
    let mut bench = Bench::new();
    bench.owned_by(1, 1);
    let [refused, open] = ["a", "b"].map(|key| bench.put(key));
    let asked = bench.asked();
    bench.answer(&asked[0], Answer::Busy);
    bench.client.lost(FrontId(1), bench.now);
    bench.pass(0);
    refuse_all(&mut bench);
    let ended = bench.ended();
    assert!(ended.contains(&(refused, RequestOutcome::Refused(Answer::Busy))), "{ended:?}");
    assert!(ended.contains(&(open, RequestOutcome::Unknown)), "{ended:?}");
}

#[test]
fn before_anything_is_known_of_wedges_anybody_is_asked_and_nobody_while_there_is_none() {
    let mut bench = Bench::new();
    bench.client.set_fronts([]);
    let ticket = bench.get("k");
    assert_eq!(bench.asked(), []);
    bench.pass(DEADLINE_US);
    assert_eq!(bench.ended(), [(ticket, RequestOutcome::Unreached)]);
    let ticket = bench.get("k");
    bench.client.set_fronts([FrontId(1)]);
    bench.pass(100_000);
    let asked = bench.asked().remove(0);
    assert_eq!(asked.of, 1);
    bench.answer(&asked, Answer::Found(None));
    assert_eq!(bench.ended(), [(ticket, RequestOutcome::Found(None))]);
}

#[test]
fn what_is_refused_at_every_try_was_not_done_and_what_one_try_left_open_nobody_knows() {
    let mut bench = Bench::new();
    bench.owned_by(1, 1);
    let [refused, open] = ["a", "b"].map(|key| bench.put(key));
    let mut last = [None, None];
    for round in 0..2000 {
        for asked in bench.asked() {
            let at = usize::from(asked.id.number == 2);
            if at == 0 || round > 0 {
                bench.answer(&asked, Answer::Busy);
            }
            last[at] = Some(asked);
        }
        bench.pass(2000);
    }
    assert_eq!(bench.ended(), [(refused, RequestOutcome::Refused(Answer::Busy)), (open, RequestOutcome::Unknown)]);
    assert_eq!(bench.client.in_flight(), 0);
    assert!(last.iter().flatten().all(|asked| asked.answered == Some(0)), "they are the first of their session");
}

#[test]
fn a_front_end_that_has_tried_in_vain_is_believed_only_if_no_other_try_is_open() {
    let mut bench = Bench::new();
    bench.owned_by(1, 1);
    let ticket = bench.put("a");
    let asked = bench.asked().remove(0);
    bench.answer(&asked, Answer::Full);
    assert_eq!(bench.ended(), [(ticket, RequestOutcome::Refused(Answer::Full))]);
    bench.put("b");
    let first = bench.asked().remove(0);
    bench.pass(300_000);
    let second = bench.asked().remove(0);
    bench.answer(&second, Answer::Full);
    assert_eq!(bench.ended(), [], "the first may have been carried out");
    bench.answer(&first, Answer::Full);
    assert_eq!(bench.ended().len(), 1);
}

#[test]
fn sessions_say_how_far_all_is_answered_and_one_that_was_forgotten_goes_on_under_another_name() {
    let mut bench = Bench::new();
    bench.owned_by(1, 1);
    let tickets = [bench.put("a"), bench.put("b"), bench.put("c")];
    let asked = bench.asked();
    bench.answer(&asked[0], done());
    bench.answer(&asked[2], done());
    bench.put("d");
    assert_eq!(bench.asked()[0].answered, Some(1), "the second is open");
    // It was sent once, and not carried out then: it goes on under another name.
    bench.answer(&asked[1], Answer::Unknown { time: 5000 });
    let next = bench.asked().remove(0);
    assert_eq!((next.id.session >> 32, next.id.number), (5000, 5), "no number comes twice");
    bench.answer(&next, done());
    assert_eq!(bench.ended()[2].0, tickets[1]);
    let ticket = bench.put("e");
    let first = bench.asked().remove(0);
    bench.pass(300_000);
    let again = bench.asked().into_iter().find(|asked| asked.id == first.id).unwrap();
    bench.answer(&again, Answer::Unknown { time: 9000 });
    assert_eq!(bench.ended(), [(ticket, RequestOutcome::Unknown)], "the first try may have been carried out");
}

#[test]
fn who_owns_what_is_asked_now_and_then_and_whenever_somebody_says_ask_again() {
    let mut bench = Bench::new();
    let views = |bench: &mut Bench| {
        let count = bench.out.iter().filter(|(to, _)| *to == Address::Manager).count();
        bench.out.retain(|(to, _)| *to != Address::Manager);
        count
    };
    bench.get("a");
    assert_eq!(views(&mut bench), 1);
    bench.now.us += 500_000;
    bench.get("b");
    assert_eq!(views(&mut bench), 0);
    let asked = bench.asked().remove(1);
    bench.answer(&asked, Answer::AskAgain);
    assert_eq!(views(&mut bench), 1);
    bench.now.us += 1_000_000;
    bench.get("c");
    assert_eq!(views(&mut bench), 1);
}

#[test]
fn a_flush_is_asked_of_anybody_under_one_name_until_it_is_answered() {
    let mut bench = Bench::new();
    bench.owned_by(2, 1);
    let flush = Want::Flush { due: 0 };
    let ticket = bench.client.ask(bench.now, Vec::new(), flush, bench.now.us + DEADLINE_US, &mut bench.out);
    let asked = |bench: &mut Bench| {
        let flushes = bench.out.drain(..).filter_map(|(to, message)| match (to, message) {
            (Address::Front(of), Message::AskFlush { id, answered, asker, wedge: None, due: 0 }) => {
                Some(SentRequest { of: of.0, id, answered, tag: asker.tag })
            }
            (Address::Manager, _) => None,
            other => panic!("{other:?}"),
        });
        let flushes: Vec<_> = flushes.collect();
        let [flush] = &flushes[..] else { panic!("{flushes:?}") };
        flush.clone()
    };
    let first = asked(&mut bench);
    bench.client.lost(FrontId(first.of), bench.now);
    bench.pass(0);
    let second = asked(&mut bench);
    assert_ne!((second.of, second.tag), (first.of, first.tag));
    assert_eq!((second.id, second.answered), (first.id, Some(0)));
    bench.answer(&second, Answer::TimedOut);
    assert_eq!(bench.ended(), [], "it is asked for again");
    bench.pass(50_000);
    let third = asked(&mut bench);
    bench.answer(&third, Answer::Flushed);
    assert_eq!(bench.ended(), [(ticket, RequestOutcome::Flushed)]);
}

#[test]
fn a_continuation_comes_back_with_the_answer_and_no_other_clients_is_taken_for_it() {
    let mut bench = Bench::new();
    bench.owned_by(2, 1);
    let want = Want::GetWith(b"go on".to_vec());
    let ticket = bench.client.ask(bench.now, b"k".to_vec(), want, bench.now.us + DEADLINE_US, &mut bench.out);
    let Some((_, Message::Ask { id, asker, continuation: Some(blob), .. })) = bench.out.pop() else {
        panic!("it travels with the request")
    };
    let mut reply = |blob: Vec<u8>, key: &[u8]| {
        let kept = Kept { key: key.to_vec(), position: Position::default(), version: None };
        let (continuation, tag) = (Some(Continuation { asker, blob }), asker.tag);
        let answer = Answer::Found(Some(Arc::new(kept)));
        let reply = Message::Reply { id, tag, continuation, until: 0, answer };
        bench.client.receive(bench.now, (reply, NEWEST), &mut bench.out);
        bench.client.next_ended()
    };
    let mut others = blob.clone();
    others[0] ^= 1;
    assert_eq!(reply(others, b"k"), None, "another client's, which had this number before");
    assert_eq!(reply(blob.clone(), b"j"), None, "another key than was asked for");
    let Some((ended, RequestOutcome::FoundWith(Some(_), continuation))) = reply(blob, b"k") else {
        panic!("it is its own")
    };
    assert_eq!((ended, &continuation[..]), (ticket, &b"go on"[..]));
}

#[test]
fn an_owner_that_says_nothing_is_asked_by_way_of_another_every_other_time() {
    let mut bench = Bench::new();
    bench.owned_by(2, 1);
    let ticket = bench.put("k");
    let first = bench.asked().remove(0);
    bench.pass(200_000);
    let second = bench.asked().remove(0);
    assert!(first.of == 2 && second.of != 2, "the link to it may be broken");
    assert_eq!((second.id, second.tag == first.tag), (first.id, false));
    bench.pass(400_000);
    assert_eq!(bench.asked().remove(0).of, 2, "it may have been slow");
    bench.answer(&second, done());
    assert_eq!(bench.ended()[0].0, ticket);
    // One that refuses is there.
    bench.put("l");
    let refused = bench.asked().remove(0);
    bench.answer(&refused, Answer::Busy);
    bench.pass(500_000);
    assert_eq!((refused.of, bench.asked().remove(0).of), (2, 2));
}

#[test]
fn a_front_end_of_an_earlier_release_may_have_carried_out_what_it_says_is_unknown() {
    for (version, is_renamed) in [(SURE_UNKNOWNS - 1, false), (SURE_UNKNOWNS, true)] {
        let mut bench = Bench::new();
        bench.owned_by(2, 1);
        let ticket = bench.put("k");
        let first = bench.asked().remove(0);
        bench.answer_in(version, &first, Answer::Unknown { time: 1 << 30 });
        let again = bench.asked();
        assert_eq!(again.first().is_some_and(|again| again.id != first.id), is_renamed);
        let ended = bench.ended();
        assert_eq!(ended, if is_renamed { vec![] } else { vec![(ticket, RequestOutcome::Unknown)] });
        // The next request is named after what it said all the same.
        bench.put("k");
        assert!(bench.asked().remove(0).id.session >> 32 >= 1 << 30);
    }
}

#[test]
fn a_value_that_one_seat_finds_too_long_was_not_stored_only_if_every_try_was_refused() {
    let mut bench = Bench::new();
    bench.owned_by(1, 1);
    let put = bench.put("k");
    let first = bench.asked().remove(0);
    bench.pass(200_000);
    let second = bench.asked().remove(0);
    bench.answer(&second, Answer::TooLarge);
    assert_eq!(bench.client.next_ended(), None, "the first may be carried out where more is taken");
    bench.pass(DEADLINE_US / 2);
    assert_eq!(bench.asked(), [], "what is too long is not sent again and again");
    bench.answer(&first, Answer::TooLarge);
    assert_eq!(bench.client.next_ended(), Some((put, RequestOutcome::Refused(Answer::TooLarge))));
    let put = bench.put("k");
    let first = bench.asked().remove(0);
    bench.pass(200_000);
    let second = bench.asked().remove(0);
    bench.answer(&second, Answer::TooLarge);
    bench.answer(&first, done());
    assert!(matches!(bench.client.next_ended(), Some((ended, RequestOutcome::Done { .. })) if ended == put));
}

#[test]
fn what_a_front_end_of_a_cluster_that_is_upgraded_refuses_was_not_done_only_if_every_try_was_refused() {
    let mut bench = Bench::new();
    bench.owned_by(1, 1);
    let put = bench.put("k");
    let first = bench.asked().remove(0);
    bench.pass(200_000);
    let second = bench.asked().remove(0);
    bench.answer(&second, Answer::NeedsUpgrade);
    assert_eq!(bench.client.next_ended(), None, "one that knows better may carry the first out");
    bench.pass(200_000);
    let third = bench.asked().remove(0);
    bench.answer(&first, Answer::NeedsUpgrade);
    assert_eq!(bench.client.next_ended(), None);
    bench.answer(&third, Answer::NeedsUpgrade);
    assert_eq!(bench.client.next_ended(), Some((put, RequestOutcome::Refused(Answer::NeedsUpgrade))));
}

#[test]
fn the_longest_write_fits_a_frame_whatever_its_name_is() {
    let (id, asker) = (RequestId { session: u64::MAX, number: u64::MAX }, Address::Client(u32::MAX));
    let asker = Asker { address: asker, tag: u64::MAX };
    let (key, operation) = (vec![1; 65_535], vec![2; 1]);
    let given = key.len() + operation.len();
    let ask = Message::ask(id, Some(u64::MAX), asker, key, Some(operation));
    let mut bytes = Vec::new();
    put_message(&mut bytes, Address::Front(FrontId(u32::MAX)), Address::Client(u32::MAX), &ask);
    // The length of a long operation takes up to five bytes more than that of a short one.
    let around = bytes.len() - HEADER_BYTES - given + 5;
    assert!(MOST_WRITE_BYTES + around <= MOST_BYTES, "{around} bytes are around it");
}
