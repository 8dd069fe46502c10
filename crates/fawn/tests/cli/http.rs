//! HTTP of whole processes, asked by curl and by the example that loads a catalogue.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::cluster::{Cluster, Process};
use crate::server::{fawn, fawn_command, say};

const ANY: &str = "127.0.0.1:0";

/// What curl prints: the body, then the status; `None`, with a message, where it is not installed.
fn curl(arguments: &[&str]) -> Option<(String, u16)> {
    let run = Command::new("curl").args(["-sS", "--max-time", "60", "-w", "\n%{http_code}"]).args(arguments).output();
    let run = match run {
        Ok(run) => run,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: curl is not installed (apt-get install curl)");
            return None;
        }
        Err(error) => panic!("cannot start curl: {error}"),
    };
    assert!(run.status.success(), "{arguments:?}: {run:?}");
    let text = String::from_utf8(run.stdout).unwrap();
    let (body, status) = text.rsplit_once('\n').unwrap();
    Some((body.to_owned(), status.parse().unwrap()))
}

#[test]
fn curl_puts_gets_and_deletes_over_plain_connections() {
    let dir = tempfile::tempdir().unwrap();
    let (data, log) = (dir.path().join("data"), dir.path().join("log"));
    let gateway = ["gateway", "http", "--listen", ANY, "--threads", "2", "--dir", data.to_str().unwrap()];
    let gateway = Process::logged(fawn_command(&gateway), &log, "fawn: serving http on ");
    let url = format!("http://{}/v1/keys/a%20key", gateway.address);
    let Some(missing) = curl(&[&url]) else { return };
    assert_eq!(missing, ("there is no item with this key\n".to_owned(), 404));
    // curl asks before it sends more than 1 MiB, and is told so at once.
    let (large, fits) = (dir.path().join("large"), dir.path().join("fits"));
    std::fs::write(&large, vec![b'x'; 2 << 20]).unwrap();
    std::fs::write(&fits, "a value\n").unwrap();
    let put = |file: &std::path::Path| curl(&["-T", file.to_str().unwrap(), "-H", "Content-Type: text/plain", &url]);
    assert_eq!(put(&large).unwrap(), ("the value exceeds --max-item-size\n".to_owned(), 413));
    assert_eq!(put(&fits).unwrap(), (String::new(), 204));
    assert_eq!(curl(&[&url]).unwrap(), ("a value\n".to_owned(), 200));
    assert_eq!(curl(&["--http1.0", &url]).unwrap(), ("a value\n".to_owned(), 200));
    assert_eq!(curl(&["-r", "2-4", &url]).unwrap(), ("val".to_owned(), 206));
    let chunked = ["-X", "PUT", "-H", "Transfer-Encoding: chunked", "-H", "Content-Type: text/css", "-d", "p{}", &url];
    assert_eq!(curl(&chunked).unwrap().1, 204);
    let batch = format!("http://{}/v1/batch", gateway.address);
    let (body, status) = curl(&["-d", r#"{"get":["a key","none"]}"#, &batch]).unwrap();
    assert!(status == 200 && body.contains(r#"{"key":"a key","value":"p{}","type":"text/css""#), "{body}");
    assert!(body.ends_with(r#"{"key":"none","value":null}]}"#), "{body}");
    assert_eq!(curl(&["-X", "DELETE", &url]).unwrap(), (String::new(), 204));
}

#[test]
fn curl_says_who_it_is_over_tls() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (cert, key) = (file("cert.pem"), file("key.pem"));
    let made = rcgen::generate_simple_self_signed(["localhost".into()]).unwrap();
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    std::fs::write(file("users"), "alice:secret\n").unwrap();
    for secret in [&key, &file("users")] {
        std::fs::set_permissions(secret, PermissionsExt::from_mode(0o600)).unwrap();
    }
    let (data, users) = (file("data"), file("users"));
    let serve = ["serve", "--dir", &data, "--listen", ANY, "--http", ANY, "--threads", "1", "--auth-file", &users];
    let server = [&serve[..], &["--tls-cert", &cert, "--tls-key", &key]].concat();
    let server = Process::logged(fawn_command(&server), dir.path().join("log").as_path(), "fawn: serving http on ");
    let port = server.address.rsplit(':').next().unwrap();
    let url = format!("https://localhost:{port}/v1/keys/a");
    let Some(refused) = curl(&["--cacert", &cert, "--resolve", &format!("localhost:{port}:127.0.0.1"), &url]) else {
        return;
    };
    assert_eq!(refused.1, 401);
    let resolve = format!("localhost:{port}:127.0.0.1");
    let ask = |more: &[&str]| curl(&[&["--cacert", &cert, "--resolve", &resolve, &url], more].concat()).unwrap();
    assert_eq!(ask(&["--user", "alice:secret", "-X", "PUT", "-d", "x", "-H", "Content-Type: text/plain"]).1, 204);
    assert_eq!(ask(&["--oauth2-bearer", "YWxpY2U6c2VjcmV0"]), ("x".to_owned(), 200));
    assert_eq!(ask(&["--user", "alice:wrong"]).1, 401);
}

#[test]
fn a_gateway_in_front_of_a_cluster_serves_what_its_nodes_have() {
    let cluster = Cluster::start(2, 2);
    let gateway = ["gateway", "http", "--listen", ANY, "--name", "web", "--threads", "1", "--manager"];
    let gateway = fawn_command(&[&gateway[..], &[cluster.manager.address.as_str()]].concat());
    let gateway = Process::logged(gateway, &cluster.file("web.log"), "fawn: serving http on ");
    let url = format!("http://{}/v1/keys/a", gateway.address);
    assert_eq!(say(cluster.clients(), "set a 3 0 5\r\nvalue", "\r\n"), "STORED\r\n");
    let Some(found) = curl(&[&url]) else { return };
    assert_eq!(found, ("value".to_owned(), 200));
    let put = ["-X", "PUT", "-H", "Content-Type: text/html", "-H", "If-Match: *", "-d", "<p>", &url];
    assert_eq!(curl(&put).unwrap().1, 204);
    assert_eq!(say(cluster.clients(), "get a", "END\r\n"), "VALUE a 1208090624 3\r\n<p>\r\nEND\r\n");
    assert_eq!(
        curl(&["-X", "PUT", "-H", "If-Match: \"1\"", "-H", "Content-Type: text/html", "-d", "x", &url]).unwrap().1,
        412
    );
    assert_eq!(curl(&["-X", "POST", &url.replace("keys/a", "counters/n?by=7")]).unwrap(), ("7".to_owned(), 200));
    assert_eq!(curl(&["-X", "DELETE", &url]).unwrap().1, 204);
    assert_eq!(curl(&["-I", &url]).unwrap().1, 404);
}

#[test]
fn a_catalogue_is_loaded_and_its_page_names_pictures_that_are_there() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let gateway = ["gateway", "http", "--listen", ANY, "--threads", "2", "--dir", data.to_str().unwrap()];
    let gateway = Process::logged(fawn_command(&gateway), &dir.path().join("log"), "fawn: serving http on ");
    let url = format!("http://{}", gateway.address);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/catalogue/load.py");
    let run = Command::new("python3").args(["-B", script, "--to", &url, "--products", "40"]).output();
    let Ok(run) = run else {
        eprintln!("skipped: Python is not installed (apt-get install python3)");
        return;
    };
    assert!(run.status.success(), "{run:?}");
    let said = String::from_utf8(run.stdout).unwrap();
    assert!(said.starts_with("put 81 values"), "{said}");
    let Some((page, status)) = curl(&[said.lines().nth(1).unwrap()]) else { return };
    let pictures: Vec<&str> = page.split("src=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!((status, pictures.len()), (200, 40));
    for picture in pictures {
        let (svg, status) = curl(&[&format!("{url}/v1/keys/shop/{picture}")]).unwrap();
        assert!(status == 200 && svg.starts_with("<svg "), "{picture}: {svg}");
    }
}

#[test]
fn a_gateway_without_anything_to_serve_says_what_to_give() {
    for (arguments, says) in [
        (&["gateway", "http"][..], "--dir"),
        (&["gateway", "http", "--dir", "/nowhere/d", "--manager", "127.0.0.1:1"], "cannot be used with"),
        (&["gateway", "http", "--dir", "/nowhere/d", "--name", "n"], "cannot be used with"),
        (&["gateway", "http", "--manager", "127.0.0.1:1", "--memory", "64M"], "cannot be used with"),
        (&["gateway"], "http"),
    ] {
        let run = fawn(arguments);
        assert!(run.code == 2 && run.stderr.contains(says), "{arguments:?}: {run:?}");
    }
}
