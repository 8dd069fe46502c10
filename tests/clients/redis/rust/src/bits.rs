//! Checks of bits.

use redis::{Commands, Connection, cmd};

use crate::support::{CheckResult, equal, key};
pub fn setbit(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.setbit(&k, 7, true), false)?;
    equal(c.setbit(&k, 7, false), true)
}

pub fn getbit(c: &mut Connection) -> CheckResult {
    let k = key();
    c.setbit::<_, ()>(&k, 7, true)?;
    equal(c.getbit(&k, 7), true)?;
    equal(c.getbit(&k, 100), false)
}

pub fn bitcount(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "foobar")?;
    equal(c.bitcount(&k), 26)?;
    equal(c.bitcount_range(&k, 1, 1), 6)
}

pub fn bitpos(c: &mut Connection) -> CheckResult {
    let k = key();
    c.setbit::<_, ()>(&k, 12, true)?;
    equal(cmd("BITPOS").arg(&k).arg(1).query(c), 12)
}

pub fn bitfield(c: &mut Connection) -> CheckResult {
    let words = ["SET", "u8", "#1", "255", "OVERFLOW", "FAIL", "INCRBY", "u8", "#1", "1", "GET", "u8", "#1"];
    equal(cmd("BITFIELD").arg(key()).arg(&words).query(c), vec![Some(0), None, Some(255)])
}
