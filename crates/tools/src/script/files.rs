//! How files get into a script and out of it: as content. A script is never given a folder.

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json, json};

use super::ScriptPlugin;
use crate::limits::MAX_SCRIPT_FILE_BYTES;
use crate::plugin::{OWN_PROJECT, ScriptCommand};
use crate::{Caller, Invocation, Pattern, ToolError};

/// Reads and writes people's files for scripts, with the rights of the caller and no more.
///
/// `allowed` is what the plugin may touch. A URI is to be resolved first (`..`, `fam://`, links) and then compared:
/// the plain text says nothing.
#[async_trait]
pub trait ScriptFiles: Send + Sync {
    /// Refuses a file of more than `limit` bytes.
    async fn read(
        &self,
        caller: &Caller,
        uri: &str,
        allowed: &[Pattern],
        limit: usize,
    ) -> Result<Vec<u8>, ToolError>;

    async fn write(
        &self,
        caller: &Caller,
        uri: &str,
        bytes: Vec<u8>,
        allowed: &[Pattern],
    ) -> Result<(), ToolError>;
}

/// Where there are no files to be had.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFiles;

#[async_trait]
impl ScriptFiles for NoFiles {
    async fn read(
        &self,
        _: &Caller,
        uri: &str,
        _: &[Pattern],
        _: usize,
    ) -> Result<Vec<u8>, ToolError> {
        Err(refuse(uri))
    }

    async fn write(
        &self,
        _: &Caller,
        uri: &str,
        _: Vec<u8>,
        _: &[Pattern],
    ) -> Result<(), ToolError> {
        Err(refuse(uri))
    }
}

fn refuse(uri: &str) -> ToolError {
    ToolError::unavailable(format!("{uri}: scripts have no files here")).because("script.no_files")
}

/// What a plugin was granted for files, as patterns. A command that names what it wants gets no more than that.
pub(super) fn allowed(
    kind: &str,
    plugin: &ScriptPlugin,
    wanted: &[String],
    caller: &Caller,
) -> Vec<Pattern> {
    let prefix = format!("file:{kind}:");
    plugin
        .granted
        .iter()
        .filter_map(|permission| permission.as_str().strip_prefix(&prefix))
        .filter(|place| wanted.is_empty() || wanted.iter().any(|wanted| wanted == place))
        .map(|place| match place {
            OWN_PROJECT => Pattern::new(format!("user://projects/{}/*", caller.project)),
            place => Pattern::new(place),
        })
        .collect()
}

/// The arguments as the script gets them: a parameter declared `"x-file": true` has the file's content in place of
/// its URI, `{uri, size, text}` or, if it is no text, `{uri, size, base64}`.
pub(super) async fn with_files(
    call: &Invocation,
    files: &dyn ScriptFiles,
    plugin: &ScriptPlugin,
    command: &ScriptCommand,
) -> Result<Map<String, Json>, ToolError> {
    let mut arguments = call.arguments.clone();
    let caller = &call.context.caller;
    let mut room = MAX_SCRIPT_FILE_BYTES;
    for (name, schema) in call.tool.properties() {
        let is_file = schema.get("x-file") == Some(&Json::Bool(true));
        let Some(Json::String(uri)) = arguments.get(name).filter(|_| is_file) else {
            continue;
        };
        let allowed = allowed("read", plugin, &command.read, caller);
        let bytes = files.read(caller, uri, &allowed, room).await?;
        room = room.checked_sub(bytes.len()).ok_or_else(|| {
            ToolError::invalid(format!(
                "the files for this call have more than {MAX_SCRIPT_FILE_BYTES} bytes together; name smaller ones"
            ))
            .because("script.input_too_large")
        })?;
        let size = bytes.len();
        // With NUL characters it is no text that anyone wrote, and JSON would make it six times as long.
        let content = match str::from_utf8(&bytes) {
            Ok(text) if !text.contains('\0') => json!({"uri": uri, "size": size, "text": text}),
            _ => json!({"uri": uri, "size": size, "base64": STANDARD.encode(&bytes)}),
        };
        arguments.insert(name.to_owned(), content);
    }
    Ok(arguments)
}
