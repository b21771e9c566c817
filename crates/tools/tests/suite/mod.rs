mod blocks;
mod harness;
mod hooks;
mod references;
mod requests;
mod retries;
mod tasks;
mod tools;
