//! One line on standard error that is written over itself while something is waited for.

use std::io::Write;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::limits::MAX_WAITING_CHARS;
use crate::output::Screen;

pub(super) struct Line {
    /// Somebody sees it.
    shows: bool,
    drawn: bool,
}

impl Line {
    pub(super) fn new(screen: &Screen) -> Self {
        Self {
            shows: screen.shows_progress(),
            drawn: false,
        }
    }

    pub(super) fn shows(&self) -> bool {
        self.shows
    }

    pub(super) fn draw(&mut self, text: &str) {
        if self.shows {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K{}", fitted(text));
            let _ = std::io::stderr().flush();
            self.drawn = true;
        }
    }

    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            self.wipe();
        }
    }

    /// Also what the terminal itself has written there: `^C`.
    pub(super) fn wipe(&self) {
        if self.shows {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
            let _ = std::io::stderr().flush();
        }
    }
}

/// A line that is broken could not be written over.
fn fitted(text: &str) -> String {
    if text.width() <= MAX_WAITING_CHARS {
        return text.to_owned();
    }
    let mut wide = 0;
    let fits = |c: &char| {
        wide += c.width().unwrap_or_default();
        wide < MAX_WAITING_CHARS
    };
    let mut out: String = text.chars().take_while(fits).collect();
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_never_wider_than_a_screen() {
        for (text, wide) in [
            ("short".to_owned(), 5),
            ("x".repeat(78), 78),
            ("x".repeat(79), 78),
            ("等".repeat(39), 78),
            ("等".repeat(40), 77),
        ] {
            assert_eq!(fitted(&text).width(), wide, "{text}");
        }
    }
}
