//! The launcher by itself, for tests and benchmarks: the product's own binary is its launcher.

fn main() {
    innkeeper_sandbox::take_over_if_launcher();
    eprintln!("innkeeper-room is started by the sandbox and does nothing else");
    std::process::exit(2);
}
