//! The port: a little HTTP in a thread of its own, with bounds on what anyone can make it hold.

use crate::board::Board;
use crate::page::Page;
use crate::process;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Connections at a time; for another one, the one goes that has asked nothing for longest.
const CONNECTIONS: usize = 16;

/// Bytes and number of a request's headers, at most.
const HEADER_BYTES: usize = 16 << 10;
const HEADERS: usize = 64;

/// A connection that sends no whole header for so long is closed.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// Every connection is closed after this: whoever takes its answers slowly holds nothing for longer.
const CONNECTION_TIMEOUT: Duration = Duration::from_mins(1);

/// After a failure to accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What there is.
const INDEX: &str = "/metrics  counters and state of this process, in the Prometheus format;\n          \
    /metrics?ranges=no leaves out the metrics of single ranges\n/health   whether it serves: 200, or 503 with the \
    reasons\n";

/// Why there is no admin port.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// The address.
    #[error("cannot listen on {address}: {error}; choose another with --admin ADDR:PORT")]
    Listen {
        /// As given.
        address: String,
        /// What the system says.
        error: io::Error,
    },
    /// Listening to the world.
    #[error(
        "{0} can be reached from other machines, and the admin port has neither TLS nor authentication; listen on \
        127.0.0.1, or pass --insecure if the network is trusted"
    )]
    Exposed(SocketAddr),
    /// The system has no more of something.
    #[error("cannot run the admin port: {0}")]
    System(#[from] io::Error),
}

/// An admin port that answers until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Server {
    /// Listens on `HOST:PORT`, port 0 taking a free one, and answers what `board` has.
    ///
    /// # Errors
    /// [`AdminError`].
    pub fn start(listen: &str, insecure: bool, board: Board) -> Result<Self, AdminError> {
        // Before anybody sets the clock.
        process::note_start();
        let failed = |error| AdminError::Listen { address: listen.to_owned(), error };
        let addresses: Vec<SocketAddr> = listen.to_socket_addrs().map_err(failed)?.collect();
        if let Some(open) = addresses.iter().find(|address| !address.ip().is_loopback() && !insecure) {
            return Err(AdminError::Exposed(*open));
        }
        let listener = TcpListener::bind(&addresses[..]).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = watch::channel(false);
        let thread = thread::Builder::new().name("fawn-admin".to_owned()).spawn(move || {
            if let Err(error) = runtime.block_on(serve(listener, board, stopped)) {
                tracing::error!("the admin port has failed: {error}");
            }
        })?;
        tracing::info!("metrics and health are on http://{address}/");
        Ok(Self { address, stop, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(listener: TcpListener, board: Board, mut stopped: watch::Receiver<bool>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut open: VecDeque<HttpConnection> = VecDeque::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::debug!("the admin port cannot accept a connection: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
            _ = stopped.changed() => return Ok(()),
        };
        make_room(&mut open);
        let (board, asked) = (board.clone(), Arc::new(AtomicBool::new(false)));
        let its_asked = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            let service = service_fn(move |request| {
                its_asked.store(true, Ordering::Relaxed);
                let answer = answer(&request, &board);
                async move { Ok::<_, Infallible>(answer) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIMEOUT)
                .max_buf_size(HEADER_BYTES)
                .max_headers(HEADERS)
                .serve_connection(TokioIo::new(stream), service);
            if let Ok(Err(error)) = tokio::time::timeout(CONNECTION_TIMEOUT, connection).await {
                tracing::debug!("a connection of the admin port was closed: {error}");
            }
        });
        open.push_back(HttpConnection { task, asked });
    }
}

/// A connection.
struct HttpConnection {
    task: JoinHandle<()>,
    /// Whether a whole request has come.
    asked: Arc<AtomicBool>,
}

/// Closes a connection if all are taken: the oldest of those that have asked nothing, so that who sends half a request keeps
/// nobody out, or else the oldest.
fn make_room(open: &mut VecDeque<HttpConnection>) {
    open.retain(|one| !one.task.is_finished());
    if open.len() >= CONNECTIONS {
        let silent = open.iter().position(|one| !one.asked.load(Ordering::Relaxed));
        if let Some(one) = open.remove(silent.unwrap_or(0)) {
            one.task.abort();
        }
    }
}

/// The answer to a request.
fn answer(request: &Request<Incoming>, board: &Board) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refusal =
            response(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET and HEAD are answered\n".to_owned());
        refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refusal;
    }
    match request.uri().path() {
        "/" => response(StatusCode::OK, PLAIN, INDEX.to_owned()),
        "/metrics" => {
            let is_without =
                request.uri().query().is_some_and(|query| query.split('&').any(|part| part == "ranges=no"));
            let mut page = board.measure(if is_without { Page::without_ranges() } else { Page::default() });
            process::measure(&mut page, board.troubles().is_empty());
            response(StatusCode::OK, METRICS, page.text())
        }
        "/health" => {
            let troubles = board.troubles();
            let status = if troubles.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            let told = serde_json::json!({"healthy": troubles.is_empty(), "reasons": troubles});
            response(status, JSON, format!("{told}\n"))
        }
        _ => response(StatusCode::NOT_FOUND, PLAIN, format!("this path does not exist; these do:\n{INDEX}")),
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const JSON: &str = "application/json";

fn response(status: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    fn server() -> (Server, Board) {
        let board = Board::new();
        (Server::start("127.0.0.1:0", false, board.clone()).unwrap(), board)
    }

    /// What comes for these bytes until the connection is closed.
    fn say(server: &Server, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(bytes).unwrap();
        let mut told = Vec::new();
        // It may be closed before all was taken.
        let _ = stream.read_to_end(&mut told);
        String::from_utf8(told).unwrap()
    }

    fn get(server: &Server, path: &str) -> String {
        say(server, format!("GET {path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n").as_bytes())
    }

    #[test]
    fn each_path_is_answered_as_what_it_is() {
        let (server, board) = server();
        let health = get(&server, "/health");
        assert!(health.starts_with("HTTP/1.1 503 "), "{health}");
        assert!(health.ends_with("{\"healthy\":false,\"reasons\":[\"it starts\"]}\n"), "{health}");
        assert!(get(&server, "/metrics").contains("\nfawn_healthy 0\n"));
        board.serves();
        let health = get(&server, "/health");
        assert!(health.starts_with("HTTP/1.1 200 ") && health.ends_with("{\"healthy\":true,\"reasons\":[]}\n"));
        let metrics = get(&server, "/metrics");
        assert!(metrics.contains("content-type: text/plain; version=0.0.4"), "{metrics}");
        assert!(metrics.contains("\nfawn_healthy 1\n") && metrics.contains("\n# TYPE fawn_build_info gauge\n"));
        assert!(get(&server, "/").contains("/metrics"));
        assert!(get(&server, "/else").starts_with("HTTP/1.1 404 "));
        let post =
            say(&server, b"POST /health HTTP/1.1\r\nhost: here\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        assert!(post.starts_with("HTTP/1.1 405 ") && post.contains("allow: GET, HEAD"), "{post}");
    }

    #[test]
    fn headers_that_are_too_long_are_refused() {
        let (server, _) = server();
        let long = format!("GET / HTTP/1.1\r\nhost: here\r\nx: {}\r\n\r\n", "y".repeat(2 * HEADER_BYTES));
        let told = say(&server, long.as_bytes());
        assert!(!told.contains("200 OK"), "{told}");
        assert!(get(&server, "/").starts_with("HTTP/1.1 200 "), "others are served");
    }

    #[test]
    fn half_sent_requests_keep_nobody_out() {
        let (server, _) = server();
        let half = || {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: he").unwrap();
            stream
        };
        let held: Vec<_> = (0..2 * CONNECTIONS).map(|_| half()).collect();
        let began = std::time::Instant::now();
        assert!(get(&server, "/").starts_with("HTTP/1.1 200 "));
        assert!(began.elapsed() < HEADER_TIMEOUT / 2, "nobody waits until the others are timed out");
        drop(held);
    }

    #[test]
    fn other_machines_are_listened_to_only_where_that_is_said() {
        let error = Server::start("0.0.0.0:0", false, Board::new()).unwrap_err().to_string();
        assert!(error.contains("can be reached from other machines") && error.contains("--insecure"), "{error}");
        assert!(Server::start("0.0.0.0:0", true, Board::new()).is_ok());
    }

    #[test]
    fn a_port_in_use_is_named() {
        let (server, _) = server();
        let address = server.address().to_string();
        let error = Server::start(&address, false, Board::new()).unwrap_err().to_string();
        assert!(error.contains(&address) && error.contains("--admin"), "{error}");
    }
}
