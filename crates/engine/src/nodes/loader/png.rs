//! The character card in a PNG: a tEXt chunk `ccv3` or `chara` whose text is base64 of JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use crate::limits::{MAX_CARD_BYTES, MAX_PNG_CHUNKS};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// `encoded` is the whole picture as base64. The error says why there is no card.
pub(super) fn card(encoded: &str) -> Result<Json, String> {
    if encoded.len() > MAX_CARD_BYTES / 3 * 4 {
        return Err(format!("the picture is larger than {MAX_CARD_BYTES} bytes"));
    }
    let bytes = decode(encoded.as_bytes()).ok_or("it did not come as base64")?;
    let mut rest = bytes.strip_prefix(SIGNATURE).ok_or("it is no PNG")?;
    let mut older = None;
    for _ in 0..MAX_PNG_CHUNKS {
        let Some((kind, data, behind)) = chunk(rest) else {
            break;
        };
        if kind == b"tEXt"
            && let Some(at) = data.iter().position(|byte| *byte == 0)
            && let (keyword, Some((_, value))) =
                (data.get(..at), data.get(at..).and_then(<[u8]>::split_first))
        {
            match keyword {
                // The newer form beats the older one, wherever it stands.
                Some(b"ccv3") => return read(value),
                Some(b"chara") => older = older.or(Some(value)),
                _ => {}
            }
        }
        if kind == b"IEND" {
            break;
        }
        rest = behind;
    }
    match older {
        Some(value) => read(value),
        None => Err("the picture has no tEXt chunk 'ccv3' or 'chara'".to_owned()),
    }
}

/// Kind, data and what follows; the checksum is for those who draw the picture.
fn chunk(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (kind, rest) = rest.split_at_checked(4)?;
    let (data, rest) = rest.split_at_checked(length)?;
    let (_, rest) = rest.split_at_checked(4)?;
    Some((kind, data, rest))
}

fn read(value: &[u8]) -> Result<Json, String> {
    let json = decode(value).ok_or("its card is no base64")?;
    serde_json::from_slice(&json).map_err(|error| format!("its card is no JSON: {error}"))
}

/// Line breaks and blanks, which some programs write, mean nothing.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let plain: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    STANDARD.decode(plain).ok()
}
