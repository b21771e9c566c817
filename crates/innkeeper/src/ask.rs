//! Asking the person at the terminal, on standard error, so that results stay apart. What is typed while a run goes on
//! is heard by `typed.rs`.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::output::printable;
use crate::typed;

/// There is one terminal, so there is one flag for all who write to it.
static ASKING: AtomicBool = AtomicBool::new(false);

/// While it lives, nothing else is written to the terminal.
pub(crate) struct Asking {
    is_answered: bool,
}

impl Asking {
    pub(crate) fn begin() -> Self {
        ASKING.store(true, Ordering::Release);
        Self { is_answered: false }
    }

    pub(crate) fn answered(mut self) {
        self.is_answered = true;
    }

    pub(crate) fn is_under_way() -> bool {
        ASKING.load(Ordering::Acquire)
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        ASKING.store(false, Ordering::Release);
        if !self.is_answered {
            // The cursor stands behind a question that nobody waits for any more.
            let _ = writeln!(io::stderr());
        }
    }
}

/// Whether somebody can be asked and can answer.
pub(crate) fn somebody_is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Shows a text that may hold foreign words, as lines.
pub(crate) fn show(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(text));
}

/// Leaves the cursor behind it.
pub(crate) fn prompt(prompt: &str) -> io::Result<()> {
    let mut stderr = io::stderr();
    write!(stderr, "{prompt}")?;
    stderr.flush()
}

/// One line, without its end; nothing if the person closed the input. Not while a run goes on: the person may never
/// answer.
pub(crate) fn line(prompt: &str) -> io::Result<Option<String>> {
    self::prompt(prompt)?;
    typed::read(&mut io::stdin().lock())
}

/// Whatever was typed up to now was meant for something else: an answer is given to a question that was seen.
#[cfg(unix)]
pub(crate) fn forget_typed() {
    use rustix::termios::{QueueSelector, tcflush};

    // Where it cannot be forgotten, it is read as an answer, as everywhere else.
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
}

#[cfg(not(unix))]
pub(crate) fn forget_typed() {}

/// A line that does not appear on the screen while it is typed.
pub(crate) fn hidden_line(prompt: &str) -> io::Result<Option<String>> {
    let _hidden = Echo::off()?;
    let answer = line(prompt);
    let _ = writeln!(io::stderr());
    answer
}

/// Puts the terminal back as it was when dropped.
#[cfg(unix)]
struct Echo(rustix::termios::Termios);

#[cfg(unix)]
impl Echo {
    fn off() -> io::Result<Self> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

        let before = tcgetattr(io::stdin())?;
        let mut quiet = before.clone();
        quiet.local_modes -= LocalModes::ECHO;
        tcsetattr(io::stdin(), OptionalActions::Flush, &quiet)?;
        Ok(Self(before))
    }
}

#[cfg(unix)]
impl Drop for Echo {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};

        // Nothing more can be done for a terminal that does not take its own settings back.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

#[cfg(not(unix))]
struct Echo;

#[cfg(not(unix))]
impl Echo {
    fn off() -> io::Result<Self> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "a secret cannot be typed unseen on this system",
        ))
    }
}
