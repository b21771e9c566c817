//! What the parser has to say about a text: stable codes, a place, and a sentence for people.

use std::borrow::Cow;

use serde::Serialize;

use crate::Span;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Understood, but not as written by the book.
    Warning,
    /// Not understood well enough: a block with an error is reported to the model, never run. The few that
    /// depend on the tool ([`Code::is_left_to_bind`]) are decided when the call is bound.
    Error,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $wire:literal, $severity:ident;)*) => {
        /// Stable name of a diagnostic. The wire form never changes once released.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $wire,)* }
            }

            pub const fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }
        }
    };
}

codes! {
    /// A block uses marks of more than one family.
    MixedDelimitersUsed = "mixed_delimiters_used", Warning;
    /// A block is wholly in `>>> <<<`.
    AlternateDelimitersUsed = "alternate_delimiters_used", Warning;
    /// A value has no closing mark of its family.
    MissingCloseDelimiter = "missing_close_delimiter", Warning;
    /// A value holds its own closing mark; the last one was taken.
    AmbiguousCloseDelimiter = "ambiguous_close_delimiter", Warning;
    /// A block or `<tool_call>` has no end mark.
    MissingEndMarker = "missing_end_marker", Warning;
    /// An end mark without a beginning.
    MissingStartMarker = "missing_start_marker", Warning;
    /// A bare `command` beside numbered ones became step 0.
    UnnumberedCommand = "unnumbered_command", Warning;
    /// A parameter without number in a block of several steps.
    OrphanParameter = "orphan_parameter", Warning;
    /// A key was given twice; the last value counts.
    DuplicateKey = "duplicate_key", Warning;
    /// Text in a block that is neither field nor comment.
    UnparsedLine = "unparsed_line", Warning;
    /// A reply holds calls in more than one dialect.
    MixedProtocolsUsed = "mixed_protocols_used", Warning;
    /// A second `<ACTION>` block, which does not count.
    ExtraActionBlock = "extra_action_block", Warning;
    /// A `&` or `<` in XML text that should have been escaped.
    UnescapedCharacter = "unescaped_character", Warning;
    /// XML text and elements side by side; the inner XML became the value.
    MixedContent = "mixed_content", Warning;
    /// Attributes where a tool takes none.
    IgnoredAttribute = "ignored_attribute", Warning;
    /// The same call came as text and natively; the native copy is left out.
    RepeatedNativeCall = "repeated_native_call", Warning;

    /// XML that cannot be read.
    MalformedXml = "malformed_xml", Error;
    /// An `<ACTION>` or `<tool_call>` that names no tool.
    MissingTool = "missing_tool", Error;
    /// A TAM block without `command`.
    MissingCommand = "missing_command", Error;
    /// One step names two different tools.
    DuplicateCommand = "duplicate_command", Error;
    /// A step whose `command` is empty.
    EmptyCommand = "empty_command", Error;
    /// A step whose `command` cannot be a tool's name.
    InvalidCommand = "invalid_command", Error;
    /// Both `x` and `uri_x`.
    ConflictingUri = "conflicting_uri", Error;
    UnknownTypeHint = "unknown_type_hint", Error;
    InvalidOnError = "invalid_on_error", Error;
    InvalidRetry = "invalid_retry", Error;
    InvalidStepNumber = "invalid_step_number", Error;
    /// JSON that cannot be read: native arguments, or the body of a `<tool_call>`.
    InvalidJson = "invalid_json", Error;
    NestingTooDeep = "nesting_too_deep", Error;
    TooManyParameters = "too_many_parameters", Error;
    TooManyCalls = "too_many_calls", Error;
    TooManyBlocks = "too_many_blocks", Error;
    /// More was found than is listed.
    MoreDiagnostics = "more_diagnostics", Warning;
}

impl Code {
    /// Errors that are none where the tool declares a parameter of that very name (`retry`, `uri_x`, …). The
    /// parser does not know the tool, so `bind` decides and reports them.
    pub const fn is_left_to_bind(self) -> bool {
        matches!(
            self,
            Self::ConflictingUri
                | Self::UnknownTypeHint
                | Self::InvalidOnError
                | Self::InvalidRetry
        )
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    pub message: Cow<'static, str>,
    pub span: Span,
}

impl Diagnostic {
    pub fn new(code: Code, span: Span, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            severity: code.severity(),
            message: message.into(),
            span,
        }
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
