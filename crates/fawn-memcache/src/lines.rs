//! The fixed answer lines, line break included, word for word as clients match them.

macro_rules! lines {
    ($($name:ident = $text:literal;)*) => {
        $(#[doc = concat!("`", $text, "`")] pub const $name: &str = concat!($text, "\r\n");)*
    };
}

lines! {
    AUTH_FAILURE = "CLIENT_ERROR authentication failure";
    AUTH_TOKEN_FORMAT = "CLIENT_ERROR bad authentication token format";
    AUTH_TOKEN_TOO_LONG = "CLIENT_ERROR auth token too long";
    BAD_CHUNK = "CLIENT_ERROR bad data chunk";
    BAD_CLASS = "BADCLASS invalid class id";
    BAD_DELTA = "CLIENT_ERROR invalid numeric delta argument";
    BAD_DELTA_VALUE = "CLIENT_ERROR invalid numeric delta value";
    BAD_EXPTIME = "CLIENT_ERROR invalid exptime argument";
    BAD_FLAG = "CLIENT_ERROR invalid flag";
    BAD_DELETE = "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]";
    BAD_FORMAT = "CLIENT_ERROR bad command line format";
    BAD_INITIAL = "CLIENT_ERROR invalid numeric initial value";
    BAD_KEY_ENCODING = "CLIENT_ERROR error decoding key";
    BAD_LINE = "CLIENT_ERROR bad command line";
    BAD_MA_FLAGS = "CLIENT_ERROR invalid or duplicate flag";
    BAD_MA_MODE = "CLIENT_ERROR invalid mode for ma M token";
    BAD_MS_MODE = "CLIENT_ERROR invalid mode for ms M token";
    BAD_SLAB_ID = "CLIENT_ERROR Illegal slab id";
    BAD_TERMINATION = "CLIENT_ERROR bad command line termination";
    BAD_TOKEN = "CLIENT_ERROR bad token in command line format";
    BAD_WINDOW = "CLIENT_ERROR automove window too low or too high";
    CRAWLER_SLEEP = "CLIENT_ERROR sleep must be one second or less";
    DELETED = "DELETED";
    DETAIL_USAGE = "CLIENT_ERROR usage: stats detail on|off|dump";
    DUPLICATE_FLAG = "CLIENT_ERROR duplicate flag";
    EN = "EN";
    END = "END";
    ERROR = "ERROR";
    EXISTS = "EXISTS";
    FLUSH_NOT_ALLOWED = "CLIENT_ERROR flush_all not allowed";
    LRU_FACTORS = "ERROR hot/warm age factors must be greater than 0";
    LRU_PERCENT = "ERROR hot and warm pcts must not exceed 80";
    MEMLIMIT_ADJUST_FAILED = "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust";
    MEMLIMIT_NOT_BYTES = "MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes";
    MEMLIMIT_TOO_SMALL = "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m";
    MN = "MN";
    NON_NUMERIC = "CLIENT_ERROR cannot increment or decrement non-numeric value";
    NOT_FOUND = "NOT_FOUND";
    NOT_STORED = "NOT_STORED";
    OK = "OK";
    OPAQUE_TOO_LONG = "CLIENT_ERROR opaque token too long";
    OUT_OF_MEMORY = "SERVER_ERROR out of memory storing object";
    REASSIGN_DISABLED = "CLIENT_ERROR slab reassignment disabled";
    RESET = "RESET";
    SHUTDOWN_DISABLED = "SERVER_ERROR: shutdown not enabled";
    STORED = "STORED";
    TOO_LARGE = "SERVER_ERROR object too large for cache";
    TOO_MANY_CONNECTIONS = "ERROR Too many open connections";
    TOO_MANY_FLAGS = "CLIENT_ERROR options flags are too long";
    TOUCHED = "TOUCHED";
    UNAUTHENTICATED = "CLIENT_ERROR unauthenticated";
    WATCH_NOT_ALLOWED = "CLIENT_ERROR watch commands not allowed";
}
