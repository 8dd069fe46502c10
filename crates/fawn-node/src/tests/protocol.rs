//! What clients are told.

use super::harness::{Node, error_line, eventually, hit, set};

#[test]
fn every_classic_command_is_answered() {
    let node = Node::simple();
    let mut client = node.client();
    client.ask(set("k", "v1"), "STORED\r\n");
    client.ask("get k nothing k\r\n", format!("{0}{0}END\r\n", hit("k", "v1")));
    client.ask(
        "add k 0 0 1\r\nx\r\nreplace k 5 0 2\r\nv2\r\nreplace no 0 0 1\r\nx\r\n",
        "NOT_STORED\r\nSTORED\r\nNOT_STORED\r\n",
    );
    client.ask(
        "append k 0 0 1\r\n!\r\nprepend k 0 0 1\r\n?\r\nget k\r\n",
        "STORED\r\nSTORED\r\nVALUE k 5 4\r\n?v2!\r\nEND\r\n",
    );
    client.ask("gets k\r\n", "VALUE k 5 4 4\r\n?v2!\r\nEND\r\n");
    client.ask(
        "cas k 0 0 1 3\r\na\r\ncas k 0 0 1 4\r\nb\r\ncas no 0 0 1 4\r\nb\r\n",
        "EXISTS\r\nSTORED\r\nNOT_FOUND\r\n",
    );
    client.ask(
        "set n 0 0 2\r\n10\r\nincr n 5\r\ndecr n 20\r\nincr no 1\r\nincr k 1\r\n",
        "STORED\r\n15\r\n0\r\nNOT_FOUND\r\nCLIENT_ERROR cannot increment or decrement non-numeric value\r\n",
    );
    client.ask("touch k 100\r\ntouch no 1\r\ngat 0 k\r\n", "TOUCHED\r\nNOT_FOUND\r\nVALUE k 0 1\r\nb\r\nEND\r\n");
    client.ask("delete k\r\ndelete k\r\nget k\r\n", "DELETED\r\nNOT_FOUND\r\nEND\r\n");
    client.ask("set k 0 -1 1\r\nx\r\nget k\r\n", "STORED\r\nEND\r\n");
    client.ask("verbosity 1\r\nversion\r\n", format!("OK\r\nVERSION {}\r\n", fawn_memcache::VERSION));
    client.ask("bogus\r\nflush_all\r\nget n\r\n", "ERROR\r\nOK\r\nEND\r\n");
    client.say("quit\r\n");
    assert_eq!(client.rest(), "");
}

#[test]
fn meta_commands_know_the_last_use() {
    let node = Node::simple();
    let mut client = node.client();
    client.ask("ms k 2 T100 c\r\nhi\r\n", "HD c1\r\n");
    client.ask("mg k h l v\r\nmg k h\r\n", "VA 2 h0 l0\r\nhi\r\nHD h1\r\n");
    client.ask("mg no v\r\nmg no v q\r\nmn\r\n", "EN\r\nMN\r\n");
    client.ask("ma n N0 J7 v\r\nma n v\r\nmd n q\r\nmn\r\n", "VA 1\r\n7\r\nVA 1\r\n8\r\nMN\r\n");
    client.ask("ms k 2 q\r\nho\r\nmg k t v\r\n", "VA 2 t-1\r\nho\r\n");
}

#[test]
fn noreply_is_silent_and_keeps_its_place() {
    let node = Node::simple();
    node.client().ask(
        "set a 0 0 1 noreply\r\n1\r\nget a\r\nadd a 0 0 1 noreply\r\n2\r\ndelete a noreply\r\nget a\r\nflush_all noreply\r\nversion\r\n",
        format!("VALUE a 0 1\r\n1\r\nEND\r\nEND\r\nVERSION {}\r\n", fawn_memcache::VERSION),
    );
}

#[test]
fn input_may_be_split_at_every_byte() {
    let node = Node::simple();
    let words = format!("{}get a b a\r\nappend a 0 0 1\r\n2\r\nmg a v\r\nget a\r\n", set("a", "1"));
    let answer =
        "STORED\r\nVALUE a 0 1\r\n1\r\nVALUE a 0 1\r\n1\r\nEND\r\nSTORED\r\nVA 2\r\n12\r\nVALUE a 0 2\r\n12\r\nEND\r\n";
    let mut client = node.client();
    for at in 1..words.len() {
        client.say(&words[..at]);
        std::thread::yield_now();
        client.ask(&words[at..], answer);
    }
    for byte in words.as_bytes() {
        client.say([*byte]);
    }
    client.expect(answer);
}

#[test]
fn ten_thousand_keys_in_one_get() {
    let node = Node::simple();
    let mut client = node.client();
    let keys: Vec<String> = (0..10_000).map(|n| format!("a-key-of-some-length-{n}")).collect();
    let sets: String = keys.iter().map(|key| format!("set {key} 0 0 3 noreply\r\nabc\r\n")).collect();
    client.say(sets);
    let answer: String = keys.iter().map(|key| hit(key, "abc")).chain(["END\r\n".into()]).collect();
    client.ask(format!("get {}\r\n", keys.join(" ")), answer);
}

#[test]
fn a_line_of_keys_with_a_bad_one_is_refused_whole() {
    let node = Node::simple();
    let mut client = node.client();
    client.ask(set("a", "1"), "STORED\r\n");
    let long = "x".repeat(251);
    client.ask(format!("get a {long} a\r\n"), "CLIENT_ERROR bad command line format\r\n");
    client.ask("get a\r\n", format!("{}END\r\n", hit("a", "1")));
}

#[test]
fn refusals_of_the_store_say_why() {
    let node = Node::simple();
    let mut client = node.client();
    client.ask(set("a", "1"), "STORED\r\n");
    node.knobs.refuse.store(1, std::sync::atomic::Ordering::SeqCst);
    client.ask(set("a", "2"), "SERVER_ERROR out of memory storing object\r\n");
    node.knobs.refuse.store(2, std::sync::atomic::Ordering::SeqCst);
    client.ask(set("a", "2"), error_line(crate::request::NO_SPACE));
    client.ask("incr a 1\r\n", error_line(crate::request::NO_SPACE));
    client.ask("get a\r\n", format!("{}END\r\n", hit("a", "1")));
}

#[test]
fn a_value_above_the_limit_is_swallowed_and_the_old_one_goes() {
    let node = Node::start(1, 1, |options| options.max_item_bytes = 2000);
    let mut client = node.client();
    client.ask(set("a", "1"), "STORED\r\n");
    client.ask(set("a", &"x".repeat(3000)), "SERVER_ERROR object too large for cache\r\n");
    client.ask("get a\r\nversion\r\n", format!("END\r\nVERSION {}\r\n", fawn_memcache::VERSION));
}

#[test]
fn values_of_many_sizes_read_back() {
    let node = Node::start(1, 1, |options| options.max_item_bytes = 20 << 20);
    let mut client = node.client();
    for size in [0, 1, 4095, 65_536, 262_143, 262_144, 1 << 20, 9_999_999] {
        let value: String = (0..size).map(|n| char::from(b'a' + (n % 23) as u8)).collect();
        client.ask(set("big", &value), "STORED\r\n");
        client.ask("get big\r\n", format!("{}END\r\n", hit("big", &value)));
    }
}

#[test]
fn statistics_move() {
    let node = Node::simple();
    let mut client = node.client();
    client.ask(
        format!("{}get a b\r\ndelete b\r\ntouch a 0\r\n", set("a", "1")),
        format!("STORED\r\n{}END\r\nNOT_FOUND\r\nTOUCHED\r\n", hit("a", "1")),
    );
    let text = client.ask_until("stats\r\n", "END\r\n");
    for line in [
        "cmd_get 2",
        "get_hits 1",
        "get_misses 1",
        "cmd_set 1",
        "delete_misses 1",
        "cmd_touch 1",
        "touch_hits 1",
        "curr_connections 1",
        "total_connections 1",
        "curr_items 1",
        "total_items 1",
        "threads 1",
        "evictions 0",
        "fawn_entries 1",
    ] {
        assert!(text.contains(&format!("STAT {line}\r\n")), "{line} in {text}");
    }
    client.ask("stats reset\r\n", "RESET\r\n");
    assert!(client.ask_until("stats\r\n", "END\r\n").contains("STAT cmd_get 0\r\n"));
    assert!(client.ask_until("stats settings\r\n", "END\r\n").contains("STAT item_size_max 1048576\r\n"));
    let conns = client.ask_until("stats conns\r\n", "END\r\n");
    let address = format!(":addr tcp:{}\r\n", node.address());
    assert!(conns.contains(&address) && conns.contains(":state conn_listening\r\n"), "{conns}");
    assert!(conns.contains(&format!(":listen_addr tcp:{}\r\n", node.address())), "{conns}");
    assert!(client.ask_until("stats items\r\n", "END\r\n").contains("STAT items:1:number 1\r\n"));
    assert!(client.ask_until("stats slabs\r\n", "END\r\n").contains("STAT active_slabs 1\r\n"));
    client.ask("stats sizes\r\n", "STAT sizes_status disabled\r\nEND\r\n");
    client.ask("stats rubbish\r\n", "ERROR\r\n");
}

#[test]
fn every_command_takes_an_expiry_up_to_the_year_2106_and_refuses_a_later_one() {
    let node = Node::simple();
    let mut client = node.client();
    client.ask(
        "set k 0 4102444800 1\r\nx\r\ntouch k 4102444800\r\ngat 4294967295 k\r\n",
        format!("STORED\r\nTOUCHED\r\n{}END\r\n", hit("k", "x")),
    );
    client.ask("ms b 1 T4102444800\r\nx\r\nmg b T4294967295\r\nmg b R2147483648 v\r\n", "HD\r\nHD\r\nVA 1\r\nx\r\n");
    client.ask("ma n N4102444800 T4102444800\r\nmd b I T4102444800\r\n", "HD\r\nHD\r\n");
    let refused = "CLIENT_ERROR invalid exptime argument\r\n";
    client.ask(
        "set k 0 4294967296 1\r\ny\r\ntouch k 4294967296\r\ngat 4294967296 k\r\nflush_all 4294967296\r\n",
        refused.repeat(4),
    );
    client.ask(
        "mg k T4294967296\r\nget k\r\n",
        format!("CLIENT_ERROR bad token in command line format\r\n{}END\r\n", hit("k", "x")),
    );
}

#[test]
fn a_class_is_there_once_it_holds_something() {
    let node = Node::simple();
    let mut client = node.client();
    assert!(!client.ask_until("stats slabs\r\n", "END\r\n").contains("STAT 1:"));
    client.ask("stats items\r\n", "END\r\n");
    client.ask(set("k", "value"), "STORED\r\n");
    assert!(client.ask_until("stats slabs\r\n", "END\r\n").contains("STAT 1:chunk_size "));
    assert!(client.ask_until("stats items\r\n", "END\r\n").contains("STAT items:1:number 1\r\n"));
    let general = client.ask_until("stats\r\n", "END\r\n");
    for name in ["conn_yields", "listen_disabled_num", "rejected_connections", "threads", "malloc_fails"] {
        assert!(general.contains(&format!("STAT {name} ")), "{name} in {general}");
    }
    let settings = client.ask_until("stats settings\r\n", "END\r\n");
    assert!(settings.contains("STAT auth_enabled_sasl no\r\n") && settings.contains("STAT shutdown_command no\r\n"));
}

#[test]
fn what_tools_ask_a_memcached_is_no_error() {
    let node = Node::simple();
    let mut client = node.client();
    client.ask("cache_memlimit 64\r\n", "OK\r\n");
    client.ask("cache_memlimit 4\r\n", "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n");
    client.ask("stats extstore\r\n", "END\r\n");
    client.ask("lru_crawler metadump 2\r\n", "END\r\n");
    client.ask("lru_crawler crawl all\r\nlru_crawler crawl 1\r\nlru_crawler crawl 1,63\r\n", "OK\r\nOK\r\nOK\r\n");
    client.ask("lru_crawler crawl 0\r\nlru_crawler crawl 1,x\r\n", "BADCLASS invalid class id\r\n".repeat(2));
    // Half a value is awaited by one of the connections.
    let mut other = node.client();
    other.say("set half 0 0 10\r\nhalf");
    eventually(
        || node.client().ask_until("stats conns\r\n", "END\r\n").contains(":state conn_nread\r\n"),
        "a connection that reads a value",
    );
}
