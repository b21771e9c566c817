//! What is counted while the server works, for whoever watches it. `text.rs` writes it in the form of Prometheus.
//!
//! Names of series come from us: a request counts under the template of its route, never under its path.

mod calls;
mod text;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::Method;
use jiff::Timestamp;

pub(crate) use calls::CallCounts;
pub(crate) use text::{Kind, Text};

use crate::limits::{LATENCIES, MAX_COUNTED_ROUTES};

pub(crate) struct Figures {
    started: Timestamp,
    routes: Mutex<BTreeMap<(&'static str, String), Asked>>,
    pub(crate) connections: Gauge,
    pub(crate) sockets: Gauge,
    pub(crate) subscriptions: Gauge,
    delivered: AtomicU64,
    lagged: AtomicU64,
    pub(crate) calls: CallCounts,
}

/// Requests of one route.
#[derive(Default)]
struct Asked {
    statuses: BTreeMap<u16, u64>,
    /// How many took no longer than each of the latencies, and longer than the one before.
    buckets: [u64; LATENCIES.len()],
    count: u64,
    seconds: f64,
}

impl Figures {
    pub(crate) fn new(started: Timestamp) -> Self {
        Self {
            started,
            routes: Mutex::default(),
            connections: Gauge::default(),
            sockets: Gauge::default(),
            subscriptions: Gauge::default(),
            delivered: AtomicU64::new(0),
            lagged: AtomicU64::new(0),
            calls: CallCounts::new(started),
        }
    }

    pub(crate) fn answered(&self, method: &Method, route: &str, status: u16, took: Duration) {
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (named(method), route.to_owned());
        if routes.len() >= MAX_COUNTED_ROUTES && !routes.contains_key(&key) {
            return;
        }
        let asked = routes.entry(key).or_default();
        *asked.statuses.entry(status).or_default() += 1;
        asked.count += 1;
        asked.seconds += took.as_secs_f64();
        let bucket = LATENCIES
            .iter()
            .position(|most| took.as_secs_f64() <= *most);
        if let Some(bucket) = bucket.and_then(|at| asked.buckets.get_mut(at)) {
            *bucket += 1;
        }
    }

    /// Events that were handed to somebody who follows.
    pub(crate) fn delivered(&self, events: usize) {
        self.delivered.fetch_add(events as u64, Ordering::Relaxed);
    }

    /// Somebody could not keep up.
    pub(crate) fn lagged(&self) {
        self.lagged.fetch_add(1, Ordering::Relaxed);
    }

    /// All that the server itself knows.
    pub(crate) fn write(&self, text: &mut Text) {
        let version = env!("CARGO_PKG_VERSION");
        text.family("innkeeper_build_info", Kind::Gauge, "Which version this is");
        text.sample("innkeeper_build_info", &[("version", version)], 1.0);
        #[allow(clippy::cast_precision_loss)]
        let started = self.started.as_millisecond() as f64 / 1_000.0;
        text.one(
            "process_start_time_seconds",
            Kind::Gauge,
            "When the server began, in seconds since 1970",
            started,
        );
        if let Some(bytes) = resident_bytes() {
            text.one(
                "process_resident_memory_bytes",
                Kind::Gauge,
                "Memory that the process holds",
                bytes,
            );
        }
        for (name, help, gauge) in [
            (
                "innkeeper_connections_open",
                "Connections that are open",
                &self.connections,
            ),
            (
                "innkeeper_sockets_open",
                "WebSockets that are open",
                &self.sockets,
            ),
            (
                "innkeeper_subscriptions_open",
                "Runs and workflows that are followed, each by somebody",
                &self.subscriptions,
            ),
        ] {
            text.one(name, Kind::Gauge, help, gauge.now());
        }
        for (name, help, count) in [
            (
                "innkeeper_events_delivered_total",
                "Events that were handed to somebody who follows",
                &self.delivered,
            ),
            (
                "innkeeper_events_lagged_total",
                "How often somebody who follows could not keep up",
                &self.lagged,
            ),
        ] {
            text.one(
                name,
                Kind::Counter,
                help,
                float(count.load(Ordering::Relaxed)),
            );
        }
        self.write_routes(text);
    }

    fn write_routes(&self, text: &mut Text) {
        let routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        let requests = "innkeeper_http_requests_total";
        text.family(requests, Kind::Counter, "Requests that were answered");
        for ((method, route), asked) in &*routes {
            for (status, count) in &asked.statuses {
                let status = status.to_string();
                let labels = [("method", *method), ("route", route), ("status", &status)];
                text.sample(requests, &labels, float(*count));
            }
        }
        let seconds = "innkeeper_http_request_duration_seconds";
        let help = "How long the head of an answer took";
        text.family(seconds, Kind::Histogram, help);
        for ((method, route), asked) in &*routes {
            let labels = [("method", *method), ("route", route.as_str())];
            let bucket = format!("{seconds}_bucket");
            let mut sum = 0;
            for (most, count) in LATENCIES.iter().zip(&asked.buckets) {
                sum += count;
                let most = most.to_string();
                let labels = [labels[0], labels[1], ("le", most.as_str())];
                text.sample(&bucket, &labels, float(sum));
            }
            let all = [labels[0], labels[1], ("le", "+Inf")];
            text.sample(&bucket, &all, float(asked.count));
            text.sample(&format!("{seconds}_sum"), &labels, asked.seconds);
            text.sample(&format!("{seconds}_count"), &labels, float(asked.count));
        }
    }
}

/// A number that goes up and down: as many as are held.
#[derive(Clone, Default)]
pub(crate) struct Gauge(Arc<AtomicU64>);

pub(crate) struct Held(Arc<AtomicU64>);

impl Gauge {
    pub(crate) fn hold(&self) -> Held {
        self.0.fetch_add(1, Ordering::Relaxed);
        Held(self.0.clone())
    }

    fn now(&self) -> f64 {
        float(self.0.load(Ordering::Relaxed))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Anybody can make up a method.
fn named(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "what is counted is far from where floats have gaps"
)]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

/// Where the system tells.
fn resident_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(float(kilobytes * 1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_count_under_their_route_and_fall_into_buckets() {
        let figures = Figures::new(Timestamp::UNIX_EPOCH);
        let route = "/api/v1/runs/{runId}";
        for (status, millis) in [(200, 1), (200, 40), (404, 40_000)] {
            let took = Duration::from_millis(millis);
            figures.answered(&Method::GET, route, status, took);
        }
        let odd = Method::from_bytes(b"BREW").unwrap();
        figures.answered(&odd, "", 405, Duration::ZERO);
        let _held = (figures.sockets.hold(), figures.sockets.hold());
        drop(figures.sockets.hold());
        let mut text = Text::default();
        figures.write(&mut text);
        let text = text.finish();
        for line in [
            "innkeeper_http_requests_total{method=\"GET\",route=\"/api/v1/runs/{runId}\",status=\"200\"} 2",
            "innkeeper_http_requests_total{method=\"other\",route=\"\",status=\"405\"} 1",
            "innkeeper_http_request_duration_seconds_bucket{method=\"GET\",route=\"/api/v1/runs/{runId}\",le=\"0.001\"} 1",
            "innkeeper_http_request_duration_seconds_bucket{method=\"GET\",route=\"/api/v1/runs/{runId}\",le=\"0.05\"} 2",
            "innkeeper_http_request_duration_seconds_bucket{method=\"GET\",route=\"/api/v1/runs/{runId}\",le=\"+Inf\"} 3",
            "innkeeper_sockets_open 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn no_more_routes_are_counted_than_there_may_be() {
        let figures = Figures::new(Timestamp::UNIX_EPOCH);
        for number in 0..MAX_COUNTED_ROUTES + 5 {
            figures.answered(&Method::GET, &number.to_string(), 200, Duration::ZERO);
        }
        assert_eq!(figures.routes.lock().unwrap().len(), MAX_COUNTED_ROUTES);
    }
}
