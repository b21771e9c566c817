//! Empty: the package is its benchmark.
