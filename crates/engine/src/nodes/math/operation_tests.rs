use std::collections::HashSet;
use std::f64::consts::{E, FRAC_PI_2, FRAC_PI_4, PI};

use serde_json::{Value as Json, json};

use super::operations;
use crate::testing::run_node;

async fn run(config: Json, inputs: Json) -> Result<f64, String> {
    let out = run_node("core:MathOperation", config, inputs).await;
    let out = out.map_err(|error| error.code)?;
    Ok(out["result"].as_f64().unwrap())
}

#[tokio::test]
async fn all_modes() {
    let rows = [
        ("add", json!({"a": 2, "b": 3}), 5.0),
        ("subtract", json!({"a": 2, "b": 3}), -1.0),
        ("multiply", json!({"a": 2, "b": 3}), 6.0),
        (
            "multiply_add",
            json!({"val1": 2, "val2": 3, "val3": 4}),
            10.0,
        ),
        ("divide", json!({"a": 3, "b": 2}), 1.5),
        ("power", json!({"base": 3}), 9.0),
        ("power", json!({"base": 3, "exponent": 3}), 27.0),
        ("power", json!({"base": 3, "exponent": 0}), 1.0),
        ("logarithm", json!({"value": 8, "base": 2}), 3.0),
        ("logarithm", json!({"value": 1000, "base": 10}), 3.0),
        ("logarithm", json!({"value": E}), 1.0),
        ("logarithm", json!({}), 0.0),
        ("sqrt", json!({"value": 9}), 3.0),
        ("inverse_sqrt", json!({"value": 4}), 0.5),
        ("absolute", json!({"value": -4}), 4.0),
        ("exp", json!({"value": 1}), E),
        ("min", json!({"a": 2, "b": -3}), -3.0),
        ("max", json!({"a": 2, "b": -3}), 2.0),
        ("lessThan", json!({"a": 2, "b": 3}), 1.0),
        ("lessThan", json!({"a": 3, "b": 3}), 0.0),
        ("greaterThan", json!({"a": 4, "b": 3}), 1.0),
        ("sign", json!({"value": -7}), -1.0),
        ("sign", json!({"value": 0}), 0.0),
        ("round", json!({"value": 2.5}), 3.0),
        ("round", json!({"value": -1.5}), -1.0),
        ("round", json!({"value": 0.49999999999999994}), 0.0),
        ("floor", json!({"value": -1.5}), -2.0),
        ("ceil", json!({"value": -1.5}), -1.0),
        ("truncate", json!({"value": -1.5}), -1.0),
        ("fraction", json!({"value": 1.25}), 0.25),
        ("fraction", json!({"value": -1.25}), 0.75),
        ("modulo", json!({"a": -7, "b": 3}), -1.0),
        ("sin", json!({"value": FRAC_PI_2}), 1.0),
        ("cos", json!({"value": 0}), 1.0),
        ("tan", json!({"value": 0}), 0.0),
        ("asin", json!({"value": 1}), FRAC_PI_2),
        ("acos", json!({"value": 1}), 0.0),
        ("atan", json!({"value": 1}), FRAC_PI_4),
        ("atan2", json!({"y": 1, "x": 1}), FRAC_PI_4),
        ("sinh", json!({"value": 0}), 0.0),
        ("cosh", json!({"value": 0}), 1.0),
        ("tanh", json!({"value": 0}), 0.0),
        ("to_radians", json!({"degrees": 180}), PI),
        ("to_degrees", json!({"radians": PI}), 180.0),
    ];
    let tested: HashSet<_> = rows.iter().map(|(mode, _, _)| *mode).collect();
    let known: HashSet<_> = operations().iter().map(|one| one.id).collect();
    assert_eq!(known.len(), 34);
    assert_eq!(tested, known);
    for (mode, inputs, expected) in rows {
        let found = run(json!({"operationMode": mode}), inputs.clone()).await;
        let found = found.unwrap();
        assert!((found - expected).abs() < 1e-12, "{mode} {inputs}: {found}");
    }
}

#[tokio::test]
async fn nothing_and_zero_are_zero() {
    for operation in operations() {
        let id = operation.id;
        let of_nothing = run(json!({"operationMode": id}), json!({})).await;
        let expected = match id {
            "divide" | "modulo" => Err("math.zero_divisor".to_owned()),
            "inverse_sqrt" => Err("math.overflow".to_owned()),
            "exp" | "cos" | "cosh" => Ok(1.0),
            "acos" => Ok(FRAC_PI_2),
            _ => Ok(0.0),
        };
        assert_eq!(of_nothing, expected, "{id}");
    }
}

#[tokio::test]
async fn what_has_no_result_is_an_error() {
    for (mode, inputs, code) in [
        ("divide", json!({"a": 1, "b": 0}), "math.zero_divisor"),
        ("modulo", json!({"a": 1, "b": 0}), "math.zero_divisor"),
        ("sqrt", json!({"value": -1}), "math.undefined"),
        ("inverse_sqrt", json!({"value": -1}), "math.undefined"),
        ("logarithm", json!({"value": 0}), "math.undefined"),
        (
            "logarithm",
            json!({"value": -1, "base": 10}),
            "math.undefined",
        ),
        ("logarithm", json!({"value": 0, "base": 2}), "math.overflow"),
        (
            "logarithm",
            json!({"value": 2, "base": 1}),
            "math.undefined",
        ),
        ("asin", json!({"value": 2}), "math.undefined"),
        (
            "power",
            json!({"base": -8, "exponent": 0.5}),
            "math.undefined",
        ),
        ("exp", json!({"value": 1000}), "math.overflow"),
        ("multiply", json!({"a": 1e300, "b": 1e300}), "math.overflow"),
    ] {
        let found = run(json!({"operationMode": mode}), inputs.clone()).await;
        assert_eq!(found, Err(code.to_owned()), "{mode} {inputs}");
    }
}

#[tokio::test]
async fn settings() {
    let compat = |mode: &str| json!({"operationMode": mode, "compat": true});
    let power = json!({"base": 3, "exponent": 0});
    assert_eq!(run(compat("power"), power).await, Ok(9.0));
    let of_zero = json!({"value": 0, "base": 0});
    assert_eq!(run(compat("logarithm"), of_zero).await, Ok(0.0));
    let clamped = json!({"a": 5, "b": 3, "clamp": true});
    assert_eq!(run(json!({}), clamped).await, Ok(1.0));
    let unknown = run(json!({"operationMode": "cube"}), json!({})).await;
    assert!(unknown.is_err());
}
