//! What a model says in one answer, apart from any wire format.

use serde_json::{Map, Value as Json};

use super::quirks::Quirks;

/// One answer. Parts come in the order in which they are added, except that reasoning comes before the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct Say {
    pub id: String,
    pub model: String,
    pub pieces: Vec<Piece>,
    pub usage: Option<Count>,
    /// Where nothing is said: `Stop`, or `ToolCalls` if there are calls.
    pub finish: Option<Finish>,
    /// The stream ends with this error instead of a finish.
    pub error: Option<(u16, String)>,
    pub quirks: Quirks,
    /// The piece that was added last.
    last: usize,
}

/// A part of the answer, cut into what comes at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    pub kind: PieceKind,
    /// Text, thoughts, or the text of arguments.
    pub deltas: Vec<String>,
    /// What the provider wants back with it: the signature of a thought, of a text or of a call.
    pub signature: Option<String>,
    /// Further fields of the object on the wire that the piece is.
    pub fields: Map<String, Json>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PieceKind {
    Text,
    Reasoning,
    Call {
        id: String,
        name: String,
    },
    /// On the wire as it stands: a content block, a part, or fields of the message.
    Opaque(Json),
}

/// Why the model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finish {
    Stop,
    Length,
    ToolCalls,
    Filter,
    /// In this word, whatever the format.
    Word(String),
}

/// Tokens. Each format counts them in its own way; here the cached ones are among the prompt's and the thinking
/// among the completion's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    pub prompt: u64,
    pub completion: u64,
    pub cached: u64,
    pub reasoning: u64,
}

impl Default for Say {
    fn default() -> Self {
        Self {
            id: "reply-1".into(),
            model: "scripted".into(),
            pieces: Vec::new(),
            usage: None,
            finish: None,
            error: None,
            quirks: Quirks::default(),
            last: 0,
        }
    }
}

impl Say {
    /// Nothing at all.
    pub fn nothing() -> Self {
        Self::default()
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::nothing().then_text(text)
    }

    /// A text in exactly these pieces.
    pub fn deltas<T: Into<String>>(deltas: impl IntoIterator<Item = T>) -> Self {
        Self::nothing().piece(PieceKind::Text, deltas)
    }

    /// A further text, after what there is.
    #[must_use]
    pub fn then_text(self, text: impl Into<String>) -> Self {
        self.piece(PieceKind::Text, [text])
    }

    /// Thoughts, before all that is no thought.
    #[must_use]
    pub fn reasoning(mut self, text: impl Into<String>) -> Self {
        let thought = |piece: &Piece| piece.kind == PieceKind::Reasoning;
        let at = self
            .pieces
            .iter()
            .take_while(|piece| thought(piece))
            .count();
        self.insert(at, PieceKind::Reasoning, vec![text.into()]);
        self
    }

    #[must_use]
    pub fn call(self, id: &str, name: &str, arguments: Json) -> Self {
        self.call_text(id, name, arguments.to_string())
    }

    /// A call whose arguments are this text, valid or not.
    #[must_use]
    pub fn call_text(self, id: &str, name: &str, arguments: impl Into<String>) -> Self {
        self.call_fragments(id, name, [arguments])
    }

    /// A call whose arguments come in exactly these pieces.
    #[must_use]
    pub fn call_fragments<T: Into<String>>(
        self,
        id: &str,
        name: &str,
        fragments: impl IntoIterator<Item = T>,
    ) -> Self {
        let (id, name) = (id.to_owned(), name.to_owned());
        self.piece(PieceKind::Call { id, name }, fragments)
    }

    /// Something in the format's own shape: see [`PieceKind::Opaque`].
    #[must_use]
    pub fn opaque(self, value: Json) -> Self {
        self.piece(PieceKind::Opaque(value), [""; 0])
    }

    /// Any piece, after what there is.
    #[must_use]
    pub fn piece<T: Into<String>>(
        mut self,
        kind: PieceKind,
        deltas: impl IntoIterator<Item = T>,
    ) -> Self {
        let deltas = deltas.into_iter().map(Into::into).collect();
        self.insert(self.pieces.len(), kind, deltas);
        self
    }

    /// Signs the piece that was added last.
    #[must_use]
    pub fn signature(mut self, signature: &str) -> Self {
        if let Some(piece) = self.pieces.get_mut(self.last) {
            piece.signature = Some(signature.to_owned());
        }
        self
    }

    /// A further field of the piece that was added last.
    #[must_use]
    pub fn field(mut self, name: &str, value: Json) -> Self {
        if let Some(piece) = self.pieces.get_mut(self.last) {
            piece.fields.insert(name.to_owned(), value);
        }
        self
    }

    /// Cuts all texts and arguments after each `characters` anew.
    #[must_use]
    pub fn chop(mut self, characters: usize) -> Self {
        for piece in &mut self.pieces {
            let text: Vec<char> = piece.whole().chars().collect();
            let deltas = text.chunks(characters.max(1));
            piece.deltas = deltas.map(|delta| delta.iter().collect()).collect();
        }
        self
    }

    #[must_use]
    pub fn usage(self, prompt: u64, completion: u64) -> Self {
        self.count(Count {
            prompt,
            completion,
            ..Count::default()
        })
    }

    #[must_use]
    pub fn count(mut self, count: Count) -> Self {
        self.usage = Some(count);
        self
    }

    #[must_use]
    pub fn finish(mut self, finish: Finish) -> Self {
        self.finish = Some(finish);
        self
    }

    #[must_use]
    pub fn model(mut self, model: &str) -> Self {
        model.clone_into(&mut self.model);
        self
    }

    #[must_use]
    pub fn id(mut self, id: &str) -> Self {
        id.clone_into(&mut self.id);
        self
    }

    /// Fails after what was said, with an error inside the stream.
    #[must_use]
    pub fn then_error(mut self, status: u16, message: &str) -> Self {
        self.error = Some((status, message.to_owned()));
        self
    }

    #[must_use]
    pub fn quirks(mut self, quirks: Quirks) -> Self {
        self.quirks = quirks;
        self
    }

    pub(super) fn finish_or_default(&self) -> Finish {
        let calls = |piece: &Piece| matches!(piece.kind, PieceKind::Call { .. });
        match &self.finish {
            Some(finish) => finish.clone(),
            None if self.pieces.iter().any(calls) => Finish::ToolCalls,
            None => Finish::Stop,
        }
    }

    /// A call's id as it goes over the wire.
    pub(super) fn wire_id<'a>(&'a self, id: &'a str) -> Option<&'a str> {
        let first = self.pieces.iter().find_map(|piece| match &piece.kind {
            PieceKind::Call { id, .. } => Some(id.as_str()),
            _ => None,
        });
        self.quirks.ids.of(id, first.unwrap_or_default())
    }

    fn insert(&mut self, at: usize, kind: PieceKind, deltas: Vec<String>) {
        let piece = Piece {
            kind,
            deltas,
            signature: None,
            fields: Map::new(),
        };
        self.pieces.insert(at, piece);
        self.last = at;
    }
}

impl Piece {
    /// All deltas together.
    pub fn whole(&self) -> String {
        self.deltas.concat()
    }

    /// Arguments as the JSON that they are, or else as their text; nothing is an empty object.
    pub(super) fn arguments(&self) -> Json {
        let text = self.whole();
        match text.trim().is_empty() {
            true => Json::Object(Map::new()),
            false => serde_json::from_str(&text).unwrap_or(Json::String(text)),
        }
    }
}
