//! The packets that pass the relay: Ethernet frames with IPv4, in VXLAN's envelope.

use std::fmt::Write as _;

/// The relay's hardware address.
pub const RELAY: [u8; 6] = [2, 0, 0, 0, 0, 2];
/// The hardware address of the router's device that leads to it.
pub const ROUTER: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// Bytes of VXLAN's header, and of it with Ethernet's.
const ENVELOPE: usize = 8;
const IP: usize = ENVELOPE + 14;

/// A hardware address as people write it.
pub fn mac_text(mac: [u8; 6]) -> String {
    mac.iter().enumerate().fold(String::new(), |mut text, (at, byte)| {
        let _ = write!(text, "{}{byte:02x}", if at == 0 { "" } else { ":" });
        text
    })
}

/// The numbers of the hosts that a packet is from and for; `None`: it is not between hosts.
pub fn ends(packet: &[u8]) -> Option<(u8, u8)> {
    let is_ipv4 = packet.get(IP - 2..IP)? == [8, 0];
    let addresses = packet.get(IP + 12..IP + 20).filter(|_| is_ipv4)?;
    let is_host = |address: &[u8]| address[..2] == [10, 77] && address[3] == 2;
    (is_host(&addresses[..4]) && is_host(&addresses[4..])).then(|| (addresses[2], addresses[6]))
}

/// Makes a packet from the router one for it: turned round, and with the checksum that network devices would have
/// computed at the last moment.
pub fn turn(packet: &mut [u8]) {
    packet[ENVELOPE..ENVELOPE + 6].copy_from_slice(&ROUTER);
    packet[ENVELOPE + 6..ENVELOPE + 12].copy_from_slice(&RELAY);
    let Some((header, segment)) = tcp(packet) else { return };
    let length = (segment.end - segment.start) as u32;
    let checksum = segment.start + 16;
    packet[checksum..checksum + 2].fill(0);
    let pseudo = sum(&packet[header + 12..header + 20]) + u64::from(TCP) + u64::from(length);
    let mut total = pseudo + sum(&packet[segment]);
    while total > 0xffff {
        total = (total >> 16) + (total & 0xffff);
    }
    packet[checksum..checksum + 2].copy_from_slice(&(!(total as u16)).to_be_bytes());
}

const TCP: u8 = 6;

/// Where the IP header begins, and the bytes of a whole TCP segment; `None`: there is none.
fn tcp(packet: &[u8]) -> Option<(usize, std::ops::Range<usize>)> {
    let header = packet.get(IP..IP + 20)?;
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let start = IP + usize::from(header[0] & 15) * 4;
    let is_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    let end = IP + length;
    let is_whole = header[9] == TCP && !is_fragment && end <= packet.len() && start + 20 <= end;
    is_whole.then_some((IP, start..end))
}

/// The sum of 16-bit words, the last one filled up with zero.
fn sum(bytes: &[u8]) -> u64 {
    bytes.chunks(2).map(|word| u64::from(word[0]) << 8 | word.get(1).map_or(0, |&low| u64::from(low))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A SYN from 10.77.1.2:45678 for 10.77.2.2:7401, but for its checksum.
    fn packet() -> Vec<u8> {
        let mut packet = vec![0; IP];
        packet[IP - 2] = 8;
        packet.extend([0x45, 0, 0, 41, 0, 1, 0x40, 0, 64, TCP, 0, 0, 10, 77, 1, 2, 10, 77, 2, 2]);
        packet.extend([0xb2, 0x6e, 0x1c, 0xe9, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 1, 0, 0xde, 0xad, 0, 0, 0x7a]);
        packet
    }

    #[test]
    fn a_packet_between_hosts_names_them() {
        assert_eq!(ends(&packet()), Some((1, 2)));
        let mut other = packet();
        other[IP + 13] = 78;
        assert_eq!(ends(&other), None);
        assert_eq!(ends(&packet()[..30]), None);
    }

    #[test]
    fn a_turned_packet_has_a_right_checksum() {
        let mut packet = packet();
        turn(&mut packet);
        let (header, segment) = tcp(&packet).unwrap();
        let length = segment.len() as u64;
        let mut total = sum(&packet[header + 12..header + 20]) + u64::from(TCP) + length + sum(&packet[segment]);
        while total > 0xffff {
            total = (total >> 16) + (total & 0xffff);
        }
        assert_eq!(total, 0xffff, "a receiver's sum over everything has all bits set");
        assert_eq!(packet[ENVELOPE..ENVELOPE + 12], [ROUTER, RELAY].concat());
    }
}
