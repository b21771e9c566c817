//! MatrixOperation: sums, products, inverses of matrices.

use super::matrix::Matrix;
use crate::node::{Behaviour, NodeBuilder, any, text};
use crate::nodes::heavy::heavy;
use crate::{NodeError, NodeType};

type Two = fn(&Matrix, &Matrix) -> Result<Matrix, NodeError>;
type One = fn(&Matrix) -> Result<Matrix, NodeError>;

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "MatrixOperation",
        "Math",
        "Matrix operation",
        "Adds, subtracts, multiplies, transposes or inverts matrices, or gives a determinant",
    );
    node.modes("operationMode", "add");
    let two: [(&str, &str, Two); 3] = [
        ("add", "Add", |a, b| a.each(b, "add", |a, b| a + b)),
        ("subtract", "Subtract", |a, b| {
            a.each(b, "subtract", |a, b| a - b)
        }),
        ("multiply", "Multiply", Matrix::times),
    ];
    let one: [(&str, &str, One); 3] = [
        ("transpose", "Transpose", |matrix| Ok(matrix.transpose())),
        ("invert", "Invert", Matrix::inverse),
        ("det", "Determinant", |matrix| {
            matrix.determinant().map(Matrix::Number)
        }),
    ];
    node.setting(
        text("operationMode")
            .title("Operation")
            .about("Which operation")
            .choice(&["add", "subtract", "multiply", "transpose", "invert", "det"])
            .default("add"),
    );
    let matrix = |key: &str, about: &str| {
        any(key)
            .title(key)
            .about(about)
            .category("Matrix")
            .required()
    };
    let result = || {
        any("result")
            .title("Result")
            .about("A matrix, a list or a number")
            .category("Matrix")
    };
    for (id, title, compute) in two {
        node.mode(id, title, |shape| {
            let a = shape.input(matrix(
                "a",
                "A matrix, a list of numbers or a number; JSON text is read",
            ));
            let b = shape.input(matrix("b", "The other one"));
            let result = shape.output(result());
            Behaviour::task(move |mut io| async move {
                let a = Matrix::read("a", io.get(a)?.as_json())?;
                let b = Matrix::read("b", io.get(b)?.as_json())?;
                let work = a.work().max(b.work());
                let found = heavy(work, move || compute(&a, &b)?.into_json()).await?;
                io.set(result, found);
                io.done()
            })
        });
    }
    for (id, title, compute) in one {
        node.mode(id, title, |shape| {
            let input = shape.input(matrix("matrix", "A matrix or a number; JSON text is read"));
            let result = shape.output(result());
            Behaviour::task(move |mut io| async move {
                let matrix = Matrix::read("matrix", io.get(input)?.as_json())?;
                let found = heavy(matrix.work(), move || compute(&matrix)?.into_json()).await?;
                io.set(result, found);
                io.done()
            })
        });
    }
    node.by_mode()
}

#[cfg(test)]
#[path = "matrix_tests.rs"]
mod tests;
