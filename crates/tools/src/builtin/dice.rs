//! `dice.roll`: dice as tavern games write them, thrown without bias.
//!
//! Owns the notation and the fairness. Edge cases: `d6` and `6` are `1d6`, `D` is `d`, `+0` and `-0` vanish from
//! the normalised formula; no dice, no sides, leading zeros, spaces, signs before the dice and digits other than
//! ASCII are refused.

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::{Execution, ToolDefinition};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::Tool;
use super::declare::{arguments, declare, example, words};
use crate::limits::{MAX_DICE, MAX_DICE_DRAWS, MAX_DICE_MODIFIER, MAX_DICE_SIDES};
use crate::{Executor, Invocation, ToolError};

/// Where chance comes from.
pub trait Chance: Send + Sync {
    /// Any number, each as likely as the other.
    fn draw(&self) -> Result<u64, ToolError>;
}

/// The operating system's randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemChance;

impl Chance for SystemChance {
    fn draw(&self) -> Result<u64, ToolError> {
        getrandom::u64().map_err(|error| {
            ToolError::unavailable(format!(
                "The operating system gives no random numbers: {error}"
            ))
        })
    }
}

pub fn tools(chance: Arc<dyn Chance>) -> Vec<Tool> {
    vec![(definition(), Arc::new(DiceRoll { chance }))]
}

pub fn definition() -> ToolDefinition {
    ToolDefinition {
        // A second throw is another throw.
        execution: Execution {
            parallel: true,
            ..Execution::default()
        },
        tags: words(&["game", "random"]),
        examples: example("Two six-sided dice plus three", json!({"formula": "2d6+3"})),
        ..declare(
            "dice.roll",
            "Roll dice",
            "Roll dice and get fair random results. Use it whenever chance decides; never make up a roll.",
            json!({
                "type": "object",
                "properties": {
                    "formula": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": 32,
                        "description": "[N]dS[+M or -M] without spaces: N dice with S sides, then M added or taken away. '2d6+3', 'd20', or just '20' for one die with 20 sides. At most 100 dice, 1000000 sides."
                    }
                },
                "required": ["formula"],
                "additionalProperties": false
            }),
            json!({
                "type": "object",
                "properties": {
                    "formula": {"type": "string", "description": "The formula in its full form"},
                    "rolls": {"type": "array", "items": {"type": "integer"}},
                    "modifier": {"type": "integer"},
                    "total": {"type": "integer"},
                    "min": {"type": "integer", "description": "The lowest total possible"},
                    "max": {"type": "integer", "description": "The highest total possible"}
                },
                "required": ["formula", "rolls", "modifier", "total", "min", "max"],
                "additionalProperties": false
            }),
        )
    }
}

struct DiceRoll {
    chance: Arc<dyn Chance>,
}

#[derive(Deserialize)]
struct Arguments {
    formula: String,
}

#[async_trait]
impl Executor for DiceRoll {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let Arguments { formula } = arguments(call.arguments)?;
        let formula = Formula::parse(&formula)?;
        let mut rolls = Vec::new();
        for _ in 0..formula.dice {
            rolls.push(roll(self.chance.as_ref(), formula.sides)?);
        }
        let (dice, sides) = (i64::from(formula.dice), i64::from(formula.sides));
        Ok(json!({
            "formula": formula.to_string(),
            "modifier": formula.modifier,
            "total": rolls.iter().map(|&roll| i64::from(roll)).sum::<i64>() + formula.modifier,
            "min": dice + formula.modifier,
            "max": dice * sides + formula.modifier,
            "rolls": rolls,
        }))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Formula {
    dice: u32,
    sides: u32,
    modifier: i64,
}

impl Formula {
    fn parse(text: &str) -> Result<Self, ToolError> {
        let wrong = |why: String| {
            ToolError::invalid(format!("'{text}' is no dice formula: {why}"))
                .because("dice.invalid_formula")
                .permanent()
        };
        let count = |digits: &str, what: &str, max: u32| match number(digits) {
            Some(n) if (1..=u64::from(max)).contains(&n) => Ok(u32::try_from(n).unwrap_or(max)),
            Some(0) => Err(wrong(format!("there must be at least one of its {what}"))),
            Some(_) => Err(wrong(format!("at most {max} {what} are possible"))),
            None => Err(wrong(format!(
                "'{digits}' is not a number of {what}; write it like 2d6+3, without spaces or leading zeros"
            ))),
        };
        let Some((dice, rest)) = text.split_once(['d', 'D']) else {
            return Ok(Self {
                dice: 1,
                sides: count(text, "sides", MAX_DICE_SIDES)?,
                modifier: 0,
            });
        };
        let dice = match dice {
            "" => 1,
            dice => count(dice, "dice", MAX_DICE)?,
        };
        let (sides, modifier) = match rest.find(['+', '-']) {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let sides = count(sides, "sides", MAX_DICE_SIDES)?;
        let modifier = match modifier.split_at_checked(1) {
            None => 0,
            Some((sign, digits)) => {
                let size = number(digits)
                    .and_then(|size| i64::try_from(size).ok())
                    .ok_or_else(|| wrong(format!("'{modifier}' is not a number to add")))?;
                if size > MAX_DICE_MODIFIER {
                    return Err(wrong(format!(
                        "at most {MAX_DICE_MODIFIER} can be added or taken away"
                    )));
                }
                if sign == "-" { -size } else { size }
            }
        };
        Ok(Self {
            dice,
            sides,
            modifier,
        })
    }
}

impl std::fmt::Display for Formula {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}d{}", self.dice, self.sides)?;
        match self.modifier {
            0 => Ok(()),
            modifier => write!(f, "{modifier:+}"),
        }
    }
}

/// ASCII digits without leading zeros. What is too large for a number is as large as a number can be.
fn number(digits: &str) -> Option<u64> {
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let padded = digits.len() > 1 && digits.starts_with('0');
    (plain && !padded).then(|| digits.parse().unwrap_or(u64::MAX))
}

/// From 1 to `sides`. Numbers from the last, incomplete round of `sides` are drawn again, else low faces would
/// come more often.
fn roll(chance: &dyn Chance, sides: u32) -> Result<u32, ToolError> {
    let sides = u64::from(sides);
    let left_over = (u64::MAX % sides + 1) % sides;
    for _ in 0..MAX_DICE_DRAWS {
        let drawn = chance.draw()?;
        if drawn <= u64::MAX - left_over {
            return Ok(u32::try_from(drawn % sides + 1).unwrap_or(1));
        }
    }
    Err(ToolError::failed(
        "The source of random numbers always gives the same one",
    ))
}

#[cfg(test)]
#[path = "dice_tests.rs"]
mod tests;
