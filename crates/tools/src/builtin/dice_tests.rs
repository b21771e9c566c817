//! The notation, its bounds, and fairness.

use std::sync::Mutex;

use super::*;
use crate::builtin::testing::{call, check_definitions};

/// Gives what it was told to, from the end.
struct Loaded(Mutex<Vec<u64>>);

impl Chance for Loaded {
    fn draw(&self) -> Result<u64, ToolError> {
        let next = self.0.lock().unwrap().pop();
        next.ok_or_else(|| ToolError::unavailable("No more numbers"))
    }
}

fn loaded(mut numbers: Vec<u64>) -> Tool {
    numbers.reverse();
    tools(Arc::new(Loaded(Mutex::new(numbers)))).remove(0)
}

#[test]
fn the_declaration_is_sound() {
    check_definitions(&tools(Arc::new(SystemChance)));
}

#[tokio::test]
async fn formulas_are_normalised_and_added_up() {
    for (formula, drawn, answer) in [
        (
            "2d6+3",
            vec![0, 5],
            json!({"formula": "2d6+3", "rolls": [1, 6], "modifier": 3, "total": 10, "min": 5, "max": 15}),
        ),
        (
            "D20",
            vec![19],
            json!({"formula": "1d20", "rolls": [20], "modifier": 0, "total": 20, "min": 1, "max": 20}),
        ),
        (
            "20",
            vec![39],
            json!({"formula": "1d20", "rolls": [20], "modifier": 0, "total": 20, "min": 1, "max": 20}),
        ),
        (
            "d6+0",
            vec![2],
            json!({"formula": "1d6", "rolls": [3], "modifier": 0, "total": 3, "min": 1, "max": 6}),
        ),
        (
            "1d6-0",
            vec![2],
            json!({"formula": "1d6", "rolls": [3], "modifier": 0, "total": 3, "min": 1, "max": 6}),
        ),
        (
            "3d1-1000000",
            vec![7, 8, 9],
            json!({"formula": "3d1-1000000", "rolls": [1, 1, 1], "modifier": -1000000, "total": -999997,
                   "min": -999997, "max": -999997}),
        ),
        (
            "d1000000+1000000",
            vec![999_999],
            json!({"formula": "1d1000000+1000000", "rolls": [1000000], "modifier": 1000000, "total": 2000000,
                   "min": 1000001, "max": 2000000}),
        ),
    ] {
        let got = call(&loaded(drawn), json!({"formula": formula})).await;
        assert_eq!(got, Ok(answer), "{formula}");
    }
}

#[tokio::test]
async fn anything_else_is_no_formula() {
    for formula in [
        "0d6",
        "d0",
        "0",
        "00",
        "020",
        "2d06",
        "02d6",
        "2d6+03",
        "2d6+",
        "2d6-",
        "+2d6",
        "-d6",
        "2d6+1+1",
        "2d6+-1",
        "2 d6",
        " 2d6",
        "2d6 ",
        "2d",
        "d",
        "dd6",
        "2d6d6",
        "2d6kh1",
        "２d6",
        "2d６",
        "d%",
        "+3",
        "20+3",
        "101d6",
        "d1000001",
        "d6+1000001",
        "d6-1000001",
        "d99999999999999999999999",
        "99999999999999999999d6",
    ] {
        let error = call(&loaded(vec![0; 200]), json!({"formula": formula}))
            .await
            .expect_err(formula);
        assert_eq!(
            error.reason.as_deref(),
            Some("dice.invalid_formula"),
            "{formula}"
        );
        assert!(
            error.message.contains(formula) && !error.may_pass(),
            "{error:?}"
        );
    }
    assert!(
        call(&loaded(vec![0; 100]), json!({"formula": "100d6"}))
            .await
            .is_ok()
    );
}

#[test]
fn the_incomplete_round_is_drawn_again() {
    // 2^64 mod 6 is 4: the last four numbers belong to no full round.
    let chance = Loaded(Mutex::new(vec![8, u64::MAX, u64::MAX - 3]));
    assert_eq!(roll(&chance, 6), Ok(3));
    let chance = Loaded(Mutex::new(vec![u64::MAX - 4]));
    assert_eq!(roll(&chance, 6), Ok(6));
    // Powers of two have no remainder.
    let chance = Loaded(Mutex::new(vec![u64::MAX]));
    assert_eq!(roll(&chance, 8), Ok(8));
    let stuck = Loaded(Mutex::new(vec![u64::MAX; MAX_DICE_DRAWS + 1]));
    assert!(roll(&stuck, 6).unwrap_err().message.contains("always"));
}

#[test]
fn every_face_of_a_real_die_comes_up() {
    let mut seen = [0_u32; 6];
    for _ in 0..2_000 {
        seen[roll(&SystemChance, 6).unwrap() as usize - 1] += 1;
    }
    // A face that comes less than 200 of 2000 times has a probability below 10^-14.
    assert!(seen.iter().all(|&times| times > 200), "{seen:?}");
}
