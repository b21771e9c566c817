//! Expressions written anew: every operand and argument passes its check.

use std::fmt::Write as _;

use minijinja::machinery::ast;

use super::{Refused, Writer, Written};

/// Texts are charged, and may not be too large.
const GROW: &str = "__grow";
/// A number, nothing else.
const NUMBER: &str = "__number";
/// May not be too large.
const FITS: &str = "__fits";
/// The same, and what is only made when it is asked for is made now: chains of those would grow from step to step.
/// A namespace is held by a variable alone: in another it could come to hold itself, and would never be freed.
pub(super) const KEEP: &str = "__keep";
/// The same for a variable.
pub(super) const HOLD: &str = "__hold";

/// Only a part of it is looked at.
const GLANCE: &str = "__glance";
/// More copies of one value are counted.
const FEW_COPIES: usize = 8;
/// Longer texts of the source are weighed like others.
const SHORT: usize = 256;

/// What these give is as small as what they get, and is there at once. The others look after themselves.
fn is_light(filter: &str) -> bool {
    matches!(
        filter,
        "length"
            | "count"
            | "default"
            | "d"
            | "first"
            | "last"
            | "int"
            | "float"
            | "bool"
            | "abs"
            | "attr"
    )
}

/// What binds as closely as anything can that is written after it.
fn is_tight(expression: &ast::Expr<'_>) -> bool {
    match expression {
        ast::Expr::Var(_)
        | ast::Expr::Const(_)
        | ast::Expr::Slice(_)
        | ast::Expr::GetAttr(_)
        | ast::Expr::GetItem(_)
        | ast::Expr::Call(_)
        | ast::Expr::List(_)
        | ast::Expr::Tuple(_)
        | ast::Expr::Map(_) => true,
        ast::Expr::UnaryOp(_)
        | ast::Expr::BinOp(_)
        | ast::Expr::Compare(_)
        | ast::Expr::IfExpr(_)
        | ast::Expr::Filter(_)
        | ast::Expr::Test(_) => false,
    }
}

fn is_constant(expression: &ast::Expr<'_>) -> bool {
    matches!(expression, ast::Expr::Const(_))
}

/// Beside it nothing is looked at deeper than it is itself.
fn is_short(expression: &ast::Expr<'_>) -> bool {
    match expression {
        ast::Expr::Const(constant) => constant
            .value
            .as_str()
            .is_none_or(|text| text.len() <= SHORT),
        _ => false,
    }
}

fn is_near(subscript: &ast::Expr<'_>) -> bool {
    match subscript {
        ast::Expr::Const(constant) => match constant.value.as_usize() {
            Some(place) => place <= SHORT,
            None => constant.value.as_str().is_some(),
        },
        _ => false,
    }
}

impl Writer {
    pub(super) fn wrapped(&mut self, expression: &ast::Expr<'_>) -> Written {
        if is_tight(expression) {
            return self.expression(expression);
        }
        self.push("(");
        self.expression(expression)?;
        self.push(")");
        Ok(())
    }

    pub(super) fn checked(&mut self, expression: &ast::Expr<'_>, check: &str) -> Written {
        // A short text that stands in the source costs nothing, and keeping any of them neither.
        let is_free = match check {
            NUMBER => false,
            KEEP | HOLD => is_constant(expression),
            _ => is_short(expression),
        };
        if is_free {
            return self.expression(expression);
        }
        match expression {
            // A filter after a filter needs no brackets, and a long chain could not have them.
            ast::Expr::Filter(_) => self.expression(expression)?,
            _ => self.wrapped(expression)?,
        }
        self.push("|");
        self.push(check);
        Ok(())
    }

    pub(super) fn expression(&mut self, expression: &ast::Expr<'_>) -> Written {
        match expression {
            // A variable of that name only where Jinja does not expect the operator, which is nowhere that it is written to.
            ast::Expr::Var(var) if var.id == "not" => {
                let line = var.span().start_line;
                return Err(Refused::Other(format!(
                    "line {line}: `not` stands where a value is expected; put brackets around it and what it denies"
                )));
            }
            ast::Expr::Var(var) => self.push(var.id),
            ast::Expr::Const(constant) => self.constant(&constant.value)?,
            ast::Expr::Slice(slice) => {
                self.push("(");
                self.checked(&slice.expr, FITS)?;
                self.push(")[");
                for (number, part) in [&slice.start, &slice.stop, &slice.step]
                    .into_iter()
                    .enumerate()
                {
                    self.push(if number > 0 { ":" } else { "" });
                    if let Some(part) = part {
                        self.wrapped(part)?;
                    }
                }
                self.push("]");
            }
            ast::Expr::UnaryOp(unary) => {
                self.push(match unary.op {
                    ast::UnaryOpKind::Not => "not ",
                    ast::UnaryOpKind::Neg => "-",
                });
                self.wrapped(&unary.expr)?;
            }
            ast::Expr::BinOp(operation) => self.operation(operation)?,
            ast::Expr::Compare(compare) => {
                let is_cheap = match compare.ops.as_slice() {
                    // The whole of a list is searched, whatever for.
                    [one]
                        if matches!(one.op, ast::CompareOpKind::In | ast::CompareOpKind::NotIn) =>
                    {
                        false
                    }
                    [one] => is_short(&compare.expr) || is_short(&one.expr),
                    _ => false,
                };
                let side = |writer: &mut Self, side: &ast::Expr<'_>| match is_cheap {
                    true => writer.wrapped(side),
                    false => writer.checked(side, FITS),
                };
                side(self, &compare.expr)?;
                for one in &compare.ops {
                    self.push(match one.op {
                        ast::CompareOpKind::Eq => " == ",
                        ast::CompareOpKind::Ne => " != ",
                        ast::CompareOpKind::Lt => " < ",
                        ast::CompareOpKind::Lte => " <= ",
                        ast::CompareOpKind::Gt => " > ",
                        ast::CompareOpKind::Gte => " >= ",
                        ast::CompareOpKind::In => " in ",
                        ast::CompareOpKind::NotIn => " not in ",
                    });
                    side(self, &one.expr)?;
                }
            }
            ast::Expr::IfExpr(choice) => {
                self.wrapped(&choice.true_expr)?;
                self.push(" if ");
                self.wrapped(&choice.test_expr)?;
                if let Some(other) = &choice.false_expr {
                    self.push(" else ");
                    self.wrapped(other)?;
                }
            }
            ast::Expr::Filter(filter) => {
                if let Some(inner) = &filter.expr {
                    match (is_light(filter.name), inner) {
                        (true, inner) => self.checked(inner, GLANCE)?,
                        (false, ast::Expr::Filter(_)) => self.expression(inner)?,
                        (false, inner) => self.wrapped(inner)?,
                    }
                    self.push("|");
                }
                self.push(filter.name);
                self.arguments(&filter.args, false)?;
            }
            ast::Expr::Test(test) => {
                self.wrapped(&test.expr)?;
                self.push(" is ");
                self.push(test.name);
                self.arguments(&test.args, false)?;
            }
            ast::Expr::GetAttr(attr) => {
                self.wrapped(&attr.expr)?;
                self.push(".");
                self.push(attr.name);
            }
            ast::Expr::GetItem(item) => {
                // A name or a place near the beginning is found at once, also in a text.
                match is_near(&item.subscript_expr) {
                    true => self.wrapped(&item.expr)?,
                    false => {
                        self.push("(");
                        self.checked(&item.expr, GLANCE)?;
                        self.push(")");
                    }
                }
                self.push("[");
                self.checked(&item.subscript_expr, FITS)?;
                self.push("]");
            }
            ast::Expr::Call(call) => self.call(call)?,
            ast::Expr::List(list) => {
                self.push("[");
                self.items(&list.items)?;
                self.push("]");
            }
            ast::Expr::Tuple(tuple) => {
                self.push("(");
                self.items(&tuple.items)?;
                self.push(if tuple.items.is_empty() { ")" } else { ",)" });
            }
            ast::Expr::Map(map) => {
                self.push("{");
                for (number, (key, value)) in map.keys.iter().zip(&map.values).enumerate() {
                    self.push(if number > 0 { ", " } else { "" });
                    self.checked(key, FITS)?;
                    self.push(": ");
                    self.checked(value, KEEP)?;
                }
                self.push("}");
            }
        }
        Ok(())
    }

    fn items(&mut self, items: &[ast::Expr<'_>]) -> Written {
        for (number, item) in items.iter().enumerate() {
            self.push(if number > 0 { ", " } else { "" });
            self.checked(item, KEEP)?;
        }
        Ok(())
    }

    fn operation(&mut self, operation: &ast::BinOp<'_>) -> Written {
        use ast::BinOpKind::{
            Add, Concat, Div, Eq, FloorDiv, Gt, Gte, In, Lt, Lte, Mul, Ne, Pow, Rem, ScAnd, ScOr,
            Sub,
        };
        let (sign, check) = match operation.op {
            Add => (" + ", Some(GROW)),
            Concat => (" ~ ", Some(GROW)),
            Mul => (" * ", Some(NUMBER)),
            Sub => (" - ", None),
            Div => (" / ", None),
            FloorDiv => (" // ", None),
            Rem => (" % ", None),
            Pow => (" ** ", None),
            ScAnd => (" and ", None),
            ScOr => (" or ", None),
            Eq => (" == ", Some(FITS)),
            Ne => (" != ", Some(FITS)),
            Lt => (" < ", Some(FITS)),
            Lte => (" <= ", Some(FITS)),
            Gt => (" > ", Some(FITS)),
            Gte => (" >= ", Some(FITS)),
            In => (" in ", Some(FITS)),
        };
        let is_cheap = !matches!(operation.op, In)
            && (is_short(&operation.left) || is_short(&operation.right));
        let check = check.filter(|check| *check != FITS || !is_cheap);
        // `a ~ b ~ c` stays a chain: brackets would make it as deep as it is long.
        let is_chain = |left: &ast::Expr<'_>| match (left, operation.op) {
            (ast::Expr::BinOp(left), Add) => matches!(left.op, Add),
            (ast::Expr::BinOp(left), Concat) => matches!(left.op, Concat),
            (ast::Expr::BinOp(left), Mul) => matches!(left.op, Mul),
            (ast::Expr::BinOp(left), ScAnd) => matches!(left.op, ScAnd),
            (ast::Expr::BinOp(left), ScOr) => matches!(left.op, ScOr),
            (ast::Expr::BinOp(left), Sub) => matches!(left.op, Sub),
            _ => false,
        };
        // What stands at the beginning of a long chain is copied with each that follows.
        let copies = std::mem::take(&mut self.copies);
        let growing = format!("{GROW}({copies})");
        let check = check.map(|check| match check {
            GROW if copies > FEW_COPIES => growing.as_str(),
            other => other,
        });
        match (&operation.left, check) {
            (left, _) if is_chain(left) => {
                self.copies = copies + 1;
                self.expression(left)?;
            }
            (left, Some(check)) => self.checked(left, check)?,
            (left, None) => self.wrapped(left)?,
        }
        self.push(sign);
        match check {
            Some(check) => self.checked(&operation.right, check),
            None => self.wrapped(&operation.right),
        }
    }

    pub(super) fn call(&mut self, call: &ast::Call<'_>) -> Written {
        self.wrapped(&call.expr)?;
        self.arguments(&call.args, true)
    }

    fn arguments(&mut self, arguments: &[ast::CallArg<'_>], is_call: bool) -> Written {
        if arguments.is_empty() && !is_call {
            return Ok(());
        }
        self.push("(");
        for (number, argument) in arguments.iter().enumerate() {
            self.push(if number > 0 { ", " } else { "" });
            match argument {
                ast::CallArg::Pos(value) => self.checked(value, KEEP)?,
                ast::CallArg::Kwarg(name, value) => {
                    self.push(name);
                    self.push("=");
                    self.checked(value, KEEP)?;
                }
                ast::CallArg::PosSplat(value) => {
                    self.push("*");
                    self.checked(value, KEEP)?;
                }
                ast::CallArg::KwargSplat(value) => {
                    self.push("**");
                    self.checked(value, KEEP)?;
                }
            }
        }
        self.push(")");
        Ok(())
    }

    fn constant(&mut self, value: &minijinja::Value) -> Written {
        if let Some(text) = value.as_str() {
            self.literal(text);
            return Ok(());
        }
        // Numbers, true, false and none: what Jinja shows of them is how they are written.
        write!(self.out, "{value}").map_err(|error| Refused::Other(error.to_string()))
    }
}
