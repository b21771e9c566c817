mod action;
#[cfg(unix)]
mod child;
#[cfg(unix)]
mod faults;
mod harness;
#[cfg(unix)]
mod kill;
mod life;
mod recovery;
mod resume;
#[cfg(unix)]
mod small_disk;
#[cfg(unix)]
mod story;
#[cfg(unix)]
mod verdict;
#[cfg(unix)]
mod watched;
