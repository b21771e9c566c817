//! The questions of the exam, and what a right answer holds.

use innkeeper_protocol::ToolDefinition;
use serde_json::{Value as Json, json};

/// One question.
#[derive(Debug, Clone)]
pub struct Task {
    /// Short and stable: results are compared by it.
    pub name: &'static str,
    pub tools: Vec<ToolDefinition>,
    pub question: &'static str,
    pub expected: Expected,
    /// Several times what a right answer takes, thoughts not counted. Small models do not stop by themselves.
    pub max_tokens: u32,
}

impl Expected {
    /// Calls that are wanted.
    pub fn calls(&self) -> usize {
        match self {
            Self::NoCall => 0,
            Self::Calls(calls) => calls.len(),
        }
    }
}

#[derive(Debug, Clone)]
pub enum Expected {
    /// An answer in words; any call is one too many.
    NoCall,
    /// These calls and no others, in any order.
    Calls(Vec<ExpectedCall>),
}

#[derive(Debug, Clone)]
pub struct ExpectedCall {
    pub tool: &'static str,
    /// What must be right; other arguments are the model's own affair.
    pub arguments: Vec<(&'static str, Wanted)>,
}

/// What an argument has to be. A pointer reaches into it: `/at/city`.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// This value; numbers by their size, lists in their order.
    Equal(Json),
    /// This text, whatever its letter case and the white space at its ends.
    Text(&'static str),
    /// A text that holds all of these.
    Holds(&'static [&'static str]),
    /// A list of exactly these, in any order and letter case.
    Among(&'static [&'static str]),
    /// Not given at all, or this.
    AbsentOr(Json),
}

fn tool(id: &str, description: &str, parameters: Json) -> ToolDefinition {
    ToolDefinition::new(id, description, parameters)
}

fn one(tool: &'static str, arguments: Vec<(&'static str, Wanted)>) -> Expected {
    Expected::Calls(vec![ExpectedCall { tool, arguments }])
}

/// All tasks, the easy ones first.
pub fn tasks() -> Vec<Task> {
    let mut all = vec![
        one_text(),
        two_numbers(),
        one_of_a_list(),
        yes_or_no(),
        optional_left_out(),
        nested_object(),
        list_of_texts(),
    ];
    all.extend([
        verbatim_lines(),
        marks_in_text(),
        chinese(),
        two_tools(),
        distractor(),
        two_calls(),
        no_call(),
    ]);
    all
}

fn weather() -> ToolDefinition {
    tool(
        "Weather.Look",
        "Tells the present weather in a city.",
        json!({"type": "object", "properties": {
            "city": {"type": "string", "minLength": 1, "description": "Name of the city, in English"},
        }, "required": ["city"], "additionalProperties": false}),
    )
}

fn add() -> ToolDefinition {
    tool(
        "Math.Add",
        "Adds two numbers.",
        json!({"type": "object", "properties": {
            "a": {"type": "number", "description": "First number"},
            "b": {"type": "number", "description": "Second number"},
        }, "required": ["a", "b"], "additionalProperties": false}),
    )
}

fn write() -> ToolDefinition {
    tool(
        "File.Write",
        "Writes a text file, replacing what was there.",
        json!({"type": "object", "properties": {
            "path": {"type": "string", "minLength": 1, "description": "Path of the file"},
            "content": {"type": "string", "x-verbatim": true, "description": "The whole text of the file, as it is"},
        }, "required": ["path", "content"], "additionalProperties": false}),
    )
}

fn one_text() -> Task {
    Task {
        name: "one-text",
        tools: vec![weather()],
        question: "What is the weather like in Lisbon right now?",
        max_tokens: 192,
        expected: one("Weather.Look", vec![("/city", Wanted::Text("Lisbon"))]),
    }
}

fn two_numbers() -> Task {
    Task {
        name: "two-numbers",
        tools: vec![add()],
        question: "Use the tool to add 17.5 and -4.",
        max_tokens: 192,
        expected: one(
            "Math.Add",
            vec![
                ("/a", Wanted::Equal(json!(17.5))),
                ("/b", Wanted::Equal(json!(-4))),
            ],
        ),
    }
}

fn one_of_a_list() -> Task {
    Task {
        name: "one-of-a-list",
        tools: vec![tool(
            "Lamp.Set",
            "Sets the colour and the brightness of the lamp.",
            json!({"type": "object", "properties": {
                "colour": {"enum": ["red", "green", "blue", "white"], "description": "The colour of the light"},
                "brightness": {"type": "integer", "minimum": 0, "maximum": 100, "description": "In percent"},
            }, "required": ["colour", "brightness"], "additionalProperties": false}),
        )],
        question: "Make the lamp blue, at 40 percent brightness.",
        max_tokens: 192,
        expected: one(
            "Lamp.Set",
            vec![
                ("/colour", Wanted::Equal(json!("blue"))),
                ("/brightness", Wanted::Equal(json!(40))),
            ],
        ),
    }
}

fn yes_or_no() -> Task {
    Task {
        name: "yes-or-no",
        tools: vec![tool(
            "Folder.List",
            "Lists the files of a folder.",
            json!({"type": "object", "properties": {
                "path": {"type": "string", "description": "The folder"},
                "hidden": {"type": "boolean", "description": "Whether hidden files are listed too"},
            }, "required": ["path", "hidden"], "additionalProperties": false}),
        )],
        question: "List the files of the folder /srv/data, the hidden ones too.",
        max_tokens: 192,
        expected: one(
            "Folder.List",
            vec![
                ("/path", Wanted::Holds(&["/srv/data"])),
                ("/hidden", Wanted::Equal(json!(true))),
            ],
        ),
    }
}

fn optional_left_out() -> Task {
    Task {
        name: "optional-left-out",
        tools: vec![tool(
            "Note.Add",
            "Keeps a note.",
            json!({"type": "object", "properties": {
                "text": {"type": "string", "minLength": 1, "description": "What to remember"},
                "due": {"type": "string", "description": "A date as YYYY-MM-DD. Only where the user names one"},
                "priority": {"type": "integer", "minimum": 1, "maximum": 5,
                             "description": "Only where the user asks for one"},
            }, "required": ["text"], "additionalProperties": false}),
        )],
        question: "Note down: buy milk. There is no date and no priority.",
        max_tokens: 192,
        expected: one(
            "Note.Add",
            vec![
                ("/text", Wanted::Holds(&["milk"])),
                ("/due", Wanted::AbsentOr(json!(""))),
                ("/priority", Wanted::AbsentOr(Json::Null)),
            ],
        ),
    }
}

fn nested_object() -> Task {
    Task {
        name: "nested-object",
        tools: vec![tool(
            "Parcel.Send",
            "Sends a parcel to an address.",
            json!({"type": "object", "properties": {
                "weight_kg": {"type": "number", "description": "Weight in kilograms"},
                "to": {"type": "object", "description": "Who gets it", "properties": {
                    "name": {"type": "string"},
                    "address": {"type": "object", "properties": {
                        "street": {"type": "string"},
                        "city": {"type": "string"},
                        "zip": {"type": "string"},
                    }, "required": ["street", "city", "zip"], "additionalProperties": false},
                }, "required": ["name", "address"], "additionalProperties": false},
            }, "required": ["weight_kg", "to"], "additionalProperties": false}),
        )],
        question: "Send a parcel of 2.5 kg to Ada Lovelace, 12 St James Square, London, zip code 01234.",
        max_tokens: 512,
        expected: one(
            "Parcel.Send",
            vec![
                ("/weight_kg", Wanted::Equal(json!(2.5))),
                ("/to/name", Wanted::Text("Ada Lovelace")),
                ("/to/address/street", Wanted::Holds(&["12", "james"])),
                ("/to/address/city", Wanted::Text("London")),
                ("/to/address/zip", Wanted::Equal(json!("01234"))),
            ],
        ),
    }
}

fn list_of_texts() -> Task {
    Task {
        name: "list-of-texts",
        tools: vec![tool(
            "Shopping.Add",
            "Puts things on the shopping list.",
            json!({"type": "object", "properties": {
                "items": {"type": "array", "items": {"type": "string"}, "minItems": 1,
                          "description": "The things, one entry each"},
            }, "required": ["items"], "additionalProperties": false}),
        )],
        question: "Put exactly these on the shopping list: eggs, butter, flour.",
        max_tokens: 256,
        expected: one(
            "Shopping.Add",
            vec![("/items", Wanted::Among(&["eggs", "butter", "flour"]))],
        ),
    }
}

fn verbatim_lines() -> Task {
    Task {
        name: "verbatim-lines",
        tools: vec![write()],
        question: "Write the file hello.py with exactly these three lines:\n\ndef hello(name):\n    \
                   print(f\"Hello, {name}!\")\nhello(\"world\")",
        max_tokens: 384,
        expected: one(
            "File.Write",
            vec![
                ("/path", Wanted::Text("hello.py")),
                (
                    "/content",
                    Wanted::Holds(&[
                        "def hello(name):\n    print(f\"Hello, {name}!\")\nhello(\"world\")",
                    ]),
                ),
            ],
        ),
    }
}

fn marks_in_text() -> Task {
    Task {
        name: "marks-in-text",
        tools: vec![write()],
        question: "Write the file page.html with exactly this one line:\n\n<p class=\"a\">1 < 2 && \"x\" > 0</p>",
        max_tokens: 384,
        expected: one(
            "File.Write",
            vec![
                ("/path", Wanted::Text("page.html")),
                (
                    "/content",
                    Wanted::Holds(&["<p class=\"a\">1 < 2 && \"x\" > 0</p>"]),
                ),
            ],
        ),
    }
}

fn chinese() -> Task {
    Task {
        name: "chinese",
        tools: vec![tool(
            "消息.发送",
            "给一个人发送一条消息。",
            json!({"type": "object", "properties": {
                "收件人": {"type": "string", "description": "收到消息的人的名字"},
                "内容": {"type": "string", "description": "消息的文字"},
            }, "required": ["收件人", "内容"], "additionalProperties": false}),
        )],
        question: "请给王小明发一条消息,内容是:明天下午三点开会。",
        max_tokens: 384,
        expected: one(
            "消息.发送",
            vec![
                ("/收件人", Wanted::Holds(&["王小明"])),
                ("/内容", Wanted::Holds(&["明天下午三点开会"])),
            ],
        ),
    }
}

fn two_tools() -> Task {
    Task {
        name: "two-tools",
        tools: vec![add(), weather()],
        question: "Is it raining in Oslo?",
        max_tokens: 192,
        expected: one("Weather.Look", vec![("/city", Wanted::Text("Oslo"))]),
    }
}

fn distractor() -> Task {
    Task {
        name: "distractor",
        tools: vec![
            tool(
                "File.Delete",
                "Deletes a file for good. There is no way back.",
                json!({"type": "object", "properties": {"path": {"type": "string"}},
                       "required": ["path"], "additionalProperties": false}),
            ),
            tool(
                "File.Read",
                "Reads a text file.",
                json!({"type": "object", "properties": {
                    "path": {"type": "string", "description": "Path of the file"},
                }, "required": ["path"], "additionalProperties": false}),
            ),
            write(),
        ],
        question: "Before I delete or change anything: what does notes/todo.txt say?",
        max_tokens: 192,
        expected: one("File.Read", vec![("/path", Wanted::Text("notes/todo.txt"))]),
    }
}

fn two_calls() -> Task {
    let look = |city| ExpectedCall {
        tool: "Weather.Look",
        arguments: vec![("/city", Wanted::Text(city))],
    };
    Task {
        name: "two-calls",
        tools: vec![weather()],
        question: "Compare the weather in Rome with the weather in Cairo. Look up both cities in this one reply.",
        max_tokens: 384,
        expected: Expected::Calls(vec![look("Rome"), look("Cairo")]),
    }
}

fn no_call() -> Task {
    Task {
        name: "no-call",
        tools: vec![weather(), add()],
        question: "Just say hello to me in one short sentence. Nothing has to be looked up or computed.",
        max_tokens: 192,
        expected: Expected::NoCall,
    }
}
