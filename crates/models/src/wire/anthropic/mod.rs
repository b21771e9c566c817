//! Anthropic's messages: `POST {base}/messages`, where the base holds `/v1`.
//!
//! Parts of its own are kept as the block they were (`{"type": "thinking", …}`), under the name `anthropic`.

mod decode;
mod encode;

pub(super) use self::decode::Decode;
pub(super) use self::encode::encode;
use super::talk::Own;

/// It signs whole blocks, so nothing is attached to another part.
const OWN: Own = Own {
    provider: "anthropic",
    signature: None,
};
/// The version of the format that is spoken here.
pub(super) const VERSION: &str = "2023-06-01";
