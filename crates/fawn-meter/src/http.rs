//! A plug on the local network, asked over HTTP.

use std::time::Duration;

use serde_json::Value;
use ureq::Agent;

use crate::error::MeterError;

/// How long an answer may take, all of it.
pub const TIME_OUT: Duration = Duration::from_secs(2);
/// Answers are longer than this nowhere.
const MOST_BYTES: u64 = 64 << 10;
/// So much is quoted of an answer that is none.
const QUOTED: usize = 60;

/// A plug.
#[derive(Clone, Debug)]
pub struct Plug {
    /// `http://HOST[:PORT]`.
    base: String,
    /// What it should be, with an article.
    expected: &'static str,
    agent: Agent,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub enum HttpReply {
    /// What was asked for.
    Json(Value),
    /// There is nothing under this path.
    NotFound,
}

impl Plug {
    /// At `base`, `http://HOST[:PORT]`; `expected` is what it should be.
    pub fn new(base: &str, expected: &'static str) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(TIME_OUT))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            // A plug is nearby: what the environment says of proxies is for other addresses.
            .proxy(None)
            .build();
        Self { base: base.to_owned(), expected, agent: config.into() }
    }

    /// Where it is.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Asks for what is under `path`.
    ///
    /// # Errors
    /// [`MeterError::Silent`], [`MeterError::Password`], [`MeterError::Answer`].
    pub fn get(&self, path: &str) -> Result<HttpReply, MeterError> {
        let url = format!("{}{path}", self.base);
        let silent = |error: ureq::Error| MeterError::Silent { url: url.clone(), reason: reason(&error) };
        let mut response = self.agent.get(&url).call().map_err(silent)?;
        match response.status().as_u16() {
            200 => {}
            401 | 403 => return Err(MeterError::Password(self.base.clone())),
            404 => return Ok(HttpReply::NotFound),
            status => return Err(self.odd(path, &format!("with status {status}"))),
        }
        let text = response.body_mut().with_config().limit(MOST_BYTES).read_to_string().map_err(silent)?;
        serde_json::from_str(&text).map(HttpReply::Json).map_err(|_| self.odd(path, &format!("{:?}", quote(&text))))
    }

    /// What is under a path that must be there.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn must_get(&self, path: &str) -> Result<Value, MeterError> {
        match self.get(path)? {
            HttpReply::Json(value) => Ok(value),
            HttpReply::NotFound => Err(self.odd(path, "that it does not know the path")),
        }
    }

    /// An answer that is not what such a plug says.
    pub fn odd(&self, path: &str, found: &str) -> MeterError {
        MeterError::Answer { url: format!("{}{path}", self.base), found: found.to_owned(), expected: self.expected }
    }

    /// The number at `pointer` of what came from `path`.
    ///
    /// # Errors
    /// [`MeterError::Answer`].
    pub fn number(&self, path: &str, value: &Value, pointer: &str) -> Result<f64, MeterError> {
        value.pointer(pointer).and_then(Value::as_f64).filter(|number| number.is_finite()).ok_or_else(|| {
            let name = pointer.trim_start_matches('/').replace('/', ".");
            self.odd(path, &format!("without a number {name}: {:?}", quote(&value.to_string())))
        })
    }
}

/// What went wrong, without the library's own words for it.
fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => format!("no reply within {} s", TIME_OUT.as_secs()),
        ureq::Error::HostNotFound => "the host does not exist".to_owned(),
        ureq::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// The beginning of a text.
fn quote(text: &str) -> String {
    text.chars().take(QUOTED).collect()
}
