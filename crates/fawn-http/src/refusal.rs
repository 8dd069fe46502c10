//! Refused requests: a status, and a sentence that says what to do.

/// The statuses that are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
#[expect(missing_docs, reason = "each is named as RFC 9110 names it")]
pub enum HttpStatus {
    Ok = 200,
    Created = 201,
    NoContent = 204,
    PartialContent = 206,
    NotModified = 304,
    BadRequest = 400,
    Unauthorized = 401,
    Forbidden = 403,
    NotFound = 404,
    MethodNotAllowed = 405,
    Conflict = 409,
    LengthRequired = 411,
    PreconditionFailed = 412,
    ContentTooLarge = 413,
    UriTooLong = 414,
    UnsupportedMediaType = 415,
    RangeNotSatisfiable = 416,
    ExpectationFailed = 417,
    HeaderFieldsTooLarge = 431,
    InternalServerError = 500,
    NotImplemented = 501,
    ServiceUnavailable = 503,
    VersionNotSupported = 505,
    InsufficientStorage = 507,
}

impl HttpStatus {
    /// The status as a status line has it.
    pub fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::Created => "201 Created",
            Self::NoContent => "204 No Content",
            Self::PartialContent => "206 Partial Content",
            Self::NotModified => "304 Not Modified",
            Self::BadRequest => "400 Bad Request",
            Self::Unauthorized => "401 Unauthorized",
            Self::Forbidden => "403 Forbidden",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::Conflict => "409 Conflict",
            Self::LengthRequired => "411 Length Required",
            Self::PreconditionFailed => "412 Precondition Failed",
            Self::ContentTooLarge => "413 Content Too Large",
            Self::UriTooLong => "414 URI Too Long",
            Self::UnsupportedMediaType => "415 Unsupported Media Type",
            Self::RangeNotSatisfiable => "416 Range Not Satisfiable",
            Self::ExpectationFailed => "417 Expectation Failed",
            Self::HeaderFieldsTooLarge => "431 Request Header Fields Too Large",
            Self::InternalServerError => "500 Internal Server Error",
            Self::NotImplemented => "501 Not Implemented",
            Self::ServiceUnavailable => "503 Service Unavailable",
            Self::VersionNotSupported => "505 HTTP Version Not Supported",
            Self::InsufficientStorage => "507 Insufficient Storage",
        }
    }
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRefusal {
    /// The status.
    pub status: HttpStatus,
    /// A sentence for people.
    pub text: &'static str,
    /// Methods that the resource has, for a 405.
    pub allow: Option<&'static str>,
}

impl RequestRefusal {
    /// One with this status and sentence.
    pub const fn new(status: HttpStatus, text: &'static str) -> Self {
        Self { status, text, allow: None }
    }

    /// One for a request that is no HTTP/1.1, or that readers could understand differently.
    pub const fn malformed(text: &'static str) -> Self {
        Self::new(HttpStatus::BadRequest, text)
    }
}
