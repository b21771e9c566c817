//! What the fields of a TAM block mean: steps, their parameters, and what applies to all of them.

use std::borrow::Cow;

use super::marks::Family;
use super::notes::{Notes, quote};
use super::tam_arguments::{Arguments, Kind, head, names_something, tail};
use super::tam_block::RawTam;
use super::tam_value::RawField;
use crate::key::{normalise, split_number};
use crate::limits::MAX_ARGUMENTS;
use crate::{Argument, Block, Code, Protocol, Source, Span, Text, ToolCallRequest, Value};

/// Turns the raw fields into calls.
pub(super) fn block<'t>(text: &'t str, raw: RawTam, span: Span) -> Block<'t> {
    // Only a value of several lines can hold any of the block's indentation.
    let several_lines =
        |field: &RawField| memchr::memchr(b'\n', field.value.of(text).as_bytes()).is_some();
    let indent = if raw.fields.iter().any(several_lines) {
        common_indent(raw.body.of(text))
    } else {
        ""
    };
    let mut comments: Vec<(usize, Cow<'t, str>)> = raw
        .comments
        .iter()
        .map(|comment| {
            (
                comment.start,
                comment.of(text).trim_matches(['#', ' ', '\t', '\r']).into(),
            )
        })
        .collect();
    let mut notes = raw.notes;
    note_families(&raw.fields, span, &mut notes);

    let fields: Vec<Field<'t>> = raw
        .fields
        .iter()
        .map(|field| Field::new(text, field, indent))
        .collect();
    let keys = fields
        .iter()
        .map(|field| (field.key.clone(), field.text.clone()))
        .collect();
    let mut steps = Steps::of(&fields, span, &mut notes);
    let mut request_id = None;
    for field in fields {
        match steps.role(&field.key) {
            Role::Command => {}
            Role::RequestId => {
                if request_id.is_some() {
                    note_duplicate(&mut notes, &field);
                }
                request_id = Some(field.text.into_trimmed());
            }
            Role::Comment => comments.push((field.span.start, field.text.into_trimmed())),
            Role::Shared => steps.shared.add(field.into_shared(), &mut notes),
            Role::Step(step) => steps.add(step, field, &mut notes),
            Role::Orphan => notes.add_with(Code::OrphanParameter, field.span, || {
                format!(
                    "'{key}' has no step number in a block of several steps and goes to none of them; \
                     write common_{key} to give it to every step, or {key}_1 for the first.",
                    key = quote(&field.key)
                )
            }),
        }
    }
    comments.sort_by_key(|(at, _)| *at);

    let calls = steps.into_calls(request_id.as_ref(), &mut notes);
    Block {
        protocol: Protocol::Tam,
        request_id,
        comments: comments.into_iter().map(|(_, comment)| comment).collect(),
        keys,
        calls,
        diagnostics: notes.finish(),
        span,
    }
}

/// White space that begins every line of the block which holds anything: its layout, not its content.
fn common_indent(body: &str) -> &str {
    let mut common: Option<&str> = None;
    for line in body.split('\n').skip(1) {
        let solid = line.trim_start_matches([' ', '\t']);
        if solid.trim().is_empty() {
            continue;
        }
        let indent = line.get(..line.len() - solid.len()).unwrap_or_default();
        let shared = match common {
            None => indent,
            Some(common) => {
                let same = common
                    .bytes()
                    .zip(indent.bytes())
                    .take_while(|(a, b)| a == b)
                    .count();
                common.get(..same).unwrap_or_default()
            }
        };
        if shared.is_empty() {
            return "";
        }
        common = Some(shared);
    }
    common.unwrap_or_default()
}

fn note_families(fields: &[RawField], span: Span, notes: &mut Notes) {
    let uses = |family| fields.iter().any(|field| field.family.kin() == family);
    let used = Family::ALL
        .into_iter()
        .filter(|&family| uses(family))
        .count();
    if used > 1 {
        notes.add(
            Code::MixedDelimitersUsed,
            span,
            "The block mixes several kinds of value marks; use »»» and ««« throughout.",
        );
    } else if uses(Family::Angles) {
        notes.add(
            Code::AlternateDelimitersUsed,
            span,
            "The block uses >>> and <<< instead of »»» and «««.",
        );
    }
}

fn note_duplicate(notes: &mut Notes, field: &Field<'_>) {
    notes.add_with(Code::DuplicateKey, field.span, || {
        format!(
            "'{}' is given more than once; the last value counts.",
            quote(&field.key)
        )
    });
}

/// `2. path` in a numbered list is `path`.
fn without_list_mark(key: &str) -> &str {
    let rest = key.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.strip_prefix(['.', ')', '、', '．', '）']) {
        Some(name) if rest.len() < key.len() && name.chars().any(char::is_alphanumeric) => name,
        _ => key,
    }
}

/// A field with its key in normal form.
struct Field<'t> {
    key: Cow<'t, str>,
    text: Text<'t>,
    span: Span,
}

impl<'t> Field<'t> {
    fn new(text: &'t str, raw: &RawField, indent: &'t str) -> Self {
        Self {
            key: normalise(without_list_mark(raw.key.of(text))),
            text: Text::new(raw.value.of(text), indent),
            span: Span::new(raw.key.start, raw.value.end),
        }
    }

    /// The argument this field gives to a step, under the name that is left after number and prefixes.
    fn into_argument(self, name: Cow<'t, str>, shared: bool) -> (Kind, Argument<'t>) {
        let (kind, name) = Kind::of(name);
        let source = match kind {
            Kind::Uri => Source::Uri,
            _ => Source::Inline,
        };
        let argument = Argument {
            name,
            written: self.key,
            source,
            value: Value::Text(self.text),
            hint: None,
            shared,
            span: self.span,
        };
        (kind, argument)
    }

    fn into_shared(self) -> (Kind, Argument<'t>) {
        let name = tail(&self.key, "common_".len());
        self.into_argument(name, true)
    }
}

enum Role {
    Command,
    RequestId,
    Comment,
    Shared,
    /// Belongs to the step at this place, under this much of its key.
    Step((usize, usize)),
    Orphan,
}

/// The steps of a block, ascending.
struct Steps<'t> {
    steps: Vec<Step<'t>>,
    /// Only a bare `command`: numbers at the end of names are part of the names.
    bare: bool,
    shared: Arguments<'t>,
}

struct Step<'t> {
    number: u32,
    tool: Cow<'t, str>,
    arguments: Arguments<'t>,
    span: Span,
}

impl<'t> Steps<'t> {
    fn of(fields: &[Field<'t>], span: Span, notes: &mut Notes) -> Self {
        let commands: Vec<(Option<u32>, &Field<'t>)> = fields
            .iter()
            .filter_map(|field| Some((command_number(field, notes)?, field)))
            .collect();
        let bare = commands.iter().all(|(number, _)| number.is_none());
        // A bare command is step 1, and makes way for a `command_1`.
        let makes_way = commands.iter().any(|(number, _)| *number == Some(1));
        let mut steps: Vec<Step<'t>> = commands
            .iter()
            .map(|(number, field)| Step {
                number: number.unwrap_or(u32::from(!makes_way)),
                tool: field.text.clone().into_trimmed(),
                arguments: Arguments::default(),
                span: field.span,
            })
            .collect();
        for step in &steps {
            if step.tool.is_empty() {
                notes.add(Code::EmptyCommand, step.span, "The command names no tool.");
            } else if !is_name(&step.tool) {
                notes.add_with(Code::InvalidCommand, step.span, || {
                    format!(
                        "'{}' is no tool's name; close the command's value on its line.",
                        quote(&step.tool)
                    )
                });
            }
        }
        if !bare && let Some((_, field)) = commands.iter().find(|(number, _)| number.is_none()) {
            notes.add(
                Code::UnnumberedCommand,
                field.span,
                if makes_way {
                    "A command without number beside numbered ones became step 0; number every command."
                } else {
                    "A command without number beside numbered ones became step 1; number every command."
                },
            );
        }
        if steps.is_empty() {
            notes.add(
                Code::MissingCommand,
                span,
                "The block names no tool: a line command:»»»ToolID««« is missing.",
            );
        }
        steps.sort_by_key(|step| step.number);
        steps.dedup_by(|later, earlier| {
            later.number == earlier.number && merge(earlier, later, notes)
        });
        Self {
            steps,
            bare,
            shared: Arguments::default(),
        }
    }

    fn role(&self, key: &str) -> Role {
        match key {
            "command" => return Role::Command,
            "request_id" => return Role::RequestId,
            "comment" | "common_comment" => return Role::Comment,
            _ => {}
        }
        let numbered = split_number(key);
        // `common_1` beside a `command_1` is that step's `common`.
        if names_something(key, "common_") && !self.is_of_step(numbered, "common") {
            return Role::Shared;
        }
        if let Some((name, number)) = numbered
            && let Some(at) = self.numbered(number)
        {
            return match name {
                "command" => Role::Command,
                "comment" => Role::Comment,
                "request_id" => Role::RequestId,
                _ => Role::Step((at, name.len())),
            };
        }
        if !self.bare && matches!(numbered, Some(("comment", _))) {
            return Role::Comment;
        }
        match self.steps.len() {
            // In a bare block `on_error_1` can only mean its one step.
            1 if self.bare && matches!(numbered, Some(("on_error" | "retry", 1))) => {
                Role::Step((0, key.trim_end_matches(['_', '1']).len()))
            }
            1 => Role::Step((0, key.len())),
            // Without any command the block is in error as a whole.
            0 => Role::Command,
            _ => Role::Orphan,
        }
    }

    /// Where the step is that a number at the end of a key means.
    fn numbered(&self, number: u32) -> Option<usize> {
        let found = self.steps.binary_search_by_key(&number, |step| step.number);
        found.ok().filter(|_| !self.bare)
    }

    fn is_of_step(&self, key: Option<(&str, u32)>, name: &str) -> bool {
        key.is_some_and(|(have, number)| have == name && self.numbered(number).is_some())
    }

    fn add(&mut self, (at, length): (usize, usize), field: Field<'t>, notes: &mut Notes) {
        let name = head(&field.key, length);
        if let Some(step) = self.steps.get_mut(at) {
            step.span.start = step.span.start.min(field.span.start);
            step.span.end = step.span.end.max(field.span.end);
            step.arguments.add(field.into_argument(name, false), notes);
        }
    }

    fn into_calls(
        self,
        request_id: Option<&Cow<'t, str>>,
        notes: &mut Notes,
    ) -> Vec<ToolCallRequest<'t>> {
        let shared = self.shared;
        let mut room = MAX_ARGUMENTS;
        let mut calls = Vec::with_capacity(self.steps.len());
        for step in self.steps {
            room = room.saturating_sub(shared.list.len());
            if room == 0 && !notes.has(Code::TooManyParameters) {
                notes.add(
                    Code::TooManyParameters,
                    step.span,
                    "Too many steps share too many common_ parameters; split the block.",
                );
            }
            let mut call = ToolCallRequest::new(Protocol::Tam, step.tool);
            call.index = step.number;
            call.span = step.span;
            call.request_id = request_id.cloned();
            step.arguments.check_uris(notes);
            let merged = if room == 0 {
                step.arguments
            } else {
                step.arguments.with_shared(&shared)
            };
            merged.apply(&mut call, notes);
            calls.push(call);
        }
        calls
    }
}

/// `None` if the field is no command; otherwise the number it was given.
fn command_number(field: &Field<'_>, notes: &mut Notes) -> Option<Option<u32>> {
    let digits = field.key.strip_prefix("command")?;
    if digits.is_empty() {
        return Some(None);
    }
    let digits = digits.strip_prefix('_').unwrap_or(digits);
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = digits.parse().ok();
    if number.is_none() {
        notes.add(
            Code::InvalidStepNumber,
            field.span,
            "The step number is too large; number the steps 1, 2, 3.",
        );
    }
    number.map(Some)
}

/// A tool's name stands on one line and holds no value marks; anything else was read too far.
fn is_name(tool: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b':' | b'_' | b'-' | b'/');
    if tool.bytes().all(plain) {
        return true;
    }
    let marks = Family::ALL.map(|family| [family.open(), family.close()]);
    !tool.contains('\n') && !marks.iter().flatten().any(|mark| tool.contains(mark))
}

/// Two commands for one step: the last counts, and two different tools are an error.
fn merge<'t>(earlier: &mut Step<'t>, later: &mut Step<'t>, notes: &mut Notes) -> bool {
    notes.add(
        Code::DuplicateKey,
        later.span,
        "A step's command is given more than once; the last one counts.",
    );
    if later.tool != earlier.tool {
        notes.add_with(Code::DuplicateCommand, later.span, || {
            format!(
                "Step {} names two tools, '{}' and '{}'; give each its own number: command_1, command_2.",
                earlier.number,
                quote(&earlier.tool),
                quote(&later.tool)
            )
        });
    }
    earlier.tool = std::mem::take(&mut later.tool);
    earlier.span = later.span;
    true
}
