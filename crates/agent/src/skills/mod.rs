//! Skills: folders of instructions that agents read when they need them. [`SKILL_MD`] says what one is for; further files are
//! read from there.
//!
//! - Pure: `scope.rs` (for whom), `path.rs` (names), `front.rs` and `manifest.rs` (what a package says), `read.rs` (parts of texts).
//! - `source.rs` is where a package comes from (`folder.rs`, `archive.rs`), `package.rs` looks at it; `pack.rs` makes archives.
//! - `index.rs` is what was found in one before; `shelf.rs` is where skills lie, and the only one that moves anything there. [`Skills`] (`house.rs`) is the door for hosts, with
//!   `import.rs` and `change.rs`.
//! - `effective.rs`: which skills a run has; `told.rs`: what its agent is told of them. [`SkillDesk`]: those of a live run, and what it has read; `tools/` work on that.

mod archive;
mod change;
mod desk;
mod effective;
mod error;
mod folder;
mod front;
mod house;
mod import;
mod index;
mod manifest;
mod pack;
mod package;
mod path;
mod read;
mod scope;
mod shelf;
mod source;
mod told;
mod tools;

pub use change::{WriteFile, Written};
pub use desk::SkillDesk;
pub(crate) use effective::scopes;
pub use effective::{RunSkill, RunSkills};
pub use error::SkillError;
pub use front::{SKILL_MD, SkillAbout};
pub use house::{
    SkillArchive, SkillExport, SkillIssue, SkillList, SkillSummary, SkillText, Skills,
};
pub use import::{
    Conflict, ConflictFound, ConflictStrategy, ImportInput, ImportPreview, InstallAction, Installed,
};
pub use manifest::{MANIFEST, RecommendedContext, SkillManifest};
pub use package::{ImportProgress, SkillFile};
pub use read::{Part, Piece};
pub use scope::{SkillFilter, SkillScope};
pub use source::{InlineEncoding, InlineFile};
pub use tools::tools;

#[cfg(test)]
mod tests;
