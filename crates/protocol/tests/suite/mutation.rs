//! Thousands of small damages to the texts of the vectors, the same ones in every run.

use innkeeper_protocol::Dialect;
use innkeeper_testkit::{Mutator, Rng, shrink, soup};

use super::{laws, vectors};

const SEED: u64 = 0x1AEE_2025_0805;
const MUTATIONS: usize = 3_000;
const SOUPS: usize = 1_500;
/// Longer texts find no more and take longer.
const LONGEST: usize = 500;

fn judge(text: &str) {
    let Err(verdict) = laws::check(text, Dialect::Auto) else {
        return;
    };
    let smallest = shrink(text, |text| laws::check(text, Dialect::Auto).is_err());
    let of_smallest = laws::check(&smallest, Dialect::Auto)
        .err()
        .unwrap_or_default();
    panic!(
        "seed {SEED:#x}\nfound with {text:?}:\n{verdict}\n\nsmallest: {smallest:?}\n{of_smallest}"
    );
}

#[test]
fn damaged_vectors_keep_the_laws() {
    println!("seed {SEED:#x}, {MUTATIONS} mutations");
    let corpus = vectors::texts();
    let mut mutator = Mutator::new(SEED, LONGEST);
    for _ in 0..MUTATIONS {
        judge(&mutator.next(&corpus));
    }
}

#[test]
fn soups_of_marks_keep_the_laws() {
    println!("seed {SEED:#x}, {SOUPS} soups");
    let mut rng = Rng::new(SEED);
    for _ in 0..SOUPS {
        let pieces = 1 + rng.below(24);
        judge(&soup::soup(&mut rng, pieces));
    }
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
