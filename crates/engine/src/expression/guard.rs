//! Templates and expressions written anew, so that everything that makes values larger passes a check.
//!
//! Jinja's own limit counts steps, and one step can double a text. Here `a ~ b` becomes `(a)|__grow ~ (b)|__grow`, and
//! the text between tags an expression; see `checks.rs` for what those do. The lines of the original are kept.

mod write;

use minijinja::machinery::{Token, ast, parse, parse_expr, tokenize};
use minijinja::syntax::SyntaxConfig;

use self::write::{HOLD, KEEP};
use crate::limits::{MAX_TAG_OPERATORS, MAX_TEMPLATE_BRANCHES};

pub(super) enum Refused {
    Jinja(minijinja::Error),
    Other(String),
}

impl From<minijinja::Error> for Refused {
    fn from(error: minijinja::Error) -> Self {
        Self::Jinja(error)
    }
}

pub(super) fn template(source: &str) -> Result<String, Refused> {
    check_tags(source, false)?;
    let parsed = parse(source, "template", SyntaxConfig::default())?;
    let mut writer = Writer::default();
    writer.statement(&parsed)?;
    Ok(writer.out)
}

pub(super) fn expression(source: &str) -> Result<String, Refused> {
    check_tags(source, true)?;
    let parsed = parse_expr(source)?;
    let mut writer = Writer::default();
    writer.expression(&parsed)?;
    Ok(writer.out)
}

/// A chain of operators becomes a tree as deep as the chain is long, and whoever walks it needs that much stack.
fn check_tags(source: &str, is_expression: bool) -> Result<(), Refused> {
    let mut operators = 0;
    let mut is_first = false;
    // For each `if` that is open, how often `elif` came.
    let mut branches: Vec<usize> = Vec::new();
    for token in tokenize(source, is_expression, SyntaxConfig::default()) {
        let (token, span) = token?;
        if let (true, Token::Ident(name)) = (is_first, &token) {
            match *name {
                "if" => branches.push(0),
                "elif" => branches
                    .last_mut()
                    .into_iter()
                    .for_each(|count| *count += 1),
                "endif" => drop(branches.pop()),
                _ => {}
            }
            if branches.last() > Some(&MAX_TEMPLATE_BRANCHES) {
                return Err(Refused::Other(format!(
                    "line {} is the branch number {MAX_TEMPLATE_BRANCHES} of one if; divide it",
                    span.start_line
                )));
            }
        }
        is_first = matches!(token, Token::BlockStart);
        match token {
            Token::VariableStart | Token::BlockStart => operators = 0,
            Token::Ident(name) if !matches!(name, "and" | "or" | "not" | "is" | "in" | "if") => {}
            Token::TemplateData(_)
            | Token::Str(_)
            | Token::String(_)
            | Token::Int(_)
            | Token::Float(_)
            | Token::Comma
            | Token::Colon => {}
            _ => operators += 1,
        }
        if operators > MAX_TAG_OPERATORS {
            return Err(Refused::Other(format!(
                "line {} has more than {MAX_TAG_OPERATORS} operators in one tag; divide it",
                span.start_line
            )));
        }
    }
    Ok(())
}

/// How a value is kept.
fn kept(target: &ast::Expr<'_>) -> &'static str {
    match target {
        ast::Expr::Var(_) => HOLD,
        _ => KEEP,
    }
}

#[derive(Default)]
struct Writer {
    out: String,
    line: u16,
    /// How often what is written next is copied, in a chain of `~` or `+`.
    copies: usize,
}

type Written = Result<(), Refused>;

impl Writer {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Inside of a tag: down to the line of the original.
    fn line(&mut self, line: u16) {
        // Lines count from 1, and none has been left yet at the beginning.
        let now = self.line.max(1);
        for _ in now..line {
            self.out.push('\n');
        }
        self.line = now.max(line);
    }

    fn literal(&mut self, text: &str) {
        let quoted = serde_json::to_string(text).unwrap_or_default();
        self.out.push_str(&quoted);
    }

    fn all(&mut self, statements: &[ast::Stmt<'_>]) -> Written {
        statements.iter().try_for_each(|one| self.statement(one))
    }

    fn statement(&mut self, statement: &ast::Stmt<'_>) -> Written {
        match statement {
            ast::Stmt::Template(template) => self.all(&template.children),
            ast::Stmt::EmitExpr(emit) => {
                self.push("{{ ");
                self.line(emit.span().start_line);
                self.expression(&emit.expr)?;
                self.push(" }}");
                Ok(())
            }
            ast::Stmt::EmitRaw(emit) => {
                self.push("{{ ");
                self.literal(emit.raw);
                self.push(" }}");
                Ok(())
            }
            ast::Stmt::ForLoop(looped) => {
                if looped.recursive {
                    return Err(Refused::Other(format!(
                        "line {}: recursive loops are not known here",
                        looped.span().start_line
                    )));
                }
                self.tag("for", looped.span().start_line);
                self.target(&looped.target, true)?;
                self.push(" in ");
                self.wrapped(&looped.iter)?;
                if let Some(filter) = &looped.filter_expr {
                    self.push(" if ");
                    self.wrapped(filter)?;
                }
                self.push(" %}");
                self.all(&looped.body)?;
                if !looped.else_body.is_empty() {
                    self.push("{% else %}");
                    self.all(&looped.else_body)?;
                }
                self.push("{% endfor %}");
                Ok(())
            }
            ast::Stmt::IfCond(condition) => self.condition(condition),
            ast::Stmt::WithBlock(with) => {
                self.tag("with", with.span().start_line);
                for (number, (target, value)) in with.assignments.iter().enumerate() {
                    self.push(if number > 0 { ", " } else { "" });
                    self.target(target, true)?;
                    self.push(" = ");
                    self.checked(value, kept(target))?;
                }
                self.push(" %}");
                self.all(&with.body)?;
                self.push("{% endwith %}");
                Ok(())
            }
            ast::Stmt::Set(set) => {
                self.tag("set", set.span().start_line);
                self.target(&set.target, true)?;
                self.push(" = ");
                self.checked(&set.expr, kept(&set.target))?;
                self.push(" %}");
                Ok(())
            }
            ast::Stmt::SetBlock(set) => {
                self.tag("set", set.span().start_line);
                self.target(&set.target, true)?;
                if let Some(filter) = &set.filter {
                    self.push(" | ");
                    self.expression(filter)?;
                }
                self.push(" %}");
                self.all(&set.body)?;
                self.push("{% endset %}");
                Ok(())
            }
            ast::Stmt::AutoEscape(escape) => {
                self.tag("autoescape", escape.span().start_line);
                self.wrapped(&escape.enabled)?;
                self.push(" %}");
                self.all(&escape.body)?;
                self.push("{% endautoescape %}");
                Ok(())
            }
            ast::Stmt::FilterBlock(filter) => {
                self.tag("filter", filter.span().start_line);
                self.expression(&filter.filter)?;
                self.push(" %}");
                self.all(&filter.body)?;
                self.push("{% endfilter %}");
                Ok(())
            }
            ast::Stmt::Do(call) => {
                self.tag("do", call.span().start_line);
                self.call(&call.call)?;
                self.push(" %}");
                Ok(())
            }
        }
    }

    fn tag(&mut self, name: &str, line: u16) {
        self.push("{% ");
        self.line(line);
        self.push(name);
        self.push(" ");
    }

    /// A chain of `elif` is as flat as it was written.
    fn condition(&mut self, first: &ast::Spanned<ast::IfCond<'_>>) -> Written {
        let mut condition = first;
        let mut name = "if";
        loop {
            self.tag(name, condition.span().start_line);
            self.wrapped(&condition.expr)?;
            self.push(" %}");
            self.all(&condition.true_body)?;
            match condition.false_body.as_slice() {
                [] => break,
                [ast::Stmt::IfCond(next)] => {
                    (condition, name) = (next, "elif");
                }
                other => {
                    self.push("{% else %}");
                    self.all(other)?;
                    break;
                }
            }
        }
        self.push("{% endif %}");
        Ok(())
    }

    /// What is assigned to.
    fn target(&mut self, target: &ast::Expr<'_>, is_outer: bool) -> Written {
        let items = match target {
            ast::Expr::Var(var) => {
                self.push(var.id);
                return Ok(());
            }
            ast::Expr::GetAttr(attr) => {
                self.target(&attr.expr, false)?;
                self.push(".");
                self.push(attr.name);
                return Ok(());
            }
            ast::Expr::List(list) => &list.items,
            ast::Expr::Tuple(tuple) => &tuple.items,
            other => {
                let line = other.span().start_line;
                return Err(Refused::Other(format!(
                    "line {line}: nothing can be assigned to this"
                )));
            }
        };
        self.push(if is_outer { "" } else { "(" });
        for (number, item) in items.iter().enumerate() {
            self.push(if number > 0 { ", " } else { "" });
            self.target(item, false)?;
        }
        self.push(if is_outer { "" } else { ")" });
        Ok(())
    }
}
