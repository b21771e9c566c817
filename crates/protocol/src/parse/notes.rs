//! Diagnostics in the making, bounded: a hostile text may deserve a million of them.

use std::borrow::Cow;

use crate::limits::{MAX_DIAGNOSTICS, MAX_QUOTE_CHARS};
use crate::{Code, Diagnostic, Severity, Span};

#[derive(Debug, Clone, Default)]
pub(super) struct Notes {
    kept: Vec<Diagnostic>,
    errors: usize,
    dropped: usize,
    last: Span,
}

impl Notes {
    pub(super) fn add(&mut self, code: Code, span: Span, message: &'static str) {
        self.add_with(code, span, || Cow::Borrowed(message));
    }

    /// Errors and warnings are counted apart, so that a flood of warnings cannot hide an error.
    pub(super) fn add_with<M: Into<Cow<'static, str>>>(
        &mut self,
        code: Code,
        span: Span,
        message: impl FnOnce() -> M,
    ) {
        let is_error = code.severity() == Severity::Error;
        let count = if is_error {
            self.errors
        } else {
            self.kept.len() - self.errors
        };
        if count < MAX_DIAGNOSTICS {
            self.errors += usize::from(is_error);
            self.kept.push(Diagnostic::new(code, span, message()));
        } else {
            self.dropped += 1;
            self.last = span;
        }
    }

    /// Whether a further warning would only be counted.
    pub(super) fn is_full(&self) -> bool {
        self.warnings() >= MAX_DIAGNOSTICS
    }

    pub(super) fn warnings(&self) -> usize {
        self.kept.len() - self.errors
    }

    pub(super) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    pub(super) fn has(&self, code: Code) -> bool {
        self.kept.iter().any(|kept| kept.code == code)
    }

    pub(super) fn finish(mut self) -> Vec<Diagnostic> {
        if self.dropped > 0 {
            self.kept.push(Diagnostic::new(
                Code::MoreDiagnostics,
                self.last,
                format!("{} more remarks of this kind are not listed.", self.dropped),
            ));
        }
        self.kept
    }
}

/// A short quotation for a message: one line, bounded.
pub(crate) fn quote(text: &str) -> String {
    let text = text.trim();
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == MAX_QUOTE_CHARS {
            out.push('…');
            break;
        }
        out.push(if c.is_control() { ' ' } else { c });
    }
    out
}
