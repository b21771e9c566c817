//! The file layer as scripts meet it: with the rights of the caller, and only where the plugin may.

use async_trait::async_trait;

use crate::file::{FileLayer, WriteMode};
use crate::script::ScriptFiles;
use crate::{Caller, FileUri, Pattern, ToolError};

#[async_trait]
impl ScriptFiles for FileLayer {
    async fn read(
        &self,
        caller: &Caller,
        uri: &str,
        allowed: &[Pattern],
        limit: usize,
    ) -> Result<Vec<u8>, ToolError> {
        let uri = permitted(self, caller, uri, allowed, "read")?;
        Ok(FileLayer::read(self, &uri, limit as u64).await?)
    }

    async fn write(
        &self,
        caller: &Caller,
        uri: &str,
        bytes: Vec<u8>,
        allowed: &[Pattern],
    ) -> Result<(), ToolError> {
        let uri = permitted(self, caller, uri, allowed, "written")?;
        FileLayer::write(self, &uri, bytes, WriteMode::Replace).await?;
        Ok(())
    }
}

/// The pattern is compared with the resolved URI; one that ends in `/` or names a folder covers what is in it.
fn permitted(
    files: &FileLayer,
    caller: &Caller,
    uri: &str,
    allowed: &[Pattern],
    what: &str,
) -> Result<FileUri, ToolError> {
    let uri = files.resolve(caller, uri)?;
    let text = uri.to_string();
    let fits = allowed
        .iter()
        .any(|pattern| covers(files, caller, pattern, &text));
    if fits {
        return Ok(uri);
    }
    Err(ToolError::denied(format!(
        "{text} may not be {what} by this plugin; it was granted {}",
        match allowed {
            [] => "no files".to_owned(),
            some => some
                .iter()
                .map(Pattern::as_str)
                .collect::<Vec<_>>()
                .join(", "),
        }
    ))
    .because("plugin.file_not_granted")
    .permanent())
}

/// A grant may be written with `fam://`; what stands before its first star is resolved like the file itself.
fn covers(files: &FileLayer, caller: &Caller, pattern: &Pattern, text: &str) -> bool {
    if pattern.matches(text) {
        return true;
    }
    let written = pattern.as_str();
    let (fixed, rest) = match written.find('*') {
        Some(at) => written.split_at(at),
        None => (written, ""),
    };
    let Ok(fixed_uri) = files.resolve(caller, fixed.trim_end_matches('/')) else {
        return false;
    };
    let slash = match fixed.ends_with('/') {
        true => "/",
        false => "",
    };
    match rest {
        "" => {
            let folder = fixed_uri.to_string();
            text == folder
                || text
                    .strip_prefix(folder.as_str())
                    .is_some_and(|behind| behind.starts_with('/'))
        }
        rest => Pattern::new(format!("{fixed_uri}{slash}{rest}")).matches(text),
    }
}
