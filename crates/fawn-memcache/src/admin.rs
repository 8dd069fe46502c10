//! Commands about the server: tuning words of memcached's own memory management are checked and taken without effect.

use crate::command_line::CommandLine;
use crate::number::{i32_strict, is_positive_fraction, u32_strict};
use crate::tokens::Tokens;
use crate::{Command, Detail, Dump, Exptime, Stats, lines};

/// A command line that is no item command. `None` when memcached hangs up on it.
pub fn parse(line: &[u8]) -> Option<CommandLine<'_>> {
    let tokens = Tokens::split(line);
    let quiet = tokens.is_noreply();
    let reply = |text| CommandLine::reply(text, quiet);
    Some(match tokens.get(0) {
        b"flush_all" => flush_all(&tokens, quiet),
        b"verbosity" => match u32_strict(tokens.get(1)) {
            Some(level) => CommandLine::text(Command::Verbosity { level }, quiet),
            None => reply(lines::BAD_FORMAT),
        },
        b"cache_memlimit" => memory_limit(&tokens, quiet),
        b"lru_crawler" => lru_crawler(&tokens, quiet),
        b"shutdown" => reply(lines::SHUTDOWN_DISABLED),
        b"refresh_certs" => CommandLine::text(Command::RefreshCertificates, quiet),
        b"slabs" => reply(slabs(&tokens)),
        b"lru" => reply(lru(&tokens)),
        _ if tokens.len() > 1 && tokens.last().starts_with(b"HTTP/") => return None,
        _ => reply(lines::ERROR),
    })
}

fn flush_all<'a>(tokens: &Tokens<'a>, quiet: bool) -> CommandLine<'a> {
    let words = tokens.len() - usize::from(quiet);
    let delay = if words == 1 { Some(Exptime(0)) } else { Exptime::read(tokens.get(1)) };
    match delay {
        Some(delay) => CommandLine::text(Command::FlushAll(delay), quiet),
        None => CommandLine::reply(lines::BAD_EXPTIME, quiet),
    }
}

fn memory_limit<'a>(tokens: &Tokens<'a>, quiet: bool) -> CommandLine<'a> {
    match u32_strict(tokens.get(1)) {
        None => CommandLine::reply(lines::ERROR, quiet),
        Some(..8) => CommandLine::reply(lines::MEMLIMIT_TOO_SMALL, quiet),
        Some(1_000_000_001..) => CommandLine::reply(lines::MEMLIMIT_NOT_BYTES, quiet),
        Some(megabytes) => CommandLine::text(Command::MemoryLimit { megabytes }, quiet),
    }
}

fn lru_crawler<'a>(tokens: &Tokens<'a>, quiet: bool) -> CommandLine<'a> {
    let argument = tokens.get(2);
    let answer = match (tokens.get(1), tokens.len()) {
        (b"metadump" | b"mgdump", 3) => {
            let form = if tokens.get(1) == b"mgdump" { Dump::Mgdump } else { Dump::Metadump };
            match (classes(argument), form) {
                (Classes::All, _) => {}
                (Classes::Empty, Dump::Metadump) => return CommandLine::reply(lines::END, quiet),
                (Classes::Empty, Dump::Mgdump) => return CommandLine::reply(lines::EN, quiet),
                (Classes::Bad, _) => return CommandLine::reply(lines::BAD_CLASS, quiet),
            }
            return CommandLine::text(Command::Dump(form), quiet);
        }
        (b"crawl", 3) if argument == b"all" => lines::OK,
        (b"crawl", 3) => lines::BAD_CLASS,
        (b"tocrawl", 3) => u32_strict(argument).map_or(lines::BAD_FORMAT, |_| lines::OK),
        (b"sleep", 3) => match u32_strict(argument) {
            None => lines::BAD_FORMAT,
            Some(..=1_000_000) => lines::OK,
            Some(_) => lines::CRAWLER_SLEEP,
        },
        (b"enable" | b"disable", 2) => lines::OK,
        _ => lines::ERROR,
    };
    CommandLine::reply(answer, quiet)
}

/// Which items a list of slab classes names. All are in class 1, as `stats slabs` has it.
enum Classes {
    All,
    Empty,
    Bad,
}

fn classes(list: &[u8]) -> Classes {
    if matches!(list, b"all" | b"hash") {
        return Classes::All;
    }
    let mut found = Classes::Empty;
    for class in list.split(|byte| *byte == b',') {
        match u32_strict(class) {
            Some(1) => found = Classes::All,
            Some(2..64) => {}
            _ => return Classes::Bad,
        }
    }
    found
}

fn slabs(tokens: &Tokens<'_>) -> &'static str {
    let argument = tokens.get(3);
    match (tokens.get(1), tokens.get(2)) {
        (b"reassign", _) if tokens.len() == 4 => lines::REASSIGN_DISABLED,
        (b"automove", b"ratio" | b"freeratio") => is_positive_fraction(argument).map_or(lines::ERROR, |_| lines::OK),
        (b"automove", b"window") => match u32_strict(argument) {
            None => lines::BAD_FORMAT,
            Some(3..=1800) => lines::OK,
            Some(_) => lines::BAD_WINDOW,
        },
        (b"automove", level) if !level.is_empty() => match u32_strict(level) {
            None => lines::BAD_FORMAT,
            Some(0..=2) => lines::OK,
            Some(_) => lines::ERROR,
        },
        _ => lines::ERROR,
    }
}

fn lru(tokens: &Tokens<'_>) -> &'static str {
    let number = |at| u32_strict(tokens.get(at)).map(u64::from);
    match tokens.get(1) {
        b"tune" if tokens.len() >= 6 => {
            let factors = is_positive_fraction(tokens.get(4)).zip(is_positive_fraction(tokens.get(5)));
            match (number(2), number(3), factors) {
                (Some(hot), Some(warm), Some(_)) if hot + warm > 80 => lines::LRU_PERCENT,
                (Some(_), Some(_), Some((true, true))) => lines::OK,
                (Some(_), Some(_), Some(_)) => lines::LRU_FACTORS,
                _ => lines::ERROR,
            }
        }
        b"mode" if matches!(tokens.get(2), b"flat" | b"segmented") => lines::OK,
        b"temp_ttl" if i32_strict(tokens.get(2)).is_some() => lines::OK,
        _ => lines::ERROR,
    }
}

/// `stats` and its argument.
pub fn stats(line: &[u8]) -> CommandLine<'_> {
    let tokens = Tokens::split(line);
    let report = match tokens.get(1) {
        b"" => Stats::General,
        b"settings" => Stats::Settings,
        b"items" => Stats::Items,
        b"slabs" => Stats::Slabs,
        b"sizes" => Stats::Sizes,
        b"conns" => Stats::Connections,
        b"reset" => Stats::Reset,
        // No value lies in memcached's own store on flash.
        b"extstore" => return CommandLine::reply(lines::END, false),
        b"detail" => match tokens.get(2) {
            b"on" => Stats::Detail(Detail::On),
            b"off" => Stats::Detail(Detail::Off),
            b"dump" => Stats::Detail(Detail::Dump),
            _ => return CommandLine::reply(lines::DETAIL_USAGE, false),
        },
        b"cachedump" if tokens.len() < 4 => return CommandLine::reply(lines::BAD_LINE, false),
        b"cachedump" => match (u32_strict(tokens.get(2)), u32_strict(tokens.get(3))) {
            (Some(class @ ..64), Some(limit)) => Stats::Cachedump { class, limit },
            (Some(_), Some(_)) => return CommandLine::reply(lines::BAD_SLAB_ID, false),
            _ => return CommandLine::reply(lines::BAD_FORMAT, false),
        },
        other => Stats::Other(other),
    };
    CommandLine::text(Command::Stats(report), false)
}
