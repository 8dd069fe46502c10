//! stub
use super::{ParserOptions, Protocol, RequestParser};
use crate::request::{ItemInfo, ListingDetail, ReplyBody, ReplyState, ReplyWriter, RequestError};
/// stub
pub static REDIS: Redis = Redis;
/// stub
#[derive(Debug)]
pub struct Redis;
impl Protocol for Redis {
    fn name(&self) -> &'static str {
        "redis"
    }
    fn parser(&self, _: ParserOptions) -> Box<dyn RequestParser> {
        todo!()
    }
    fn too_many_connections(&self) -> &'static [u8] {
        b"-ERR max number of clients reached\r\n"
    }
}
impl ReplyWriter for Redis {
    fn write(&self, _: &ReplyState, _: &mut Vec<u8>, _: &[u8], _: &ReplyBody<'_>) {}
    fn write_error(&self, _: &mut Vec<u8>, _: &RequestError<'_>) {}
    fn write_stat(&self, _: &mut Vec<u8>, _: &str, _: &str) {}
    fn stats_end(&self) -> &'static [u8] {
        b""
    }
    fn write_listed(&self, _: &mut Vec<u8>, _: &[u8], _: Option<&ItemInfo>) {}
    fn listing_end(&self, _: ListingDetail) -> &'static [u8] {
        b""
    }
    fn version(&self) -> &'static str {
        "0"
    }
}
