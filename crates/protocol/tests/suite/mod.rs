//! What the parser promises, each kind of promise in its own file.

mod documentation;
mod laws;
mod limits;
mod linear;
mod marks;
mod matcher;
mod mutation;
mod properties;
mod round_trip;
mod round_trip_bound;
mod streams;
mod vectors;
