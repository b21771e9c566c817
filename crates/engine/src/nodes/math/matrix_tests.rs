use serde_json::{Value as Json, json};

use crate::limits::MAX_MATRIX_SIDE;
use crate::testing::run_node;

async fn run(mode: &str, inputs: Json) -> Result<Json, String> {
    let config = json!({"operationMode": mode});
    let out = run_node("core:MatrixOperation", config, inputs).await;
    Ok(out.map_err(|error| error.code)?["result"].clone())
}

#[tokio::test]
async fn operations() {
    let m = json!([[1, 2], [3, 4]]);
    for (mode, inputs, expected) in [
        (
            "add",
            json!({"a": m, "b": [[1, 1], [1, 1]]}),
            json!([[2.0, 3.0], [4.0, 5.0]]),
        ),
        (
            "add",
            json!({"a": m, "b": 1}),
            json!([[2.0, 3.0], [4.0, 5.0]]),
        ),
        ("add", json!({"a": 1, "b": 2}), json!(3.0)),
        (
            "add",
            json!({"a": "[[1, 2], [3, 4]]", "b": "1"}),
            json!([[2.0, 3.0], [4.0, 5.0]]),
        ),
        ("subtract", json!({"a": 1, "b": [1, 2]}), json!([0.0, -1.0])),
        (
            "multiply",
            json!({"a": m, "b": 2}),
            json!([[2.0, 4.0], [6.0, 8.0]]),
        ),
        (
            "multiply",
            json!({"a": m, "b": m}),
            json!([[7.0, 10.0], [15.0, 22.0]]),
        ),
        ("multiply", json!({"a": m, "b": [1, 1]}), json!([3.0, 7.0])),
        ("multiply", json!({"a": [1, 1], "b": m}), json!([4.0, 6.0])),
        ("multiply", json!({"a": [1, 2], "b": [3, 4]}), json!(11.0)),
        (
            "multiply",
            json!({"a": [[1, 2]], "b": [[3], [4]]}),
            json!([[11.0]]),
        ),
        (
            "transpose",
            json!({"matrix": [[1, 2, 3]]}),
            json!([[1.0], [2.0], [3.0]]),
        ),
        ("transpose", json!({"matrix": 5}), json!(5.0)),
        (
            "invert",
            json!({"matrix": [[4, 0], [0, 0.5]]}),
            json!([[0.25, 0.0], [0.0, 2.0]]),
        ),
        (
            "invert",
            json!({"matrix": [[0, 1], [1, 0]]}),
            json!([[0.0, 1.0], [1.0, 0.0]]),
        ),
        (
            "invert",
            json!({"matrix": [[2, 1], [4, 3]]}),
            json!([[1.5, -0.5], [-2.0, 1.0]]),
        ),
        ("invert", json!({"matrix": 4}), json!(0.25)),
        ("det", json!({"matrix": m}), json!(-2.0)),
        ("det", json!({"matrix": [[0, 2], [3, 0]]}), json!(-6.0)),
        ("det", json!({"matrix": [[1, 2], [2, 4]]}), json!(0.0)),
        (
            "det",
            json!({"matrix": [[2, 0, 0], [0, 3, 0], [0, 0, 4]]}),
            json!(24.0),
        ),
        ("det", json!({"matrix": 7}), json!(7.0)),
    ] {
        let found = run(mode, inputs.clone()).await;
        let found = found.unwrap_or_else(|code| panic!("{mode} {inputs}: {code}"));
        assert!(close(&found, &expected), "{mode} {inputs}: {found}");
    }
}

fn close(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b))
        }
        _ => (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-9,
    }
}

#[tokio::test]
async fn what_does_not_fit() {
    let long = vec![1; MAX_MATRIX_SIDE + 1];
    for (mode, inputs, code) in [
        (
            "add",
            json!({"a": [[1, 2]], "b": [[1], [2]]}),
            "matrix.shape",
        ),
        ("add", json!({"a": [1], "b": [1, 2]}), "matrix.shape"),
        (
            "multiply",
            json!({"a": [[1, 2]], "b": [[1, 2]]}),
            "matrix.shape",
        ),
        (
            "invert",
            json!({"matrix": [[1, 2], [2, 4]]}),
            "matrix.singular",
        ),
        ("invert", json!({"matrix": 0}), "matrix.singular"),
        ("invert", json!({"matrix": [[1, 2]]}), "matrix.shape"),
        ("det", json!({"matrix": [[1, 2]]}), "matrix.shape"),
        ("det", json!({"matrix": [[1, 2], [3]]}), "matrix.shape"),
        ("det", json!({"matrix": [[1, "2"]]}), "matrix.shape"),
        ("det", json!({"matrix": [[1], 2]}), "matrix.shape"),
        ("det", json!({"matrix": []}), "matrix.shape"),
        ("det", json!({"matrix": "no"}), "matrix.shape"),
        ("det", json!({"matrix": {"a": 1}}), "matrix.shape"),
        ("add", json!({"a": long, "b": 1}), "matrix.size"),
        (
            "multiply",
            json!({"a": [1e300], "b": [1e300]}),
            "math.overflow",
        ),
    ] {
        let found = run(mode, inputs.clone()).await;
        assert_eq!(found, Err(code.to_owned()), "{mode} {inputs}");
    }
}

#[tokio::test]
async fn a_large_matrix_times_its_inverse_is_one() {
    let side = 40;
    let cell = |row: usize, column: usize| match row == column {
        true => 50.0,
        false => ((row * 7 + column * 13) % 11) as f64,
    };
    let rows: Vec<Vec<f64>> = (0..side)
        .map(|row| (0..side).map(|column| cell(row, column)).collect())
        .collect();
    let inverse = run("invert", json!({"matrix": rows})).await.unwrap();
    let product = run("multiply", json!({"a": rows, "b": inverse}))
        .await
        .unwrap();
    for (row, cells) in product.as_array().unwrap().iter().enumerate() {
        for (column, cell) in cells.as_array().unwrap().iter().enumerate() {
            let expected = f64::from(u8::from(row == column));
            assert!(
                (cell.as_f64().unwrap() - expected).abs() < 1e-9,
                "{row} {column}"
            );
        }
    }
}
