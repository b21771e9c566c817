//! Thousands of small damages to the texts of the vectors, the same ones in every run.

use std::collections::BTreeMap;

use innkeeper_protocol::Dialect;
use innkeeper_testkit::{Mutator, Rng, shrink, soup};

use super::{laws, vectors};

const SEED: u64 = 0x1AEE_2025_0805;
const MUTATIONS: usize = 3_000;
const SOUPS: usize = 1_500;
/// Longer texts find no more and take longer.
const LONGEST: usize = 500;

/// What was found broken, one finding of each kind, each as small as it can be.
#[derive(Default)]
struct Findings(BTreeMap<String, String>);

impl Findings {
    fn judge(&mut self, text: &str) {
        let Err(verdict) = laws::check(text, Dialect::Auto) else {
            return;
        };
        let kind = kind(&verdict);
        if self.0.contains_key(&kind) {
            return;
        }
        let verdict = |text: &str| laws::check(text, Dialect::Auto).err().unwrap_or_default();
        let smallest = shrink(text, |text| self::kind(&verdict(text)) == kind);
        let report = format!("{smallest:?}\n{}", verdict(&smallest));
        self.0.insert(kind, report);
    }

    fn report(self) {
        let reports: Vec<String> = self.0.into_values().collect();
        assert!(
            reports.is_empty(),
            "seed {SEED:#x}\n\n{}\n",
            reports.join("\n\n")
        );
    }
}

/// The first line of a verdict, without numbers and quotations.
fn kind(verdict: &str) -> String {
    let line = verdict.lines().next().unwrap_or_default();
    let line = line.split(['"', '\'', '{']).next().unwrap_or_default();
    line.chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[test]
fn damaged_vectors_keep_the_laws() {
    println!("seed {SEED:#x}, {MUTATIONS} mutations");
    let corpus = vectors::texts();
    let mut mutator = Mutator::new(SEED, LONGEST);
    let mut findings = Findings::default();
    for _ in 0..MUTATIONS {
        findings.judge(&mutator.next(&corpus));
    }
    findings.report();
}

#[test]
fn soups_of_marks_keep_the_laws() {
    println!("seed {SEED:#x}, {SOUPS} soups");
    let mut rng = Rng::new(SEED);
    let mut findings = Findings::default();
    for _ in 0..SOUPS {
        let pieces = 1 + rng.below(24);
        findings.judge(&soup::soup(&mut rng, pieces));
    }
    findings.report();
}

#[test]
fn every_head_of_a_vector_keeps_the_laws() {
    // What a stream that breaks off leaves behind. One cutting of each is enough here.
    for text in vectors::texts() {
        for (end, _) in text.char_indices().filter(|(at, _)| at % 7 == 3) {
            let head = text.get(..end).unwrap_or_default();
            if let Err(verdict) = laws::check_cutting(head, Dialect::Auto, &[head.len() / 2]) {
                panic!("{head:?}: {verdict}");
            }
        }
    }
}
