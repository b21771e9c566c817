use futures_util::FutureExt;

use super::*;

fn left(seat: &Seat) -> bool {
    seat.leave().is_cancelled()
}

#[tokio::test]
async fn the_one_that_was_idle_longest_makes_room() {
    let room = Room::new(3);
    let (a, b, c) = (room.enter().await, room.enter().await, room.enter().await);
    b.idle();
    a.idle();
    assert!(!left(&a) && !left(&b), "nobody waits");
    let mut next = Box::pin(room.enter());
    assert!(next.as_mut().now_or_never().is_none());
    assert!(left(&b) && !left(&a) && !left(&c));
    drop(b);
    let d = next.await;
    assert!(!left(&a), "one was enough");
    drop((a, c, d));
    assert_eq!(room.seats.available_permits(), 3);
    assert!(room.lock().taken.is_empty());
}

#[tokio::test]
async fn where_all_are_busy_the_first_to_be_idle_makes_room() {
    let room = Room::new(2);
    let (a, b) = (room.enter().await, room.enter().await);
    let mut next = Box::pin(room.enter());
    assert!(next.as_mut().now_or_never().is_none());
    assert!(!left(&a) && !left(&b));
    b.idle();
    assert!(left(&b) && !left(&a));
    // It is on its way out, so the other may stay.
    a.idle();
    assert!(!left(&a));
}

#[tokio::test]
async fn who_waits_no_more_moves_nobody() {
    let room = Room::new(1);
    let a = room.enter().await;
    let mut next = Box::pin(room.enter());
    assert!(next.as_mut().now_or_never().is_none());
    drop(next);
    a.idle();
    assert!(!left(&a));
    a.busy();
    let mut next = Box::pin(room.enter());
    assert!(next.as_mut().now_or_never().is_none());
    assert!(!left(&a), "at work again");
}
