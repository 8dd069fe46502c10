//! The book's cluster on three machines: its own commands, word for word, each machine a network namespace with its own
//! `/var/lib`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const PAGE: &str = include_str!("../../../../book/src/operations/clusters.md");

/// The machines, and a network that they share. `on N COMMAND` runs a command on one.
const MACHINES: &str = r#"
set -eu
mount -t tmpfs tmpfs /run && mkdir /run/netns
ip link set lo up
ip link add lan type bridge
ip link set lan up
for n in 1 2 3; do
    ip netns add machine$n
    ip link add port$n type veth peer name eth0 netns machine$n
    ip link set port$n master lan up
    ip -n machine$n address add 10.0.0.$n/24 dev eth0
    ip -n machine$n link set eth0 up
    ip -n machine$n link set lo up
    mkdir -p $HERE/var$n $HERE/home$n
done
on() {
    nsenter --net=/run/netns/machine$1 unshare --mount --uts bash -c \
        "hostname machine$1 && mount --bind $HERE/var$1 /var/lib && cd $HERE/home$1 && $2"
}
# One answer of memcached on a machine's loopback.
say() {
    on $1 "exec 3<>/dev/tcp/127.0.0.1/11211 && printf '$2\r\n' >&3 && timeout 5 head -$3 <&3" | tr -d '\r'
}
# Until a command on the first machine says something.
await() {
    for try in $(seq 300); do
        if on 1 "$2" 2>&1 | grep -q "$1"; then return; fi
        sleep 0.1
    done
    echo "never said: $1"; on 1 "$2"; exit 1
}
"#;

/// What a user tries then, and what is to be seen.
const TRIED: &str = r#"
await 'n3 *up' "$STATUS"
await 'healthy' "$STATUS"
echo "1: $(say 1 'set greeting 7 0 11\r\nhello, deer' 1)"
echo "3: $(say 3 'get greeting' 3 | paste -sd ' ')"
kill -9 $(pgrep -f 'node --name n2')
echo "3: $(say 3 'set after 0 0 4\r\nwell' 1)"
echo "1: $(say 1 'get greeting after' 5 | paste -sd ' ')"
"#;

/// What the second try says.
const SEEN: &str = "1: STORED
3: VALUE greeting 7 11 hello, deer END
3: STORED
1: VALUE greeting 7 11 hello, deer VALUE after 0 4 well END
";

/// The commands of the page's shell block that holds a text, each on one line.
fn commands(text: &str) -> Vec<String> {
    let blocks = PAGE.split("```sh\n").skip(1).map(|rest| rest.split("\n```").next().expect("a part"));
    let block = blocks.into_iter().find(|block| block.contains(text)).expect("the page has it");
    block.replace("\\\n", " ").lines().map(str::to_owned).collect()
}

#[test]
fn the_cluster_on_three_machines_does_what_the_book_says() {
    let (certificates, processes) =
        (commands("fawn certs init --dir certs --manager"), commands("fawn manager --name m1"));
    assert!(certificates.len() + processes.len() < 10, "under ten commands");
    let here = tempfile::tempdir().unwrap();
    let mut script = format!("HERE={}\n{MACHINES}", here.path().display());
    // Made on the first machine, and copied to where each belongs.
    for command in certificates {
        writeln!(script, "on 1 '{command}' > $HERE/made").unwrap();
    }
    script.push_str(
        "grep ' to 10\\.0\\.0\\.[23]$' $HERE/made | while read -r line; do n=${line##*.}; mkdir -p $HERE/home$n/certs; \
         for file in ${line% to *}; do cp $HERE/home1/$file $HERE/home$n/certs; done; done\n",
    );
    // As the page says, on each machine with its own names and address in place of the first one's.
    let (managers, processes) = processes.split_first().expect("the managers' addresses come first");
    let managers = managers.strip_prefix("M=").expect("they are a variable");
    for command in processes {
        if command.starts_with("fawn status") {
            writeln!(script, "STATUS='{}'", command.replace("$M", managers)).unwrap();
            continue;
        }
        for number in 1..=3 {
            let own = command.replace("10.0.0.1", &format!("10.0.0.{number}"));
            let own = own.replace("m1", &format!("m{number}")).replace("n1", &format!("n{number}"));
            let own = own.replace("$M", managers);
            let name = own.split(" --name ").nth(1).and_then(|rest| rest.split(' ').next()).expect("it has a name");
            writeln!(script, "on {number} '{own}' > $HERE/{name}.log 2>&1 &").unwrap();
            writeln!(script, "for try in $(seq 100); do grep -q . $HERE/{name}.log && break; sleep 0.1; done").unwrap();
        }
    }
    script.push_str(TRIED);
    let path = here.path().join("script");
    std::fs::write(&path, script).unwrap();
    let fawn = Path::new(env!("CARGO_BIN_EXE_fawn")).parent().unwrap();
    let search = format!("{}:{}", fawn.display(), std::env::var("PATH").unwrap());
    let mut alone = Command::new("unshare");
    alone.args(["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    if !rustix::process::geteuid().is_root() {
        alone.arg("--map-root-user");
    }
    let probe = "mount -t tmpfs tmpfs /run && mkdir /run/netns && ip link add lan type bridge && ip netns add m";
    let can = Command::new("unshare").args(alone.get_args()).args(["sh", "-c", probe]).output();
    if !can.as_ref().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: machines cannot be made of namespaces here: {can:?}");
        return;
    }
    let run = alone.args(["timeout", "100", "bash"]).arg(&path).env("PATH", search).output().unwrap();
    let (said, failed) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    let logs: Vec<_> = ["m1", "m2", "m3", "n1", "n2", "n3"]
        .map(|name| std::fs::read_to_string(here.path().join(format!("{name}.log"))))
        .into();
    assert_eq!(said, SEEN, "{failed}\n{logs:?}");
}
