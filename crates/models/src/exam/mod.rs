//! An exam in calling tools: which dialect a model speaks best, by evidence.
//!
//! `tasks` holds the questions, `check` marks the answers, `result` counts. Nothing is run: a task is solved when the
//! calls in the reply are the ones that were asked for.

mod check;
mod result;
mod take;
mod tasks;

pub use result::{ExamResult, Excerpt, Marks, Score, TaskResult};
pub use take::{ExamOptions, Validate, take};
pub use tasks::{Expected, ExpectedCall, Task, Wanted, tasks};
