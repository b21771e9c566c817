mod architecture;
mod bad_usage;
mod calls;
mod graph;
mod help;
mod parse;
mod process;
