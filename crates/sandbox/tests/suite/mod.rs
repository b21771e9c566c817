mod escape;
mod harness;
mod leaks;
mod life;
mod limits;
mod policies;
