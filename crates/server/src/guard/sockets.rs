//! How many sockets somebody may have.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use innkeeper_protocol::ErrorCode;

use crate::limits::MAX_SOCKETS_OF_ONE;
use crate::problem::Problem;

/// By token.
#[derive(Default)]
pub(crate) struct Sockets(Arc<Mutex<HashMap<String, usize>>>);

/// Until it is dropped.
pub(crate) struct SocketPlace {
    all: Arc<Mutex<HashMap<String, usize>>>,
    token: String,
}

impl Sockets {
    pub(crate) fn enter(&self, token: &str) -> Result<SocketPlace, Problem> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = all.entry(token.to_owned()).or_default();
        if *count >= MAX_SOCKETS_OF_ONE {
            return Err(Problem::new(
                ErrorCode::HttpRateLimited,
                format!("one token has at most {MAX_SOCKETS_OF_ONE} sockets; close some first"),
            ));
        }
        *count += 1;
        Ok(SocketPlace {
            all: self.0.clone(),
            token: token.to_owned(),
        })
    }
}

impl Drop for SocketPlace {
    fn drop(&mut self) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = all.get_mut(&self.token) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.token);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_by_token_and_given_back() {
        let sockets = Sockets::default();
        let held: Vec<_> = (0..MAX_SOCKETS_OF_ONE)
            .map(|_| sockets.enter("a").ok())
            .collect();
        assert!(held.iter().all(Option::is_some));
        assert!(sockets.enter("a").is_err());
        assert!(sockets.enter("b").is_ok());
        drop(held);
        assert!(sockets.enter("a").is_ok());
        assert_eq!(sockets.0.lock().unwrap().len(), 0);
    }
}
