//! A wedge passes on, or a chain changes, while requests are under way.

use super::*;

impl Bench {
    /// The managers tell of the wedge alone, as they do of a grant.
    fn told(&mut self, epoch: u64, owner: FrontId) -> Vec<(Address, Message)> {
        let wedges = vec![wedge(WedgeEpoch(epoch), Some(owner))];
        self.hear(Message::View { since: 1, number: 1, chains: Vec::new(), wedges })
    }

    /// Both chains go on in another epoch.
    fn chains_change(&mut self, epoch: u32, first: u64) -> Vec<(Address, Message)> {
        self.hear(Message::View {
            since: 1,
            number: epoch.into(),
            chains: chains(Epoch(epoch), first),
            wedges: Vec::new(),
        })
    }

    /// What another front-end sends on.
    fn forwarded(&mut self, key: &str, operation: Option<&Operation<'_>>) -> Vec<(Address, Message)> {
        let asker = Asker { address: Address::Client(4), tag: 1 };
        let id = RequestId { session: 8, number: 1 };
        let operation = operation.map(|operation| postcard::to_allocvec(operation).unwrap());
        let mut ask = Message::ask(id, operation.is_some().then_some(0), asker, key.as_bytes().to_vec(), operation);
        let Message::Ask { forwarded, .. } = &mut ask else { unreachable!("it asks") };
        *forwarded = true;
        self.hear(ask)
    }

    /// The put of another front-end's client, twice sent to the chain.
    fn tried_twice(&mut self) -> [SentRequest; 2] {
        let first = asked(&self.forwarded("k", Some(&Operation::Store(Store::set(b"v")))));
        [first, asked(&self.tick(110_000))]
    }
}

#[test]
fn one_that_is_fenced_off_sends_on_to_the_new_owner_under_the_same_name() {
    let mut bench = Bench::serving();
    let set = bench.set("k", "v");
    assert_eq!(answers(&bench.reply(&set, Answer::Fenced)), []);
    assert_eq!(all_asked(&bench.tick(200_000)), [], "nobody knows yet who owns it");
    let sent = asked(&bench.view(WedgeEpoch(2), Some(OTHER)));
    assert_eq!((sent.to, sent.id), (Address::Front(OTHER), set.id));
    assert_eq!(all_asked(&bench.view(WedgeEpoch(2), Some(OTHER))), [], "that is no news");
}

#[test]
fn what_is_refused_when_more_is_known_is_tried_again_at_once() {
    let mut bench = Bench::with(Limits::default());
    bench.view(WedgeEpoch(1), Some(OTHER));
    let (refused, late) = (bench.set("k", "v"), bench.set("j", "v"));
    bench.reply(&refused, Answer::AskAgain);
    let third = FrontId(2);
    assert_eq!(asked(&bench.told(2, third)).to, Address::Front(third), "the other may be answered yet");
    assert_eq!(asked(&bench.reply(&late, Answer::AskAgain)).to, Address::Front(third));
    assert_eq!(all_asked(&bench.told(2, third)), [], "that is no news");
}

#[test]
fn what_a_chain_refuses_goes_to_the_next_as_soon_as_that_is_known() {
    let mut bench = Bench::serving();
    let (refused, late) = (bench.set("k", "v"), bench.set("k", "w"));
    bench.reply(&refused, Answer::NotMine);
    let again = asked(&bench.chains_change(2, 7));
    assert!([7, 8].contains(&node(&again)), "the other may be answered yet: {again:?}");
    assert_eq!(node(&asked(&bench.reply(&late, Answer::NotMine))), node(&again));
    assert_eq!(all_asked(&bench.reply(&again, Answer::Busy)), [], "there is no later one");
}

fn node(sent: &SentRequest) -> u64 {
    let Address::Node(NodeId(node)) = sent.to else { panic!("{sent:?}") };
    node
}

#[test]
fn who_is_given_a_wedge_sends_what_its_owner_before_refused() {
    let mut bench = Bench::with(Limits::default());
    bench.view(WedgeEpoch(1), Some(OTHER));
    let refused = bench.set("k", "v");
    bench.reply(&refused, Answer::AskAgain);
    assert_eq!(all_asked(&bench.told(2, ME)), [], "nothing before the fences");
    let halves = Interval::ALL.divide(2);
    bench.hear(Message::FenceHolds { range: RangeId(0), keys: halves[0], epoch: WedgeEpoch(2) });
    let holds = bench.hear(Message::FenceHolds { range: RangeId(1), keys: halves[1], epoch: WedgeEpoch(2) });
    let sent = asked(&holds);
    assert_eq!((sent.wedge, sent.id), (Some(WedgeEpoch(2)), refused.id));
}

#[test]
fn one_that_is_fenced_off_says_so_to_who_sent_a_request_on() {
    let mut bench = Bench::serving();
    let sent = asked(&bench.forwarded("k", Some(&Operation::Store(Store::set(b"v")))));
    assert_eq!(answers(&bench.reply(&sent, Answer::Fenced)), [Answer::AskAgain]);
    let mut bench = Bench::with(Limits::default());
    bench.lease(WedgeEpoch(1));
    assert_eq!(bench.forwarded("k", None), [], "it waits for fences");
    assert_eq!(answers(&bench.told(2, OTHER)), [Answer::AskAgain]);
}

#[test]
fn of_what_was_sent_on_and_tried_twice_both_tries_count() {
    let mut bench = Bench::serving();
    let [first, second] = bench.tried_twice();
    assert_eq!(answers(&bench.reply(&first, Answer::Fenced)), [], "the other try may be carried out");
    assert_eq!(answers(&bench.reply(&second, Answer::Fenced)), [Answer::AskAgain], "neither was");
    let mut bench = Bench::serving();
    let [first, second] = bench.tried_twice();
    assert_eq!(answers(&bench.reply(&second, Answer::Fenced)), [], "what became of the other may yet be heard");
    assert_eq!(answers(&bench.reply(&first, Answer::Fenced)), []);
    assert_eq!(answers(&bench.tick(110_000)), [Answer::AskAgain]);
    let mut bench = Bench::serving();
    let [_, second] = bench.tried_twice();
    bench.reply(&second, Answer::Fenced);
    assert_eq!(answers(&bench.tick(110_000)), [Answer::TimedOut], "nobody knows of the first");
}

#[test]
fn a_late_refusal_of_an_epoch_before_takes_no_wedge_away() {
    let mut bench = Bench::serving();
    let first = bench.set("k", "v");
    bench.told(2, OTHER);
    bench.told(3, ME);
    bench.lease(WedgeEpoch(3));
    bench.fence_all(WedgeEpoch(3));
    let second = asked(&bench.tick(110_000));
    assert_eq!(second.wedge, Some(WedgeEpoch(3)));
    bench.reply(&first, Answer::Fenced);
    assert_eq!(bench.miss("j").wedge, Some(WedgeEpoch(3)), "it is served still");
}

#[test]
fn a_get_does_not_wait_with_one_that_goes_back_when_the_wedge_passes_on() {
    let mut bench = Bench::serving();
    let forwarded = asked(&bench.forwarded("k", None));
    let own = bench.miss("k");
    assert_eq!(bench.forwarded("k", None), [], "the other way round they do");
    assert_eq!(answers(&bench.reply(&forwarded, Answer::Fenced)), [Answer::AskAgain]);
    let told = bench.told(2, OTHER);
    assert_eq!(all_asked(&told), [], "that one may be answered yet: {told:?}");
    assert_eq!(asked(&bench.reply(&own, Answer::Fenced)).to, Address::Front(OTHER));
}

#[test]
fn chains_are_asked_for_as_soon_as_the_last_answer_is_there() {
    let mut bench = Bench::serving();
    let (first, second) = (bench.set("k", "v"), bench.set("j", "v"));
    bench.now_us += 100_000;
    assert!(asks(&bench.reply(&first, Answer::NotMine)));
    assert!(!asks(&bench.reply(&second, Answer::NotMine)), "one question at a time");
    assert!(!asks(&bench.tick(20_000)), "the answer is under way");
    bench.view(WedgeEpoch(1), Some(ME));
    assert!(!asks(&bench.tick(5_000)), "not as fast as it can");
    assert!(asks(&bench.tick(5_000)));
    assert!(asks(&bench.tick(100_000)), "that one was lost");
}

#[test]
fn whoever_hears_no_news_asks_ever_more_rarely() {
    let mut bench = Bench::serving();
    bench.told(1, ME);
    let [first, second, third] = ["i", "j", "k"].map(|key| bench.set(key, "v"));
    bench.now_us += 60_000;
    assert!(asks(&bench.reply(&first, Answer::NotMine)));
    bench.told(1, ME);
    assert!(!asks(&bench.reply(&second, Answer::NotMine)));
    assert!(!asks(&bench.tick(19_000)));
    assert!(asks(&bench.tick(1_000)), "20 ms after the answer");
    bench.told(1, ME);
    assert!(!asks(&bench.reply(&third, Answer::NotMine)));
    assert!(!asks(&bench.tick(39_000)));
    assert!(asks(&bench.tick(1_000)), "40 ms after the answer");
}

fn asks(out: &[(Address, Message)]) -> bool {
    out.iter().any(|(_, message)| matches!(message, Message::AskView { .. }))
}
