//! What a call costs beside the tool itself: `cargo bench -p innkeeper-benches --bench tools`.
//!
//! A trivial tool among many others is called through the whole way: looked up, bound, validated, allowed, run,
//! redacted, written to the audit log. The limit it is held against is one validation with the compiled schema
//! and one clone of the arguments: less than that nobody can do.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use innkeeper_benches::{Bar, Failed, Patience, Row, Table, median};
use innkeeper_protocol::event::RunId;
use innkeeper_protocol::{Outcome, ToolCallRequest, ToolDefinition, bind_partly, parse};
use innkeeper_store::{LocalBus, Store};
use innkeeper_tools::policy::{Nobody, Policy, Question};
use innkeeper_tools::registry::{Lookup, Offer, Prepared, Snapshot, Source};
use innkeeper_tools::search::{Index, Query};
use innkeeper_tools::{
    CallContext, Caller, Executor, FileLayer, Invocation, Parts, Progress, RunOptions, SystemClock,
    ToolError, ToolManager, redact_arguments,
};
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

/// As the binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];
/// A tenfold registry may cost so much more; a linear one would cost ten times as much.
const MOST_GROWTH: f64 = 1.5;

/// Making an index may take so many times as long as reading what it is made of.
const INDEX_OF_READING: f64 = 1.0 / 200.0;
/// A question may take as long as that.
const QUESTION_OF_READING: f64 = 0.5;

struct Nothing;

#[async_trait]
impl Executor for Nothing {
    async fn execute(&self, _: Invocation) -> Result<Json, ToolError> {
        Ok(Json::Null)
    }
}

fn definition(number: usize) -> ToolDefinition {
    let parameters = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 1, "maxLength": 100},
            "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 3},
            "units": {"type": "string", "enum": ["metric", "imperial"]},
            "detail": {"type": "boolean"},
        },
        "required": ["city"],
        "additionalProperties": false,
    });
    let mut tool = ToolDefinition::new(
        format!("Plugin{number}.Weather"),
        "The weather.",
        parameters,
    );
    tool.aliases = vec![format!("weather_{number}").as_str().into()];
    tool.source = "builtin".to_owned();
    tool
}

fn main() -> ExitCode {
    innkeeper_benches::run(2_000, 20_000, measure)
}

async fn measure(table: &mut Table, rounds: usize) -> Result<(), Failed> {
    table.head("One call of a trivial tool, the whole way, at the median");
    let limit = limit(rounds)?;
    let mut before: Option<Duration> = None;
    for size in SIZES {
        let started = Instant::now();
        let manager = manager(size).await?;
        let loading = started.elapsed();
        let listing = Instant::now();
        let listed = manager.registry().snapshot().tools().len();
        let listing = listing.elapsed();
        let time = call(&manager, size, rounds).await?;
        let growth = before.map(|before| time.as_secs_f64() / before.as_secs_f64());
        let mut row = Row::new(format!("{size} tools"), 0, time)
            .against(limit)
            .doubling(growth);
        if size == 1_000 {
            row = row.bar(Bar::OfLimit(0.02));
        }
        if growth.is_some() {
            row = row.bar(Bar::Doubling(MOST_GROWTH));
        }
        table.row(&row);
        println!(
            "    {listed} tools checked, compiled and registered in {loading:.1?}, listed in {listing:.1?}"
        );
        before = Some(time);
        manager.store().flush().await?;
    }
    println!("  (the last ratio is against the row above: ten times as many tools)");
    parts(table, rounds).await?;
    search(table);
    Ok(())
}

/// Finding tools among a thousand. The limit is going through all their words once, character by character.
fn search(table: &mut Table) {
    table.head("Finding one of 1,000 tools by its words, best of many");
    let tools: Vec<_> = (0..1_000)
        .map(|number| Arc::new(described(number)))
        .collect();
    let texts: Vec<String> = tools.iter().map(|tool| words(tool)).collect();
    let bytes = texts.iter().map(String::len).sum();
    let read = Patience::LONG.best(|| {
        let letters = texts.iter().flat_map(|text| text.chars());
        letters.filter(|c| c.is_alphanumeric()).count()
    });
    table.row(&Row::new("read their words once", bytes, read));
    let build = Patience::LONG.best(|| Index::of(&tools));
    table.row(
        &Row::new("make the index", bytes, build)
            .against(read)
            .bar(Bar::OfLimit(INDEX_OF_READING)),
    );
    let index = Index::of(&tools);
    for (name, question) in [
        ("a question of four words", "approve the parcel 77"),
        ("the same in Chinese", "批准第 77 个包裹"),
        (
            "a long message",
            &"Please look at the parcel and the invoice of the week. ".repeat(40),
        ),
    ] {
        let find = Patience::LONG.best(|| index.rank(&Query::new(question)));
        table.row(
            &Row::new(name, bytes, find)
                .against(read)
                .bar(Bar::OfLimit(QUESTION_OF_READING)),
        );
    }
}

/// Different words for each, as many as tools have.
fn described(number: usize) -> ToolDefinition {
    let verbs = [
        "approve", "archive", "count", "create", "export", "merge", "rename", "watch",
    ];
    let nouns = [
        "invoice", "parcel", "salary", "contract", "exam", "ticket", "backup", "video", "hotel",
    ];
    let verb = verbs[number % verbs.len()];
    let noun = nouns[number / verbs.len() % nouns.len()];
    let mut tool = definition(number);
    tool.id = format!("{noun}{number}.{verb}").as_str().into();
    tool.description = format!(
        "Can {verb} the {noun} of department {number}. Gives what became of it, and who has to be asked if something is missing."
    );
    tool
}

fn words(tool: &ToolDefinition) -> String {
    let names = tool.properties().map(|(name, _)| name);
    let ids = std::iter::once(&tool.id).chain(&tool.aliases);
    let ids = ids.map(|id| id.as_str());
    let texts = ids.chain([tool.description.as_str()]).chain(names);
    texts.collect::<Vec<_>>().join(" ")
}

/// Where the time goes.
async fn parts(table: &mut Table, rounds: usize) -> Result<(), Failed> {
    table.head("Its parts, at the median");
    let manager = manager(1_000).await?;
    let snapshot = manager.registry().snapshot();
    let text = text(500);
    let reply = parse(&text);
    let request = reply.calls().next().ok_or("the text holds a call")?;
    let tool = definition(500);
    let (bound, _) = bind_partly(request, &tool);
    let arguments = bound.arguments;
    let policy = Policy::default();
    let four = four_steps(&snapshot, request, rounds).await?;
    table.row(
        &Row::new("look up, bind, validate, dispatch", 0, four)
            .bar(Bar::AtMost(Duration::from_micros(10))),
    );
    let mut row = |name: &str, work: &mut dyn FnMut()| {
        let times = (0..rounds)
            .map(|_| {
                let start = Instant::now();
                work();
                start.elapsed()
            })
            .collect();
        table.row(&Row::new(name, 0, median(times)));
    };
    row("look the name up", &mut || {
        black_box(matches!(snapshot.find(&request.tool), Lookup::Found(_)));
    });
    row("bind", &mut || {
        black_box(bind_partly(request, &tool));
    });
    row("decide by the default rules", &mut || {
        black_box(policy.decide(&Question {
            tool: &tool,
            actor: "person",
            arguments: &arguments,
            normalise: &|_| None,
        }));
    });
    row("arguments for the audit log", &mut || {
        black_box(redact_arguments(&tool, &arguments));
    });
    Ok(())
}

/// What every call needs, whatever else is asked of it.
async fn four_steps(
    snapshot: &Snapshot,
    request: &ToolCallRequest<'_>,
    rounds: usize,
) -> Result<Duration, Failed> {
    let prepared = Prepared::new(definition(500))?;
    let caller = Arc::new(Caller::person(RunId::new("bench")));
    let executor: Arc<dyn Executor> = Arc::new(Nothing);
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let start = Instant::now();
        let Lookup::Found(tool) = snapshot.find(&request.tool) else {
            return Err("the tool is there".into());
        };
        let (bound, _) = bind_partly(request, tool.definition());
        let arguments = Json::Object(bound.arguments);
        let fits = prepared.accepts(&arguments);
        let Json::Object(arguments) = arguments else {
            return Err("arguments are an object".into());
        };
        let call = Invocation {
            tool: tool.definition().clone(),
            arguments,
            context: CallContext {
                caller: caller.clone(),
                call_id: String::new(),
                asked_as: None,
                attempt: 1,
                cancel: CancellationToken::new(),
                progress: Progress::default(),
                run: None,
            },
        };
        let result = executor.execute(call).await;
        times.push(start.elapsed());
        if !fits || result.is_err() {
            return Err("the call is a good one".into());
        }
    }
    Ok(median(times))
}

fn text(number: usize) -> String {
    format!(
        "<|[REQUEST_TOOL]|>\ncommand:»»»plugin{number}.weather«««\nCity:»»»Lisbon«««\nDays:»»»3«««\nunits:»»»metric«««\ndetail:»»»true«««\n<|[END_TOOL]|>"
    )
}

/// What no way around can be cheaper than.
fn limit(rounds: usize) -> Result<Duration, Failed> {
    let validator = Prepared::new(definition(0))?;
    let arguments = json!({"city": "Lisbon", "days": 3, "units": "metric", "detail": true});
    let times = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            black_box(validator.accepts(&arguments.clone()));
            start.elapsed()
        })
        .collect();
    Ok(median(times))
}

async fn manager(size: usize) -> Result<ToolManager, Failed> {
    let home = tempfile::tempdir()?;
    let manager = ToolManager::new(Parts {
        files: FileLayer::open(home.path())?,
        store: Store::in_memory().await?,
        bus: Arc::new(LocalBus::default()),
        approver: Arc::new(Nobody),
        policy: Policy::default(),
        clock: Arc::new(SystemClock),
    });
    let executor: Arc<dyn Executor> = Arc::new(Nothing);
    let tools = (0..size)
        .map(|number| {
            let prepared = Prepared::new(definition(number))?;
            Ok(Offer::new(prepared, executor.clone()))
        })
        .collect::<Result<_, Failed>>()?;
    let source = Source {
        tools,
        ..Source::default()
    };
    manager.registry().replace("builtin", source)?;
    Ok(manager)
}

async fn call(manager: &ToolManager, size: usize, rounds: usize) -> Result<Duration, Failed> {
    let text = text(size / 2);
    let reply = parse(&text);
    let request = reply.calls().next().ok_or("the text holds a call")?;
    let run = manager.begin(Caller::person(RunId::new("bench")), RunOptions::default());
    let mut times = Vec::with_capacity(rounds);
    for round in 0..rounds {
        let start = Instant::now();
        let observation = run.run_call(request).await;
        times.push(start.elapsed());
        if !matches!(observation.outcome, Outcome::Success { .. }) {
            return Err(format!("the call failed: {observation:?}").into());
        }
        // The log is written by somebody else; give it the time it takes, so that only the call is measured.
        if round % 256 == 0 {
            manager.store().flush().await?;
        }
    }
    Ok(median(times))
}
