mod action;
mod cast;
#[cfg(unix)]
mod child;
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
mod papers;
mod parallel;
mod recovery;
mod rests;
mod resume;
mod skills;
#[cfg(unix)]
mod small_disk;
#[cfg(unix)]
mod story;
#[cfg(unix)]
mod tasks;
mod told;
#[cfg(unix)]
mod verdict;
#[cfg(unix)]
mod watched;
