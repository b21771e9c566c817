//! Why a model did not answer, or not to the end.
//!
//! One table of kinds: the platform's code, a finer name, and whether trying again can help.

use std::time::Duration;

use innkeeper_protocol::ErrorCode;

use crate::ModelReply;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $reason:literal, $code:ident, $again:literal;)*) => {
        /// What went wrong. The names never change once released.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ModelErrorKind { $($(#[$doc])* $name,)* }

        impl ModelErrorKind {
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The finer name beside the platform's code.
            pub const fn reason(self) -> &'static str {
                match self { $(Self::$name => $reason,)* }
            }

            pub const fn code(self) -> ErrorCode {
                match self { $(Self::$name => ErrorCode::$code,)* }
            }

            /// Whether the same request may succeed later.
            pub const fn may_pass(self) -> bool {
                match self { $(Self::$name => $again,)* }
            }
        }
    };
}

kinds! {
    /// No model of that name is known.
    UnknownModel = "model.unknown", ModelRequestFailed, false;
    /// The provider asks to slow down.
    RateLimited = "model.rate_limited", ModelProviderRateLimited, true;
    /// The provider cannot be reached, or says that it has trouble of its own.
    ServerError = "model.server_error", ModelRequestFailed, true;
    Timeout = "model.timeout", ModelRequestFailed, true;
    /// The answer stopped before its end.
    BrokenStream = "model.broken_stream", ModelRequestFailed, true;
    /// What came cannot be read.
    Malformed = "model.malformed", ModelUpstreamInvalidResponse, true;
    /// The answer is longer than anything that makes sense.
    TooLarge = "model.too_large", ModelUpstreamInvalidResponse, false;
    Unauthorized = "model.unauthorized", ModelUnauthorized, false;
    /// The provider does not want this request: a field it does not know, or a subject it does not touch.
    Refused = "model.refused", ModelRequestFailed, false;
    /// Nobody answers there as they should: a wrong address, a redirect, a certificate that nobody trusts, a channel that is
    /// set up wrongly, or a model that cannot do what is asked of it. Another channel may do.
    Misdirected = "model.misdirected", ModelRequestFailed, false;
    ContextTooLong = "model.context_too_long", ModelContextTooLong, false;
    /// Somebody here did not want the answer any more.
    Cancelled = "model.cancelled", AgentCancelled, false;
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub kind: ModelErrorKind,
    /// What happened, where, and what to do about it, without a full stop at the end.
    pub message: String,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// What had come until then. Filled in by [`crate::ModelStream`]; `None` if nothing had.
    pub arrived: Option<Box<ModelReply>>,
}

impl ModelError {
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after: None,
            arrived: None,
        }
    }

    pub fn code(&self) -> ErrorCode {
        self.kind.code()
    }

    pub fn reason(&self) -> &'static str {
        self.kind.reason()
    }

    /// Whether the request may be sent again as it is: it may pass, and nobody would see anything twice.
    pub fn retryable(&self) -> bool {
        self.kind.may_pass() && self.arrived.is_none()
    }
}
