//! A conversation as Anthropic and Gemini insist on it: instructions apart, two sides that take turns, and every call
//! answered in the very next turn.
//!
//! Owns the order of things; how each is written belongs to the formats.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::{Image, Message, Part, Role, ToolCall, ToolResult};

/// What a conversation is begun with where the model's side comes first: both formats want a user there.
pub(super) const BEGIN: &str = "[start]";
/// What a call is answered with that was never answered.
pub(super) const NO_RESULT: &str = "there is no result: the call was not carried out";
/// The name of a call that came without.
const UNNAMED: &str = "unnamed";

/// Which parts are a format's own.
pub(super) struct Own {
    /// Whose [`Part::Opaque`]s are sent.
    pub(super) provider: &'static str,
    /// The field by which one is known to be attached to the part before it, where the format does that.
    pub(super) signature: Option<&'static str>,
}

impl Own {
    fn is_signature(&self, value: &Json) -> bool {
        self.signature
            .is_some_and(|field| value.get(field).is_some())
    }

    /// What is attached to the part before this one.
    fn attached<'m>(&self, part: &'m Part) -> Option<&'m Json> {
        match part {
            Part::Opaque { provider, value } if provider == self.provider => {
                Some(value).filter(|value| self.is_signature(value))
            }
            _ => None,
        }
    }
}

#[derive(Debug, PartialEq)]
pub(super) struct Talk<'m> {
    /// Texts that stand before the talk.
    pub(super) instructions: Vec<&'m str>,
    /// User and model in turns; the user begins. None is empty.
    pub(super) turns: Vec<Turn<'m>>,
}

#[derive(Debug, PartialEq)]
pub(super) struct Turn<'m> {
    pub(super) side: Side,
    /// Answers come first, in the order of the calls.
    pub(super) items: Vec<Item<'m>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    User,
    Model,
}

/// `signed` is what the provider had attached to that very part.
#[derive(Debug, PartialEq)]
pub(super) enum Item<'m> {
    Text {
        text: Cow<'m, str>,
        signed: Option<&'m Json>,
    },
    /// Thoughts that nobody signed are not sent.
    Reasoning {
        text: &'m str,
        signed: &'m Json,
    },
    Call {
        id: String,
        call: &'m ToolCall,
        signed: Option<&'m Json>,
    },
    Answer(Answer<'m>),
    Image(&'m Image),
    /// In the provider's own shape, for itself.
    Opaque(&'m Json),
}

#[derive(Debug, PartialEq)]
pub(super) struct Answer<'m> {
    pub(super) id: String,
    pub(super) name: &'m str,
    pub(super) content: &'m str,
    pub(super) is_error: bool,
    pub(super) images: Vec<&'m Image>,
}

/// A call that the other side has to answer.
struct Open<'m> {
    call: &'m ToolCall,
    /// As it is sent.
    id: String,
    answer: Option<Answer<'m>>,
}

impl<'m> Talk<'m> {
    /// Parts of other providers are left out.
    pub(super) fn read(messages: &'m [Arc<Message>], own: &Own) -> Self {
        let talk = messages.iter().take_while(|m| m.role.instructs()).count();
        let (instructions, talk) = messages.split_at_checked(talk).unwrap_or((&[], messages));
        let mut reader = Reader::default();
        for message in talk {
            reader.message(message, own);
        }
        Self {
            instructions: instructions
                .iter()
                .flat_map(|message| &message.parts)
                .filter_map(|part| match part {
                    Part::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
                    _ => None,
                })
                .collect(),
            turns: reader.finish(),
        }
    }
}

#[derive(Default)]
struct Reader<'m> {
    turns: Vec<Turn<'m>>,
    open: Vec<Open<'m>>,
    /// What the user's side says now; it stands behind the answers.
    said: Vec<Item<'m>>,
    /// Ids in use, and how often each was wanted; a conversation may have passed through providers that count the
    /// calls of each reply from 1.
    ids: HashMap<String, usize>,
}

impl<'m> Reader<'m> {
    fn message(&mut self, message: &'m Message, own: &Own) {
        let mut parts = message.parts.iter().peekable();
        let mut name = message
            .name
            .as_deref()
            .filter(|_| message.role == Role::User);
        // The call that images belong to.
        let mut answered = None;
        while let Some(part) = parts.next() {
            let signed = parts.peek().and_then(|next| own.attached(next));
            match part {
                Part::Text { text } => {
                    answered = None;
                    self.text(message.role, name.take(), text, signed);
                }
                Part::Reasoning { text } => {
                    if let Some(signed) = signed {
                        self.model(Item::Reasoning { text, signed });
                    }
                }
                Part::ToolCall(call) => self.call(call, signed),
                Part::ToolResult(result) => answered = self.result(result),
                Part::Image(image) => {
                    let answer = answered.and_then(|at| self.open.get_mut(at)?.answer.as_mut());
                    match (answer, message.role) {
                        (Some(answer), _) => answer.images.push(image),
                        (None, Role::Assistant) => self.model(Item::Image(image)),
                        (None, _) => self.said.push(Item::Image(image)),
                    }
                }
                Part::Opaque { provider, value } => {
                    // A signature went with the part before it; without one it signs nothing.
                    if provider != own.provider || !value.is_object() || own.is_signature(value) {
                        continue;
                    }
                    match message.role {
                        Role::Assistant => self.model(Item::Opaque(value)),
                        _ => self.said.push(Item::Opaque(value)),
                    }
                }
            }
        }
    }

    fn text(&mut self, role: Role, name: Option<&str>, text: &'m str, signed: Option<&'m Json>) {
        // Empty texts are refused, and say nothing.
        if text.trim().is_empty() && signed.is_none() {
            return;
        }
        let text = match (role, name) {
            // There is one place for instructions, and it is before the talk.
            (Role::System | Role::Developer, _) => format!("<system>\n{text}\n</system>").into(),
            (_, Some(name)) if !name.trim().is_empty() => format!("{name}: {text}").into(),
            _ => Cow::Borrowed(text),
        };
        let item = Item::Text { text, signed };
        match role {
            Role::Assistant => self.model(item),
            _ => self.said.push(item),
        }
    }

    fn call(&mut self, call: &'m ToolCall, signed: Option<&'m Json>) {
        let id = self.id(&call.id);
        self.model(Item::Call {
            id: id.clone(),
            call,
            signed,
        });
        self.open.push(Open {
            call,
            id,
            answer: None,
        });
    }

    /// Where in `open` the call stands that this answers.
    fn result(&mut self, result: &'m ToolResult) -> Option<usize> {
        let find = |asks: &dyn Fn(&ToolCall) -> bool| {
            let waits = |open: &Open<'_>| open.answer.is_none() && asks(open.call);
            self.open.iter().position(waits)
        };
        let at = find(&|call| call.id == result.call_id).or_else(|| {
            // Without an id it is known by the tool, or answers what was asked first.
            let name = result.name.as_deref();
            let fits = |call: &ToolCall| name.is_none_or(|name| call.name == name);
            find(&|call| result.call_id.is_empty() && fits(call))
        });
        let Some(at) = at else {
            // Nobody asked, or not in the turn before: it would be refused as a result, and is still worth reading.
            let whose = result.name.as_deref().unwrap_or(&result.call_id);
            let text = format!("Result of {whose}: {}", result.content).into();
            self.said.push(Item::Text { text, signed: None });
            return None;
        };
        let open = self.open.get_mut(at)?;
        open.answer = Some(Answer {
            id: open.id.clone(),
            name: name_of(open.call),
            content: &result.content,
            is_error: result.is_error,
            images: Vec::new(),
        });
        Some(at)
    }

    fn model(&mut self, item: Item<'m>) {
        // Calls of one reply stand together; the first word after an answer begins the next reply.
        if !self.said.is_empty() || self.open.iter().any(|open| open.answer.is_some()) {
            self.close();
        }
        if self.turns.is_empty() {
            self.push(Side::User, vec![begin()]);
        }
        self.push(Side::Model, vec![item]);
    }

    /// The user's side has finished: answers first, then what else was said.
    fn close(&mut self) {
        let answers = std::mem::take(&mut self.open).into_iter().map(|open| {
            Item::Answer(open.answer.unwrap_or(Answer {
                id: open.id,
                name: name_of(open.call),
                content: NO_RESULT,
                is_error: true,
                images: Vec::new(),
            }))
        });
        let items = answers.chain(std::mem::take(&mut self.said)).collect();
        self.push(Side::User, items);
    }

    fn push(&mut self, side: Side, items: Vec<Item<'m>>) {
        match self.turns.last_mut() {
            _ if items.is_empty() => {}
            Some(turn) if turn.side == side => turn.items.extend(items),
            _ => self.turns.push(Turn { side, items }),
        }
    }

    fn finish(mut self) -> Vec<Turn<'m>> {
        self.close();
        if self.turns.is_empty() {
            self.push(Side::User, vec![begin()]);
        }
        self.turns
    }

    /// The id as it can be sent (Anthropic takes letters, digits, `_` and `-`), and no second time.
    fn id(&mut self, id: &str) -> String {
        let mut base: String = id
            .chars()
            .map(|c| match c {
                '_' | '-' => c,
                c if c.is_ascii_alphanumeric() => c,
                _ => '_',
            })
            .collect();
        if base.is_empty() {
            base.push_str("call");
        }
        let mut wanted = self.ids.get(&base).copied().unwrap_or_default();
        let id = loop {
            wanted += 1;
            let id = match wanted {
                1 => base.clone(),
                number => format!("{base}_{number}"),
            };
            if wanted == 1 || !self.ids.contains_key(&id) {
                break id;
            }
        };
        self.ids.entry(id.clone()).or_insert(1);
        self.ids.insert(base, wanted);
        id
    }
}

pub(super) fn name_of(call: &ToolCall) -> &str {
    match call.name.as_str() {
        "" => UNNAMED,
        name => name,
    }
}

fn begin<'m>() -> Item<'m> {
    Item::Text {
        text: BEGIN.into(),
        signed: None,
    }
}

#[cfg(test)]
#[path = "talk_tests.rs"]
mod tests;
