//! `$ref` within one schema document.

use serde_json::Value as Json;

/// Hops that are followed; a ring of them ends here.
const MAX_HOPS: usize = 8;

/// Follows `$ref` into the same document.
pub(crate) fn resolved<'s>(mut schema: &'s Json, root: &'s Json) -> &'s Json {
    for _ in 0..MAX_HOPS {
        let target = schema
            .get("$ref")
            .and_then(Json::as_str)
            .and_then(|reference| reference.strip_prefix('#'))
            .and_then(|pointer| root.pointer(pointer));
        match target {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}
