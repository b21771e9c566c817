//! Gemini's `generateContent`: `POST {base}/models/{model}:streamGenerateContent?alt=sse`, where the base holds
//! `/v1beta`.
//!
//! Parts of its own are kept under the name `gemini`: a signature as `{"thoughtSignature": "…"}` right after the part
//! that it signs, every other as `{"part": …}`.

mod counts;
mod decode;
mod encode;

pub(super) use self::decode::Decode;
pub(super) use self::encode::encode;
use super::talk::Own;

const OWN: Own = Own {
    provider: "gemini",
    signature: Some(SIGNATURE),
};
const SIGNATURE: &str = "thoughtSignature";
/// Holds a part that goes back as it came.
const PART: &str = "part";
/// Beside a signature: it signs only so many bytes at the end of the text before it. A signed piece must neither grow
/// nor shrink, and pieces of a stream become one text here.
const TAIL: &str = "tail";
