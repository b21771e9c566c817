//! What providers say when they fail, and what it means: one table for all formats, whether the words come with a status
//! of their own or in the middle of an answer. Pure.
//!
//! Where they stand in an answer is the format's; what the connection and the address have to do with it is `http`'s.

mod mask;
mod spelled;
mod words;

use serde_json::Value as Json;

pub(crate) use self::mask::Mask;
pub(crate) use self::spelled::spellings;
pub(crate) use self::words::{Words, clean, seconds};
use crate::{ModelError, ModelErrorKind};

/// One thing that servers say in many ways: parts of codes, and wordings.
struct Saying {
    codes: &'static [&'static str],
    words: &'static [&'static str],
}

impl Saying {
    fn is_in(&self, words: &Words) -> bool {
        words.has_code(self.codes) || words.says(self.words)
    }
}

/// The conversation does not fit.
const TOO_LONG: Saying = Saying {
    codes: &[
        "context_length",
        "context_size",
        "context_window",
        "request_too_large",
        "string_above_max_length",
    ],
    words: &[
        "context length",
        "context_length",
        "context limit",
        "context window",
        "context size",
        "maximum context",
        "prompt is too long",
        "prompt too long",
        "input is too long",
        "input length and",
        "maximum number of tokens",
        "maximum allowed number of input tokens",
        "too many tokens",
        "reduce the length",
    ],
};
/// Not with this model or this server, and with another perhaps: tools, images, grammars.
const CANNOT: Saying = Saying {
    codes: &[],
    words: &[
        "does not support tool",
        "doesn't support tool",
        "that support tool use",
        "tool choice requires",
        "tools param requires",
        "unsupported param: tools",
        "does not support image",
        "image input is not supported",
        "that support image input",
        "not a multimodal model",
        "failed to parse grammar",
        "invalid grammar specification",
    ],
};
/// The account has no money.
const NO_CREDIT: Saying = Saying {
    codes: &["insufficient_quota", "insufficient_credit", "billing"],
    words: &[
        "credit balance",
        "insufficient credit",
        "insufficient balance",
        "insufficient_quota",
        "billing hard limit",
        "out of credits",
    ],
};
/// The key is wrong, where the status does not say so.
const BAD_KEY: Saying = Saying {
    codes: &["api_key", "authentication", "unauthenticated"],
    words: &[
        "api key not valid",
        "invalid api key",
        "incorrect api key",
        "api key expired",
    ],
};
/// There is no such model.
const NO_MODEL: Saying = Saying {
    codes: &["model_not_found", "model_not_available"],
    words: &[
        "is not a valid model",
        "model not exist",
        "model not found",
        "no such model",
        "unknown model",
        "invalid model name",
        "no models loaded",
    ],
};
/// Something is not there; whether it is the model the words must say.
const NOT_THERE: Saying = Saying {
    codes: &["not_found"],
    words: &[
        "not found",
        "does not exist",
        "not exist",
        "not supported",
        "try pulling",
    ],
};
/// It is about what is said, not about who says it.
const FLAGGED: Saying = Saying {
    codes: &["content_filter", "content_policy", "moderation"],
    words: &["moderation", "flagged", "content policy"],
};

/// Where no status tells: parts of codes, the first that fits.
const BY_CODE: &[(&[&str], ModelErrorKind)] = {
    use ModelErrorKind as Kind;
    &[
        (
            &["rate_limit", "too_many_requests", "resource_exhausted"],
            Kind::RateLimited,
        ),
        (&["auth", "permission"], Kind::Unauthorized),
        (&["not_found"], Kind::UnknownModel),
        (&["timeout", "deadline"], Kind::Timeout),
        (
            &["overloaded", "unavailable", "server_error", "capacity"],
            Kind::ServerError,
        ),
        (
            &[
                "invalid",
                "badrequest",
                "bad_request",
                "failed_precondition",
                "out_of_range",
                "unimplemented",
            ],
            Kind::Refused,
        ),
    ]
};

/// What to do about [`CANNOT`].
pub const ASK_ANOTHER: &str = "choose a model or channel that can do this; calls of tools can also be written \
                                      in the text (`dialect`)";
const CHECK_KEY: &str = "check the channel's key";
const TOP_UP: &str = "top up the account, or use another key or channel";

/// What the words mean, and what to do about it. `status` is the answer's own; words inside an answer that began well have
/// none but the one they name.
pub(crate) fn judge(status: Option<u16>, words: &Words) -> (ModelErrorKind, &'static str) {
    use ModelErrorKind as Kind;
    let by_itself = status.is_some();
    let status = status.or(words.status);
    let is_request = status.is_none_or(|status| matches!(status, 400 | 404 | 413 | 422 | 500));
    let is_theirs = status.is_none_or(|status| status < 500);
    if is_request && TOO_LONG.is_in(words) {
        return told_by(Kind::ContextTooLong);
    }
    if is_request && CANNOT.is_in(words) {
        return (Kind::Misdirected, ASK_ANOTHER);
    }
    // A key without money is as good as none: another may do, the same one will not.
    if status == Some(402) || is_theirs && NO_CREDIT.is_in(words) {
        return (Kind::Unauthorized, TOP_UP);
    }
    if matches!(status, None | Some(403)) && FLAGGED.is_in(words) {
        return (Kind::Refused, "the provider does not touch this subject");
    }
    if status == Some(403) {
        let remedy = "check the channel's key, and what its account may use";
        return (Kind::Unauthorized, remedy);
    }
    if is_theirs && BAD_KEY.is_in(words) {
        return told_by(Kind::Unauthorized);
    }
    let names_model = || status == Some(404) && words.says(&["model"]) && NOT_THERE.is_in(words);
    if is_theirs && status != Some(401) && (NO_MODEL.is_in(words) || names_model()) {
        return told_by(Kind::UnknownModel);
    }
    told_by(match status {
        Some(401) => Kind::Unauthorized,
        // Who answers in the middle of a reply was found; only what was asked for was not.
        Some(404) if !by_itself => Kind::UnknownModel,
        Some(404 | 405) if by_itself => Kind::Misdirected,
        Some(408 | 504 | 524) => Kind::Timeout,
        // 498: Groq has no room.
        Some(409 | 425 | 498) => Kind::ServerError,
        Some(413) => Kind::ContextTooLong,
        // More than the limit lets through at any time: waiting does not help.
        Some(429) if words.says(&["request too large"]) => Kind::ContextTooLong,
        Some(429) => Kind::RateLimited,
        Some(500..) => Kind::ServerError,
        Some(_) => Kind::Refused,
        None => by_code(words),
    })
}

fn by_code(words: &Words) -> ModelErrorKind {
    let found = BY_CODE.iter().find(|(parts, _)| words.has_code(parts));
    match found {
        Some((_, kind)) => *kind,
        None if words.says(&["rate limit", "too many requests"]) => ModelErrorKind::RateLimited,
        // Words that nobody knows yet: no fault of the request.
        None => ModelErrorKind::ServerError,
    }
}

const fn told_by(kind: ModelErrorKind) -> (ModelErrorKind, &'static str) {
    let remedy = match kind {
        ModelErrorKind::ContextTooLong => {
            "shorten the conversation, or choose a model with a larger context"
        }
        ModelErrorKind::Unauthorized => CHECK_KEY,
        ModelErrorKind::RateLimited => "wait a little, or use another key or channel",
        ModelErrorKind::UnknownModel => "check the model's name and whether the account may use it",
        ModelErrorKind::Misdirected => "check the channel's base URL",
        ModelErrorKind::Refused => "change the request, or choose another model or channel",
        _ => "try again, or use another channel",
    };
    (kind, remedy)
}

/// An `error` inside an answer that began well: an object, a text, or whatever else stands there.
pub(crate) fn told(error: &Json) -> ModelError {
    let words = Words::of_json(error, &Mask::default());
    let (kind, remedy) = judge(None, &words);
    let mut message = String::from("the server broke off its reply");
    let name = words.codes.iter().find(|code| code.parse::<u16>().is_err());
    // What is said about a key may quote it, and who reads here does not know the key.
    let said = Some(words.text.as_str()).filter(|_| kind != ModelErrorKind::Unauthorized);
    match (name, said.filter(|said| !said.is_empty())) {
        (None, None) => message.push_str(" without saying why"),
        (Some(name), None) => message.push_str(&format!(": {}", clean(name))),
        (None, Some(said)) => message.push_str(&format!(": {said}")),
        (Some(name), Some(said)) => message.push_str(&format!(" ({}): {said}", clean(name))),
    }
    let mut error = ModelError::new(kind, format!("{message}; {remedy}"));
    error.retry_after = words.wait;
    error
}

pub(crate) fn malformed(message: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::Malformed, message)
}

/// The connection ended, and the reply had not.
pub(crate) fn broken_off() -> ModelError {
    ModelError::new(
        ModelErrorKind::BrokenStream,
        "the reply stopped before its end; try again, or use another channel",
    )
}

pub(crate) fn refused(message: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::Refused, message)
}

/// For what is set up wrongly here, and may be right elsewhere.
pub(crate) fn misdirected(message: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::Misdirected, message)
}

#[cfg(test)]
#[path = "trouble_tests.rs"]
mod tests;
