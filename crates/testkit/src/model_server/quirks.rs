//! In what ways servers differ from the documentation.

/// All off: what the documentation says.
///
/// Those about line ends, events and the end of the stream hold in every format, the others in chat completions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quirks {
    /// Ids of calls, in Gemini's format too.
    pub ids: Ids,
    /// Fragments of calls do not say to which call they belong.
    pub no_index: bool,
    /// Arguments are an object instead of its text, and come at once.
    pub object_arguments: bool,
    /// Fragments of parallel calls take turns.
    pub interleaved: bool,
    /// Nobody says why the answer ended.
    pub no_finish: bool,
    /// The mark of the end is missing: `[DONE]`, or `message_stop`.
    pub no_done: bool,
    /// Lines end with CR and LF.
    pub crlf: bool,
    /// No blank after `data:`.
    pub tight: bool,
    /// Comments between the events, and pings where the format has them.
    pub pings: bool,
    /// A first event without choices, as Azure sends it.
    pub empty_first: bool,
    /// Gemini's signatures come in an empty text of their own.
    pub signatures_apart: bool,
    /// In which field thoughts come: `reasoning_content` or `reasoning`.
    pub reasoning_field: &'static str,
    pub usage: UsageAt,
}

/// How calls are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ids {
    #[default]
    Given,
    Missing,
    /// There, but empty.
    Empty,
    /// All have the id of the first.
    Same,
    /// Every fragment repeats id and name.
    Repeated,
}

/// Where a stream of chat completions tells the counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UsageAt {
    /// In a last event without choices, if the request asks for it.
    #[default]
    AsAsked,
    /// In a last event without choices.
    Last,
    /// Beside the reason why it finished.
    WithFinish,
    /// In every event.
    Everywhere,
    Nowhere,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            ids: Ids::default(),
            no_index: false,
            object_arguments: false,
            interleaved: false,
            no_finish: false,
            no_done: false,
            crlf: false,
            tight: false,
            pings: false,
            empty_first: false,
            signatures_apart: false,
            reasoning_field: "reasoning_content",
            usage: UsageAt::default(),
        }
    }
}

impl Ids {
    /// The id of a call on the wire; `first` is the first call's.
    pub(super) fn of<'a>(self, id: &'a str, first: &'a str) -> Option<&'a str> {
        match self {
            Self::Given | Self::Repeated => Some(id),
            Self::Missing => None,
            Self::Empty => Some(""),
            Self::Same => Some(first),
        }
    }
}
