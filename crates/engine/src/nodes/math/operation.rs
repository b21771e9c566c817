//! MathOperation: 34 operations, one mode each.

use crate::node::{Behaviour, In, Io, NodeBuilder, ShapeBuilder, boolean, float};
use crate::{NodeError, NodeType};

use super::finite;

/// What an operation takes.
enum Takes {
    One(&'static str, fn(f64) -> f64),
    Two([&'static str; 2], fn(f64, f64) -> f64),
    Three([&'static str; 3], fn(f64, f64, f64) -> f64),
}

struct Operation {
    id: &'static str,
    title: &'static str,
    takes: Takes,
}

const AB: [&str; 2] = ["a", "b"];

fn one(id: &'static str, title: &'static str, compute: fn(f64) -> f64) -> Operation {
    let takes = Takes::One("value", compute);
    Operation { id, title, takes }
}

fn two(
    id: &'static str,
    title: &'static str,
    keys: [&'static str; 2],
    compute: fn(f64, f64) -> f64,
) -> Operation {
    let takes = Takes::Two(keys, compute);
    Operation { id, title, takes }
}

fn operations() -> Vec<Operation> {
    vec![
        two("add", "Add", AB, |a, b| a + b),
        two("subtract", "Subtract", AB, |a, b| a - b),
        two("multiply", "Multiply", AB, |a, b| a * b),
        Operation {
            id: "multiply_add",
            title: "Multiply and add",
            takes: Takes::Three(["val1", "val2", "val3"], |a, b, c| a * b + c),
        },
        two("divide", "Divide", AB, |a, b| a / b),
        two("power", "Power", ["base", "exponent"], f64::powf),
        two("logarithm", "Logarithm", ["value", "base"], logarithm),
        one("sqrt", "Square root", f64::sqrt),
        one("inverse_sqrt", "Inverse square root", |value| {
            1.0 / value.sqrt()
        }),
        one("absolute", "Absolute", f64::abs),
        one("exp", "Exponential", f64::exp),
        two("min", "Minimum", AB, f64::min),
        two("max", "Maximum", AB, f64::max),
        two("lessThan", "Less than", AB, |a, b| {
            f64::from(u8::from(a < b))
        }),
        two("greaterThan", "Greater than", AB, |a, b| {
            f64::from(u8::from(a > b))
        }),
        one("sign", "Sign", |value| match value {
            0.0 => 0.0,
            value => value.signum(),
        }),
        one("round", "Round", round),
        one("floor", "Floor", f64::floor),
        one("ceil", "Ceiling", f64::ceil),
        one("truncate", "Truncate", f64::trunc),
        one("fraction", "Fraction", |value| match value < 0.0 {
            true => 1.0 + value.fract(),
            false => value.fract(),
        }),
        two("modulo", "Modulo", AB, |a, b| a % b),
        one("sin", "Sine", f64::sin),
        one("cos", "Cosine", f64::cos),
        one("tan", "Tangent", f64::tan),
        one("asin", "Arcsine", f64::asin),
        one("acos", "Arccosine", f64::acos),
        one("atan", "Arctangent", f64::atan),
        two("atan2", "Arctangent of y and x", ["y", "x"], f64::atan2),
        one("sinh", "Hyperbolic sine", f64::sinh),
        one("cosh", "Hyperbolic cosine", f64::cosh),
        one("tanh", "Hyperbolic tangent", f64::tanh),
        Operation {
            id: "to_radians",
            title: "To radians",
            takes: Takes::One("degrees", f64::to_radians),
        },
        Operation {
            id: "to_degrees",
            title: "To degrees",
            takes: Takes::One("radians", f64::to_degrees),
        },
    ]
}

/// Halves go up, also below zero: -1.5 becomes -1.
fn round(value: f64) -> f64 {
    let floor = value.floor();
    if value - floor >= 0.5 {
        floor + 1.0
    } else {
        floor
    }
}

fn logarithm(value: f64, base: f64) -> f64 {
    // These two are exact where a quotient of logarithms is not.
    match base {
        2.0 => value.log2(),
        10.0 => value.log10(),
        _ if base <= 0.0 || base == 1.0 || value <= 0.0 => f64::NAN,
        _ => value.ln() / base.ln(),
    }
}

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "MathOperation",
        "Math",
        "Math operation",
        "One of 34 operations on numbers, by its mode",
    );
    node.modes("operationMode", "add");
    let operations = operations();
    let ids: Vec<&str> = operations.iter().map(|one| one.id).collect();
    node.setting(
        crate::node::text("operationMode")
            .title("Operation")
            .about("Which operation")
            .choice(&ids)
            .default("add"),
    );
    node.setting(
        boolean("compat")
            .title("As ComfyTavern does")
            .about(
                "An exponent of 0 counts as 2, a logarithm's value of 0 as 1, its base of 0 as e",
            )
            .default(false),
    );
    for operation in operations {
        let Operation { id, title, takes } = operation;
        node.mode(id, title, |shape| behaviour(shape, id, takes));
    }
    node.by_mode()
}

fn behaviour(shape: &mut ShapeBuilder, id: &'static str, takes: Takes) -> Behaviour {
    match takes {
        Takes::One(key, compute) => {
            let value = number(shape, id, key);
            ends(shape, id, move |io| Ok(compute(read(io, id, key, value)?)))
        }
        Takes::Two(keys, compute) => {
            let slots = keys.map(|key| number(shape, id, key));
            ends(shape, id, move |io| {
                let [a, b] = read_all(io, id, keys, slots)?;
                if b == 0.0 && matches!(id, "divide" | "modulo") {
                    let message = format!("the input 'b' of {id} is 0; give it another number");
                    return Err(NodeError::invalid("math.zero_divisor", message));
                }
                Ok(compute(a, b))
            })
        }
        Takes::Three(keys, compute) => {
            let slots = keys.map(|key| number(shape, id, key));
            ends(shape, id, move |io| {
                let [a, b, c] = read_all(io, id, keys, slots)?;
                Ok(compute(a, b, c))
            })
        }
    }
}

fn number(shape: &mut ShapeBuilder, id: &str, key: &str) -> In<f64> {
    let slot = float(key).title(key).required();
    let slot = slot.about(match key {
        "a" | "val1" => "The first number",
        "b" | "val2" => "The second number",
        "val3" => "What is added to their product",
        "base" => "The base",
        "exponent" => "The exponent",
        "degrees" => "An angle in degrees",
        "radians" => "An angle in radians",
        "x" | "y" => "A coordinate",
        _ if matches!(id, "sin" | "cos" | "tan") => "An angle in radians",
        _ => "The number",
    });
    shape.input(match neutral(id, key) {
        Some(default) => slot.default(default),
        None => slot.default(0),
    })
}

/// What upstream takes where there is nothing, and where there is zero.
fn neutral(id: &str, key: &str) -> Option<f64> {
    match (id, key) {
        ("power", "exponent") => Some(2.0),
        ("logarithm", "value") => Some(1.0),
        ("logarithm", "base") => Some(std::f64::consts::E),
        _ => None,
    }
}

fn read(io: &mut Io, id: &str, key: &str, slot: In<f64>) -> Result<f64, NodeError> {
    let value = io.get(slot)?;
    let is_compat = io.config("compat").as_bool() == Some(true);
    Ok(match neutral(id, key) {
        Some(neutral) if is_compat && value == 0.0 => neutral,
        _ => value,
    })
}

fn read_all<const N: usize>(
    io: &mut Io,
    id: &str,
    keys: [&str; N],
    slots: [In<f64>; N],
) -> Result<[f64; N], NodeError> {
    let mut values = [0.0; N];
    for ((value, key), slot) in values.iter_mut().zip(keys).zip(slots) {
        *value = read(io, id, key, slot)?;
    }
    Ok(values)
}

/// The slots that all operations have.
fn ends(
    shape: &mut ShapeBuilder,
    id: &'static str,
    compute: impl Fn(&mut Io) -> Result<f64, NodeError> + Send + Sync + 'static,
) -> Behaviour {
    let clamp = shape.input(
        boolean("clamp")
            .title("Clamp")
            .about("Keep the result between 0 and 1")
            .default(false),
    );
    let result = shape.output(float("result").title("Result").about("The result"));
    Behaviour::inline(move |io| {
        let mut computed = finite(compute(io)?, id)?;
        if io.get(clamp)? {
            computed = computed.clamp(0.0, 1.0);
        }
        io.set(result, computed);
        Ok(())
    })
}

#[cfg(test)]
#[path = "operation_tests.rs"]
mod tests;
