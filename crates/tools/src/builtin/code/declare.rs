//! What a model is told about the two tools.

use innkeeper_protocol::{ToolDefinition, ToolExample};
use serde_json::{Map, Value as Json, json};

use super::CodeLimits;
use super::language::Language;
use crate::builtin::declare::{declare, example, words};
use crate::limits::{CODE_SLACK, MAX_CODE_INPUT_FILES};

const EXECUTE: &str = "Runs a program in a sandbox and returns what it printed. There is no network and nothing is kept between calls; what is needed must be in `code`, `stdin` or `files`. Print what you want to see. Files that the program makes in its working folder are kept in the project, and the result names them. A program that fails is no error of the tool: look at `exit` and `stderr`.";

const SESSION: &str = "Runs a piece of Python like a cell of a notebook: variables, imports and files in the working folder stay for the next call of the same run. The value of an expression at the end is the `result`. There is no network. Files that are made in the working folder are kept in the project, and the result names them. An exception is no error of the tool: look at `exit` and `stderr`. If time or memory run out, the state is lost, and the result says so.";

pub(super) fn execute(limits: &CodeLimits) -> ToolDefinition {
    let languages = Language::ALL.map(Language::as_str);
    let parameters = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["language", "code"],
        "properties": {
            "language": {
                "type": "string", "enum": languages,
                "description": "What the code is written in; node is JavaScript, with import or require.",
            },
            "code": code("The program, exactly as it should be run."),
            "stdin": {
                "type": "string", "x-verbatim": true,
                "description": "What the program reads from its standard input.",
            },
            "files": files(),
            "timeout": timeout(limits),
        },
    });
    let examples = [
        (
            "Compute something.",
            json!({"language": "python", "code": "from math import comb\nprint(comb(49, 6))\n"}),
        ),
        (
            "Look into a file of the project and make another one.",
            json!({
                "language": "python",
                "code": "import csv, json\nrows = list(csv.DictReader(open('sales.csv')))\njson.dump(rows, open('sales.json', 'w'))\nprint(len(rows), 'rows')\n",
                "files": ["data/sales.csv"],
            }),
        ),
    ];
    let output = output(&json!({"stdout": {"type": "string"}, "stderr": {"type": "string"}}));
    let mut tool = running(
        limits,
        "CodeInterpreter:execute",
        "Run code",
        EXECUTE,
        parameters,
        output,
    );
    tool.execution.parallel = true;
    tool.examples = shown(&examples);
    tool
}

pub(super) fn session(limits: &CodeLimits) -> ToolDefinition {
    let parameters = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["code"],
        "properties": {
            "code": code("Python code. `await` may stand outside of functions."),
            "files": files(),
            "timeout": timeout(limits),
            "reset": {
                "type": "boolean", "default": false,
                "description": "Forget everything first and begin with an empty state.",
            },
        },
    });
    let examples = [
        (
            "Load data once.",
            json!({"code": "import csv\nrows = list(csv.DictReader(open('sales.csv')))\nlen(rows)\n", "files": ["data/sales.csv"]}),
        ),
        (
            "Go on with what was loaded.",
            json!({"code": "sum(float(row['price']) for row in rows)"}),
        ),
    ];
    let output = output(&json!({
        "result": {"type": "string", "description": "The value of the expression at the end."},
        "stdout": {"type": "string"},
        "stderr": {"type": "string"},
        "fresh": {"type": "boolean", "description": "The state was empty when the code began."},
    }));
    let mut tool = running(
        limits,
        "CodeInterpreter:session",
        "Python session",
        SESSION,
        parameters,
        output,
    );
    tool.execution.parallel = false;
    tool.examples = shown(&examples);
    tool
}

fn running(
    limits: &CodeLimits,
    id: &str,
    name: &str,
    description: &str,
    parameters: Json,
    output: Json,
) -> ToolDefinition {
    let mut tool = declare(id, name, description, parameters, output);
    tool.tags = words(&["code"]);
    tool.permissions = words(&["code:execute"]);
    tool.execution.idempotent = false;
    // Longer than the code may take, so that the result can tell what was printed until then.
    let whole = limits.max_timeout + CODE_SLACK;
    tool.execution.timeout_ms = u64::try_from(whole.as_millis()).ok();
    tool
}

fn shown(examples: &[(&str, Json)]) -> Vec<ToolExample> {
    examples
        .iter()
        .flat_map(|(situation, arguments)| example(situation, arguments.clone()))
        .collect()
}

fn code(description: &str) -> Json {
    json!({"type": "string", "x-verbatim": true, "description": description})
}

fn files() -> Json {
    json!({
        "type": "array",
        "items": {"type": "string", "minLength": 1},
        "maxItems": MAX_CODE_INPUT_FILES,
        "x-file": true,
        "description": "Files that the code needs: paths in the project like data/sales.csv, or user://..., shared://... Each is copied into the working folder under its own name, here sales.csv.",
    })
}

fn timeout(limits: &CodeLimits) -> Json {
    json!({
        "type": "integer",
        "minimum": 1,
        "maximum": limits.max_timeout.as_secs().max(1),
        "default": limits.timeout.as_secs().max(1),
        "description": "After how many seconds it is stopped.",
    })
}

fn output(own: &Json) -> Json {
    let cut = json!({"type": "boolean"});
    let mut properties = Map::from_iter([
        (
            "exit".to_owned(),
            json!({"type": ["integer", "null"], "description": "0 is success; null if it was stopped."}),
        ),
        ("signal".to_owned(), json!({"type": "string"})),
        (
            "limit".to_owned(),
            json!({"type": "string", "description": "The limit that it went over."}),
        ),
        ("note".to_owned(), json!({"type": "string"})),
    ]);
    properties.extend(own.as_object().cloned().unwrap_or_default());
    let uri = json!({"type": "string", "description": "Where all of it is, if it was cut."});
    properties.extend([
        ("stdout_uri".to_owned(), uri.clone()),
        ("stderr_uri".to_owned(), uri),
        (
            "truncated".to_owned(),
            json!({
                "type": "object",
                "properties": {"stdout": cut, "stderr": cut, "result": cut},
                "required": ["stdout", "stderr"],
            }),
        ),
        (
            "usage".to_owned(),
            json!({
                "type": "object",
                "properties": {
                    "wall_ms": {"type": "integer"},
                    "cpu_ms": {"type": "integer"},
                    "memory_bytes": {"type": "integer"},
                    "processes": {"type": "integer"},
                },
                "required": ["wall_ms", "cpu_ms", "memory_bytes"],
            }),
        ),
        (
            "files".to_owned(),
            json!({
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "uri": {"type": "string"}, "size": {"type": "integer"}},
                    "required": ["name", "uri", "size"],
                },
            }),
        ),
        (
            "files_not_kept".to_owned(),
            json!({
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "reason": {"type": "string"}},
                    "required": ["name", "reason"],
                },
            }),
        ),
    ]);
    json!({
        "type": "object",
        "properties": properties,
        "required": ["exit", "stdout", "stderr", "truncated", "files", "usage"],
    })
}
