//! A bare HTTP loop: the requests of a run, sent one after the other, and the answers dropped.

use std::sync::Arc;

use innkeeper_benches::Failed;
use innkeeper_benches::model::{bare_client, headers_of};
use innkeeper_testkit::model_server::{Answer, ModelServer};
use reqwest::header::HeaderMap;
use tokio::task::JoinSet;

use super::house::{House, Kind};
use super::server::Script;
use super::{RUNS, TURNS};

pub(crate) struct Bare {
    client: reqwest::Client,
    url: String,
    headers: HeaderMap,
    bodies: Arc<[Vec<u8>]>,
}

impl Bare {
    /// A run is listened to once; the others send what it sent.
    pub(crate) async fn new(url: &str) -> Result<Self, Failed> {
        let listener = ModelServer::start().await;
        for say in Script::Turns.replies() {
            listener.push(Answer::say(say));
        }
        let house = House::open(&listener.url(), Kind::Acts).await?;
        house.profile("bench", &["echo"])?;
        let run = house.start("bench").await?;
        house.runtime.wait(&run.run_id).await?;
        house.close().await?;
        let asked = listener.requests();
        if asked.len() != TURNS + 1 {
            return Err(format!("a run has asked its model {} times", asked.len()).into());
        }
        let first = asked.first().ok_or("nothing was asked")?;
        Ok(Self {
            client: bare_client()?,
            url: format!("{url}{}", first.path),
            headers: headers_of(first)?,
            bodies: asked.into_iter().map(|request| request.body).collect(),
        })
    }

    pub(crate) async fn wave(&self) -> Result<(), Failed> {
        let mut loops = JoinSet::new();
        for _ in 0..RUNS {
            let (client, url) = (self.client.clone(), self.url.clone());
            let (headers, bodies) = (self.headers.clone(), self.bodies.clone());
            loops.spawn(async move {
                for body in bodies.iter() {
                    let request = client.post(&url).headers(headers.clone());
                    let mut response = request.body(body.clone()).send().await?;
                    while response.chunk().await?.is_some() {}
                }
                Ok::<_, reqwest::Error>(())
            });
        }
        while let Some(ended) = loops.join_next().await {
            ended??;
        }
        Ok(())
    }
}
