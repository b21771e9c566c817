mod action;
mod approvals;
mod approvals_back;
mod cast;
#[cfg(unix)]
mod child;
mod compaction;
mod compare;
mod delegation;
mod deliberation;
mod ends;
#[cfg(unix)]
mod faults;
mod harness;
#[cfg(unix)]
mod kill;
#[cfg(unix)]
mod kill_agents;
mod life;
mod many_tools;
mod memory;
mod memory_law;
mod papers;
mod parallel;
mod recovery;
mod rests;
mod resume;
mod retention;
mod skills;
#[cfg(unix)]
mod small_disk;
mod states;
#[cfg(unix)]
mod story;
#[cfg(unix)]
mod tasks;
mod told;
mod undo;
#[cfg(unix)]
mod undo_faults;
mod undo_law;
#[cfg(unix)]
mod verdict;
#[cfg(unix)]
mod watched;
