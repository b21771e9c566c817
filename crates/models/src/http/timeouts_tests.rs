use std::sync::Arc;

use tokio::sync::Notify;

use super::*;
use crate::http::fake::{EVENTS, Server, StandStill, endpoint, next, read, send};

const TIMEOUTS: Timeouts = Timeouts {
    connect_ms: 1_000,
    first_byte_ms: 5_000,
    idle_ms: 2_000,
    total_ms: 20_000,
};

#[track_caller]
fn timed_out(error: &ModelError, setting: &str, millis: u64) {
    assert_eq!(error.kind, ModelErrorKind::Timeout);
    for part in [format!("`timeouts.{setting}`"), format!(" {millis} ms")] {
        assert!(error.message.contains(&part), "{part}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_timeout_says_which_it_was() {
    let head = EVENTS.to_owned();
    let begun = format!("{EVENTS}9\r\ndata: a\n\n\r\n");
    let finished = format!("{begun}10\r\ndata: [FINISH]\n\n\r\n");
    let rows = [
        (String::new(), 0, Some(("first_byte_ms", 5_000))),
        (head, 0, Some(("first_byte_ms", 5_000))),
        (begun, 1, Some(("idle_ms", 2_000))),
        (finished, 1, None),
    ];
    for (said, pieces, end) in rows {
        let still = StandStill::new();
        let heard = Arc::new(Notify::new());
        let server = {
            let (said, heard) = (said.clone(), Arc::clone(&heard));
            Server::start(move |mut conn| {
                let (said, heard) = (said.clone(), Arc::clone(&heard));
                async move {
                    conn.request().await?;
                    conn.write(said).await?;
                    heard.notify_one();
                    conn.nothing_more().await
                }
            })
            .await
        };
        let mut attempt = send(&endpoint(&server.url(), TIMEOUTS));
        for _ in 0..pieces {
            assert!(next(&mut attempt).await.unwrap().is_ok());
        }
        if pieces == 0 {
            tokio::select! {
                () = heard.notified() => {}
                item = next(&mut attempt) => panic!("{item:?}"),
            }
        }
        drop(still);
        match (read(attempt).await.1, end) {
            (None, None) => {}
            (Some(error), Some((setting, millis))) => timed_out(&error, setting, millis),
            (error, end) => panic!("{said}: {error:?} is not {end:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn signs_of_life_hold_off_silence_but_not_the_end_of_all_patience() {
    let every = std::time::Duration::from_millis(1_500);
    let server = Server::start(move |mut conn| async move {
        conn.request().await?;
        conn.write(EVENTS).await?;
        loop {
            conn.chunk("data: a\n\n").await?;
            tokio::time::sleep(every).await;
        }
    })
    .await;
    let _still = StandStill::new();
    let mut attempt = send(&endpoint(&server.url(), TIMEOUTS));
    for _ in 0..14 {
        assert!(next(&mut attempt).await.unwrap().is_ok());
        tokio::time::advance(every).await;
    }
    timed_out(&read(attempt).await.1.unwrap(), "total_ms", 20_000);
}

#[tokio::test(start_paused = true)]
async fn patience_ends_although_more_is_there_to_read() {
    let server = Server::start(|mut conn| async move {
        conn.request().await?;
        conn.write(EVENTS).await?;
        loop {
            conn.chunk("data: a\n\n").await?;
        }
    })
    .await;
    let _still = StandStill::new();
    let mut attempt = send(&endpoint(&server.url(), TIMEOUTS));
    assert!(next(&mut attempt).await.unwrap().is_ok());
    tokio::time::advance(TIMEOUTS.total()).await;
    let (text, error) = read(attempt).await;
    timed_out(&error.unwrap(), "total_ms", 20_000);
    // Nothing but the rest of the piece that had been read.
    assert!(text.len() < 1_000_000, "{}", text.len());
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_takes_a_break_is_no_silence_of_the_server() {
    let go_on = Arc::new(Notify::new());
    let went_on = Arc::clone(&go_on);
    let server = Server::start(move |mut conn| {
        let go_on = Arc::clone(&go_on);
        async move {
            conn.request().await?;
            conn.write(EVENTS).await?;
            conn.chunk("data: a\n\n").await?;
            go_on.notified().await;
            conn.chunk("data: b\n\ndata: [DONE]\n\n").await
        }
    })
    .await;
    let _still = StandStill::new();
    let mut attempt = send(&server.endpoint());
    assert!(next(&mut attempt).await.unwrap().is_ok());
    let idle = std::time::Duration::from_millis(Timeouts::default().idle_ms);
    tokio::time::advance(idle * 3).await;
    went_on.notify_one();
    assert_eq!(read(attempt).await, ("b".into(), None));
}

#[tokio::test(start_paused = true)]
async fn silence_is_counted_from_the_last_sign_of_life() {
    let mut clock = Clock::start(TIMEOUTS);
    let began = Instant::now();
    for _ in 0..3 {
        clock.alive();
        let piece = tokio::time::sleep(Duration::from_millis(1_500));
        assert_eq!(clock.within(piece).await, Ok(()));
    }
    clock.alive();
    let silence = clock.within(std::future::pending::<()>()).await;
    assert_eq!(silence, Err(Wait::Idle));
    let all = began.elapsed().as_millis();
    assert!((6_500..6_510).contains(&all), "{all}");
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_now_is_the_one_who_is_woken() {
    let mut clock = Clock::start(TIMEOUTS);
    let mut nobody = Context::from_waker(std::task::Waker::noop());
    assert!(clock.poll_silence(&mut nobody).is_pending());
    let mut waiting = tokio::spawn(async move {
        let silence = clock.within(std::future::pending::<()>()).await;
        (silence, clock)
    });
    tokio::select! {
        waited = &mut waiting => assert_eq!(waited.unwrap().0, Err(Wait::FirstByte)),
        () = tokio::time::sleep(TIMEOUTS.total()) => panic!("nobody was woken"),
    }
}
