mod architecture;
mod bad_usage;
mod graph;
mod help;
mod parse;
mod process;
