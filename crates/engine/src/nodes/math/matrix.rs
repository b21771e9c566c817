//! Numbers, rows of numbers and matrices, as JSON writes them, and what can be done with them.

use serde_json::{Value as Json, json};

use super::finite;
use crate::limits::MAX_MATRIX_SIDE;
use crate::{NodeError, flow};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Matrix {
    Number(f64),
    Row(Vec<f64>),
    Grid(Grid),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grid {
    rows: usize,
    columns: usize,
    /// Row by row.
    cells: Vec<f64>,
}

impl Grid {
    fn filled(rows: usize, columns: usize, cell: impl Fn(usize, usize) -> f64) -> Self {
        let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        Self {
            rows,
            columns,
            cells: places.map(|(row, column)| cell(row, column)).collect(),
        }
    }

    fn row(&self, row: usize) -> &[f64] {
        let start = row * self.columns;
        self.cells
            .get(start..start + self.columns)
            .unwrap_or_default()
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.row(row).get(column).copied().unwrap_or_default()
    }

    fn transposed(&self) -> Self {
        Self::filled(self.columns, self.rows, |row, column| self.at(column, row))
    }
}

fn wrong(message: String) -> NodeError {
    NodeError::invalid("matrix.shape", message)
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}

impl Matrix {
    /// From a number, a list, a list of lists, or any of these as JSON text.
    pub(super) fn read(key: &str, json: &Json) -> Result<Self, NodeError> {
        let parsed;
        let json = match json {
            Json::String(text) => {
                parsed = serde_json::from_str(text).map_err(|error| {
                    wrong(format!(
                        "the input '{key}' is a text that is no JSON: {error}"
                    ))
                })?;
                &parsed
            }
            json => json,
        };
        match json {
            Json::Number(number) => Ok(Self::Number(number.as_f64().unwrap_or_default())),
            Json::Array(list) if list.first().is_some_and(Json::is_array) => Self::grid(key, list),
            Json::Array(list) => Ok(Self::Row(row(key, list)?)),
            other => Err(wrong(format!(
                "the input '{key}' takes a number, a list of numbers or a list of rows, and got {}",
                flow::kind(other)
            ))),
        }
    }

    fn grid(key: &str, list: &[Json]) -> Result<Self, NodeError> {
        check_side(key, list.len())?;
        let mut cells = Vec::new();
        let mut columns = 0;
        for (index, one) in list.iter().enumerate() {
            let Json::Array(one) = one else {
                let number = index + 1;
                return Err(wrong(format!(
                    "row {number} of the input '{key}' is no list"
                )));
            };
            if index > 0 && one.len() != columns {
                return Err(wrong(format!(
                    "row {} of the input '{key}' has {} numbers, the first has {columns}; all rows need as many",
                    index + 1,
                    one.len()
                )));
            }
            columns = one.len();
            cells.extend(row(key, one)?);
        }
        Ok(Self::Grid(Grid {
            rows: list.len(),
            columns,
            cells,
        }))
    }

    pub(super) fn into_json(self) -> Result<Json, NodeError> {
        let checked = |cells: &[f64]| -> Result<Vec<f64>, NodeError> {
            cells
                .iter()
                .map(|cell| finite(*cell, "the matrix operation"))
                .collect()
        };
        Ok(match self {
            Self::Number(number) => json!(finite(number, "the matrix operation")?),
            Self::Row(row) => json!(checked(&row)?),
            Self::Grid(grid) => {
                let rows = (0..grid.rows).map(|row| Ok(json!(checked(grid.row(row))?)));
                Json::Array(rows.collect::<Result<_, NodeError>>()?)
            }
        })
    }

    /// About how much work a product of it is.
    pub(super) fn work(&self) -> usize {
        match self {
            Self::Number(_) => 1,
            Self::Row(row) => row.len(),
            Self::Grid(grid) => grid.cells.len() * grid.rows.max(grid.columns),
        }
    }

    fn shape(&self) -> String {
        match self {
            Self::Number(_) => "a number".to_owned(),
            Self::Row(row) => format!("a list of {}", row.len()),
            Self::Grid(grid) => format!("{} × {}", grid.rows, grid.columns),
        }
    }

    /// Cell by cell; a number goes with every cell.
    pub(super) fn each(
        &self,
        other: &Self,
        name: &str,
        compute: fn(f64, f64) -> f64,
    ) -> Result<Self, NodeError> {
        let all = |left: &[f64], right: &[f64]| -> Vec<f64> {
            left.iter()
                .zip(right)
                .map(|(a, b)| compute(*a, *b))
                .collect()
        };
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => Ok(Self::Number(compute(*a, *b))),
            (Self::Number(a), many) => Ok(many.map(|b| compute(*a, b))),
            (many, Self::Number(b)) => Ok(many.map(|a| compute(a, *b))),
            (Self::Row(a), Self::Row(b)) if a.len() == b.len() => Ok(Self::Row(all(a, b))),
            (Self::Grid(a), Self::Grid(b)) if a.rows == b.rows && a.columns == b.columns => {
                Ok(Self::Grid(Grid {
                    cells: all(&a.cells, &b.cells),
                    ..*a
                }))
            }
            _ => Err(self.unfit(other, name)),
        }
    }

    fn map(&self, compute: impl Fn(f64) -> f64) -> Self {
        let all = |cells: &[f64]| cells.iter().map(|cell| compute(*cell)).collect();
        match self {
            Self::Number(number) => Self::Number(compute(*number)),
            Self::Row(row) => Self::Row(all(row)),
            Self::Grid(grid) => Self::Grid(Grid {
                cells: all(&grid.cells),
                ..*grid
            }),
        }
    }

    fn unfit(&self, other: &Self, name: &str) -> NodeError {
        wrong(format!(
            "{name} takes matrices that fit each other; 'a' is {}, 'b' is {}",
            self.shape(),
            other.shape()
        ))
    }

    pub(super) fn times(&self, other: &Self) -> Result<Self, NodeError> {
        match (self, other) {
            (Self::Number(_), _) | (_, Self::Number(_)) => {
                self.each(other, "multiply", |a, b| a * b)
            }
            (Self::Row(a), Self::Row(b)) if a.len() == b.len() => Ok(Self::Number(dot(a, b))),
            (Self::Row(a), Self::Grid(b)) if a.len() == b.rows => {
                let b = b.transposed();
                Ok(Self::Row(
                    (0..b.rows).map(|row| dot(a, b.row(row))).collect(),
                ))
            }
            (Self::Grid(a), Self::Row(b)) if a.columns == b.len() => Ok(Self::Row(
                (0..a.rows).map(|row| dot(a.row(row), b)).collect(),
            )),
            (Self::Grid(a), Self::Grid(b)) if a.columns == b.rows => {
                let b = b.transposed();
                let cell = |row, column| dot(a.row(row), b.row(column));
                Ok(Self::Grid(Grid::filled(a.rows, b.rows, cell)))
            }
            _ => Err(self.unfit(other, "multiply")),
        }
    }

    pub(super) fn transpose(&self) -> Self {
        match self {
            Self::Grid(grid) => Self::Grid(grid.transposed()),
            same => same.clone(),
        }
    }

    fn square(&self, name: &str) -> Result<&Grid, NodeError> {
        match self {
            Self::Grid(grid) if grid.rows == grid.columns => Ok(grid),
            other => Err(wrong(format!(
                "{name} takes a matrix with as many rows as columns, and got {}",
                other.shape()
            ))),
        }
    }

    pub(super) fn determinant(&self) -> Result<f64, NodeError> {
        if let Self::Number(number) = self {
            return Ok(*number);
        }
        let grid = self.square("det")?;
        Ok(eliminate(grid, None))
    }

    pub(super) fn inverse(&self) -> Result<Self, NodeError> {
        let singular = || {
            let message = "the matrix has no inverse: its determinant is 0";
            NodeError::invalid("matrix.singular", message)
        };
        if let Self::Number(number) = self {
            return match *number {
                0.0 => Err(singular()),
                number => Ok(Self::Number(1.0 / number)),
            };
        }
        let grid = self.square("invert")?;
        let identity = |row: usize, column: usize| f64::from(u8::from(row == column));
        let mut inverse = Grid::filled(grid.rows, grid.rows, identity);
        match eliminate(grid, Some(&mut inverse)) {
            0.0 => Err(singular()),
            _ => Ok(Self::Grid(inverse)),
        }
    }
}

/// Gauss and Jordan, the largest pivot first. Gives the determinant, and turns `inverse` from one into the inverse.
fn eliminate(grid: &Grid, mut inverse: Option<&mut Grid>) -> f64 {
    let side = grid.rows;
    let mut work: Vec<Vec<f64>> = (0..side).map(|row| grid.row(row).to_vec()).collect();
    let mut other: Vec<Vec<f64>> = match &inverse {
        Some(inverse) => (0..side).map(|row| inverse.row(row).to_vec()).collect(),
        None => vec![Vec::new(); side],
    };
    let mut determinant = 1.0;
    let cell = |rows: &[Vec<f64>], row: usize, column: usize| -> f64 {
        let row = rows.get(row).and_then(|row| row.get(column));
        row.copied().unwrap_or_default()
    };
    for column in 0..side {
        let by_size = |a: &usize, b: &usize| {
            let size = |row: usize| cell(&work, row, column).abs();
            size(*a).total_cmp(&size(*b))
        };
        let pivot = (column..side).max_by(by_size).unwrap_or(column);
        let value = cell(&work, pivot, column);
        if value == 0.0 {
            return 0.0;
        }
        if pivot != column {
            work.swap(pivot, column);
            other.swap(pivot, column);
            determinant = -determinant;
        }
        determinant *= value;
        let (Some(chosen), Some(chosen_other)) =
            (work.get(column).cloned(), other.get(column).cloned())
        else {
            return 0.0;
        };
        let is_full = inverse.is_some();
        for row in 0..side {
            // The rows above matter to the inverse alone.
            if row == column || (row < column && !is_full) {
                continue;
            }
            let factor = cell(&work, row, column) / value;
            if factor == 0.0 {
                continue;
            }
            let rows = [(&mut work, &chosen), (&mut other, &chosen_other)];
            for (rows, chosen) in rows {
                let Some(row) = rows.get_mut(row) else {
                    continue;
                };
                for (cell, chosen) in row.iter_mut().zip(chosen) {
                    *cell -= factor * chosen;
                }
            }
        }
    }
    if let Some(inverse) = &mut inverse {
        let scale = |row: usize| cell(&work, row, row);
        **inverse = Grid::filled(side, side, |row, column| {
            cell(&other, row, column) / scale(row)
        });
    }
    determinant
}

fn row(key: &str, list: &[Json]) -> Result<Vec<f64>, NodeError> {
    check_side(key, list.len())?;
    let numbers = list.iter().map(|one| {
        one.as_f64().ok_or_else(|| {
            wrong(format!(
                "the input '{key}' takes numbers only, and holds {}",
                flow::kind(one)
            ))
        })
    });
    numbers.collect()
}

fn check_side(key: &str, side: usize) -> Result<(), NodeError> {
    match side {
        0 => Err(wrong(format!("the input '{key}' has no numbers"))),
        1..=MAX_MATRIX_SIDE => Ok(()),
        _ => Err(NodeError::invalid(
            "matrix.size",
            format!("the input '{key}' has a side of {side}; {MAX_MATRIX_SIDE} is the most"),
        )),
    }
}
