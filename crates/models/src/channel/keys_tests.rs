use super::*;

fn ring(count: usize) -> KeyRing {
    KeyRing::new(
        (0..count)
            .map(|n| Some(Secret::new(format!("k{n}"))))
            .collect(),
    )
}

fn index(pick: &Pick) -> Option<usize> {
    match pick {
        Pick::Key(index, _) => Some(*index),
        Pick::WaitUntil(_) | Pick::Nothing => None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_rests_as_long_as_it_must() {
    let (ring, now) = (ring(2), Instant::now());
    let second = Duration::from_secs(1);
    ring.limited(0, now, 5 * second);
    assert_eq!(index(&ring.pick(now, &[])), Some(1));
    ring.limited(1, now, 9 * second);
    assert!(matches!(ring.pick(now, &[]), Pick::WaitUntil(until) if until == now + 5 * second));
    assert!(matches!(ring.pick(now, &[0]), Pick::WaitUntil(until) if until == now + 9 * second));
    assert_eq!(index(&ring.pick(now + 5 * second, &[])), Some(0));
    ring.limited(0, now, MAX_KEY_ASIDE * 9);
    ring.limited(1, now, MAX_KEY_ASIDE * 9);
    assert_eq!(index(&ring.pick(now + MAX_KEY_ASIDE, &[])), Some(0));
}

#[tokio::test(start_paused = true)]
async fn refused_keys_are_left_alone_while_there_are_others() {
    let (ring, now) = (ring(2), Instant::now());
    ring.refused(0, now);
    assert_eq!(index(&ring.pick(now, &[])), Some(1));
    ring.refused(1, now + Duration::from_secs(1));
    assert_eq!(
        index(&ring.pick(now, &[])),
        Some(0),
        "the oldest refusal is tried anew"
    );
    assert_eq!(index(&ring.pick(now, &[0])), Some(1));
    assert!(matches!(ring.pick(now, &[0, 1]), Pick::Nothing));
    ring.worked(0);
    assert_eq!(index(&ring.pick(now, &[])), Some(0));
    assert!(matches!(self::ring(0).pick(now, &[]), Pick::Nothing));
}
