//! Nodes that compute with numbers.

mod expression;
mod matrix;
mod matrix_operation;
mod operation;
mod random;

use crate::{NodeError, NodeType};

pub(super) fn all() -> Vec<NodeType> {
    vec![
        operation::node(),
        matrix_operation::node(),
        expression::node(),
        random::node(),
    ]
}

/// JSON knows neither infinity nor "not a number", and whoever computes with them further is no wiser.
fn finite(result: f64, what: &str) -> Result<f64, NodeError> {
    match result {
        _ if result.is_nan() => Err(NodeError::invalid(
            "math.undefined",
            format!("{what} has no result among the real numbers; check its inputs"),
        )),
        _ if result.is_infinite() => Err(NodeError::invalid(
            "math.overflow",
            format!("the result of {what} is larger than any number that can be kept"),
        )),
        // Minus zero is zero to everyone who reads it.
        _ => Ok(result + 0.0),
    }
}
