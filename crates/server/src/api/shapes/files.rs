//! Files of the house.

use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = FileKind)]
enum Kind {
    File,
    Directory,
    Link,
    Special,
}

#[derive(Serialize, ToSchema)]
#[schema(as = FileStat)]
pub(crate) struct Stat {
    uri: String,
    kind: Kind,
    /// In bytes; 0 for what is no file.
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    modified: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = FileListing)]
pub(crate) struct Listing {
    entries: Vec<Stat>,
    /// There is more than is told at once.
    truncated: bool,
    /// What could not be shown.
    skipped: u64,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RecycledFile)]
pub(crate) struct Recycled {
    id: String,
    /// Where it was.
    uri: String,
    user: String,
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[schema(format = DateTime)]
    deleted_at: String,
    by: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = RecycleBin)]
pub(crate) struct Bin {
    recycled: Vec<Recycled>,
}
