//! The relay that makes links slow and lossy: packets come in, and go on later, twice or never.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fawn_check::random::Random;

use super::frame;

/// The relay's port.
pub const PORT: u16 = 4789;

/// What becomes of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weather {
    /// They take this long more.
    pub delay: Duration,
    /// And up to so much longer, each for itself: one overtakes another.
    pub jitter: Duration,
    /// So many of a hundred are lost.
    pub lost: u64,
    /// So many of a hundred come twice.
    pub doubled: u64,
}

impl Weather {
    /// Far away: nothing is lost or overtaken, a packet's way takes so many milliseconds.
    pub fn slow(ms: u64) -> Self {
        Self { delay: Duration::from_millis(ms), jitter: Duration::ZERO, lost: 0, doubled: 0 }
    }

    /// A bad radio link.
    pub fn lossy(percent: u64) -> Self {
        Self { delay: Duration::from_millis(1), jitter: Duration::from_millis(15), lost: percent, doubled: 2 }
    }
}

/// Whose packets are treated how.
type Weathers = Mutex<BTreeMap<u8, Weather>>;

/// The relay.
#[derive(Debug)]
pub struct Relay {
    weathers: Arc<Weathers>,
    counts: Arc<[AtomicU64; 3]>,
}

/// Packets that wait at most; more are lost, as on any link.
const MOST_WAITING: usize = 20_000;

impl Relay {
    /// A relay at an address, for as long as the process lives. It answers to a port; `None`: the sender's. (VXLAN sends
    /// from many ports, and receives on one.)
    ///
    /// # Errors
    /// The address cannot be had.
    pub fn start(address: (Ipv4Addr, u16), answers: Option<u16>) -> io::Result<Self> {
        let relay = Self { weathers: Arc::default(), counts: Arc::default() };
        let (weathers, counts) = (Arc::clone(&relay.weathers), Arc::clone(&relay.counts));
        let socket = UdpSocket::bind(address)?;
        std::thread::Builder::new()
            .name("weather".to_owned())
            .spawn(move || work(&socket, answers, &weathers, &counts))?;
        Ok(relay)
    }

    /// Sets or ends a host's weather.
    pub fn set(&self, host: u8, weather: Option<Weather>) {
        let mut weathers = self.weathers.lock().unwrap_or_else(PoisonError::into_inner);
        match weather {
            Some(weather) => weathers.insert(host, weather),
            None => weathers.remove(&host),
        };
    }

    /// Packets passed on, lost and doubled.
    pub fn packets(&self) -> [u64; 3] {
        [0, 1, 2].map(|at| self.counts[at].load(Ordering::Relaxed))
    }
}

/// A packet that waits: when it is due, its number, what it is, and where it came from.
type DelayedPacket = Reverse<(Instant, u64, Vec<u8>, SocketAddr)>;

/// Takes packets and gives them back when they are due.
fn work(socket: &UdpSocket, answers: Option<u16>, weathers: &Weathers, counts: &[AtomicU64; 3]) {
    let [passed, lost, doubled] = counts;
    let mut random = Random::new(1);
    let mut waiting: BinaryHeap<DelayedPacket> = BinaryHeap::new();
    let mut number = 0;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let now = Instant::now();
        while let Some(Reverse((_, _, packet, to))) = pop_due(&mut waiting, now) {
            // What cannot be sent is lost.
            let sent = socket.send_to(&packet, to).is_ok();
            if sent { passed } else { lost }.fetch_add(1, Ordering::Relaxed);
        }
        let wait = waiting.peek().map(|Reverse((due, ..))| due.saturating_duration_since(now));
        let wait = wait.map(|wait| wait.max(Duration::from_micros(50)));
        if socket.set_read_timeout(wait).is_err() {
            return;
        }
        let (length, mut from) = match socket.recv_from(&mut buffer) {
            Ok(received) => received,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        from.set_port(answers.unwrap_or(from.port()));
        let packet = &mut buffer[..length];
        // The router has more to say than what passes between hosts.
        let Some(ends) = frame::ends(packet) else { continue };
        let copies = copies(ends, weathers, &mut random);
        if copies.is_empty() || waiting.len() >= MOST_WAITING {
            lost.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        doubled.fetch_add(copies.len() as u64 - 1, Ordering::Relaxed);
        frame::turn(packet);
        for delay in copies {
            number += 1;
            waiting.push(Reverse((Instant::now() + delay, number, packet.to_vec(), from)));
        }
    }
}

fn pop_due(waiting: &mut BinaryHeap<DelayedPacket>, now: Instant) -> Option<DelayedPacket> {
    waiting.peek().is_some_and(|Reverse((due, ..))| *due <= now).then(|| waiting.pop()).flatten()
}

/// The delays of the copies that a packet becomes; none: it is lost.
fn copies((from, to): (u8, u8), weathers: &Weathers, random: &mut Random) -> Vec<Duration> {
    let weather = {
        let weathers = weathers.lock().unwrap_or_else(PoisonError::into_inner);
        weathers.get(&from).or(weathers.get(&to)).copied()
    };
    // It was on its way when the weather cleared.
    let Some(weather) = weather else { return vec![Duration::ZERO] };
    if random.chance(weather.lost, 100) {
        return Vec::new();
    }
    let copies = 1 + usize::from(random.chance(weather.doubled, 100));
    let jitter = weather.jitter.as_micros() as u64;
    (0..copies).map(|_| weather.delay + Duration::from_micros(random.below(jitter + 1))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet from host 1 for host 2, without a TCP segment.
    fn packet(number: u8) -> Vec<u8> {
        let mut packet = vec![0; 22];
        packet[20] = 8;
        packet.extend([0x45, 0, 0, 21, 0, 1, 0, 0, 64, 17, 0, 0, 10, 77, 1, 2, 10, 77, 2, 2, number]);
        packet
    }

    /// Sends packets through a relay and returns the numbers that come back, with how long that took.
    fn through(weather: Option<Weather>, count: u8) -> (Vec<u8>, Duration) {
        let probe = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = probe.local_addr().unwrap().port();
        drop(probe);
        let relay = Relay::start((Ipv4Addr::LOCALHOST, port), None).unwrap();
        relay.set(2, weather);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let begin = Instant::now();
        for number in 0..count {
            socket.send_to(&packet(number), ("127.0.0.1", port)).unwrap();
        }
        let (mut numbers, mut took, mut buffer) = (Vec::new(), Duration::ZERO, [0; 100]);
        while let Ok(length) = socket.recv(&mut buffer) {
            numbers.push(buffer[length - 1]);
            took = begin.elapsed();
        }
        (numbers, took)
    }

    #[test]
    fn good_weather_passes_everything_in_order() {
        assert_eq!(through(None, 50).0, (0..50).collect::<Vec<u8>>());
    }

    #[test]
    fn a_slow_link_keeps_the_order_and_takes_its_time() {
        let (numbers, took) = through(Some(Weather::slow(100)), 50);
        assert_eq!(numbers, (0..50).collect::<Vec<u8>>());
        assert!(took >= Duration::from_millis(100), "{took:?}");
    }

    #[test]
    fn a_lossy_link_loses_doubles_and_reorders() {
        let (numbers, _) = through(Some(Weather { doubled: 30, ..Weather::lossy(30) }), 200);
        let mut distinct = numbers.clone();
        distinct.sort_unstable();
        assert!(!numbers.is_sorted(), "some are overtaken");
        let all = distinct.len();
        distinct.dedup();
        assert!(distinct.len() < all, "some come twice");
        assert!((80..190).contains(&distinct.len()), "some are lost: {} came", distinct.len());
    }
}
