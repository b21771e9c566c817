//! The files of a plugin's page: those below the folder that it serves, as long as a person lets it be on. Opened by themselves
//! they run nothing, and nothing that is secret lies there.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use innkeeper_protocol::ErrorCode;
use innkeeper_tools::plugin::Standing;

use super::off_the_road;
use crate::auth::MayRead;
use crate::guard::PathOf;
use crate::house::House;
use crate::limits::MAX_ASSET_BYTES;
use crate::problem::Problem;

/// What the page's own policy lets in from here; as a document of its own it may do nothing at all.
const POLICY: &str = "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; frame-ancestors 'none'; sandbox";

/// What a browser takes it for. Anything else is only bytes.
const TYPES: &[(&str, &str)] = &[
    ("js", "text/javascript; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("json", "application/json"),
    ("map", "application/json"),
    ("wasm", "application/wasm"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("ico", "image/x-icon"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("txt", "text/plain; charset=utf-8"),
];

pub(crate) async fn asset(
    may: MayRead,
    PathOf((name, path)): PathOf<(String, String)>,
) -> Result<Response, Problem> {
    let extension = path.rsplit_once('.').map(|(_, extension)| extension);
    let kind = extension.and_then(|extension| {
        let known = TYPES
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(extension));
        known.map(|(_, kind)| *kind)
    });
    let bytes = off_the_road(may.house, move |house| read(house, &name, &path)).await?;
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static(kind.unwrap_or("application/octet-stream")),
        ),
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static(POLICY),
        ),
    ];
    Ok((headers, bytes).into_response())
}

fn nothing(name: &str) -> Problem {
    let name: String = name.chars().take(80).collect();
    Problem::new(
        ErrorCode::HttpNotFound,
        format!("the plugin '{name}' is not on, or serves no such file"),
    )
}

fn read(house: &House, name: &str, path: &str) -> Result<Vec<u8>, Problem> {
    let plugin = house.plugins.find(name)?;
    let front = plugin
        .package
        .as_ref()
        .and_then(|package| package.frontend.as_ref());
    let Some(front) = front.filter(|_| plugin.state == Standing::Enabled) else {
        return Err(nothing(name));
    };
    // Plain names only: no way up, no drive, no stream of another system, nothing hidden.
    let is_plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.contains(['\\', ':', '\0'])
            && !part.ends_with(['.', ' '])
    };
    if path.len() > 1_000 || !path.split('/').all(is_plain) {
        return Err(nothing(name));
    }
    // What lies there is opened below that folder or not at all, whatever links lie in it.
    let below = || {
        let root = Dir::open_ambient_dir(&plugin.folder, ambient_authority())?;
        let served = root.open_dir(&front.root)?;
        let file = served.open(path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(std::io::ErrorKind::NotFound.into());
        }
        if about.len() > MAX_ASSET_BYTES {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        let mut bytes = Vec::new();
        let mut file = std::io::Read::take(file, MAX_ASSET_BYTES);
        std::io::Read::read_to_end(&mut file, &mut bytes)?;
        Ok::<_, std::io::Error>(bytes)
    };
    below().map_err(|error| match error.kind() {
        std::io::ErrorKind::FileTooLarge => Problem::new(
            ErrorCode::HttpTooLarge,
            format!("files of a page have at most {MAX_ASSET_BYTES} bytes"),
        ),
        _ => nothing(name),
    })
}
