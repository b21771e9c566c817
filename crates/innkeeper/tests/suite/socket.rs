//! A client of the socket that speaks JSON-RPC, one message after the other.

use std::collections::VecDeque;
use std::net::TcpStream;

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

use super::server::Served;

pub(crate) struct Socket {
    inner: WebSocket<TcpStream>,
    last: u64,
    /// What came before somebody asked for it.
    early: VecDeque<Value>,
}

impl Socket {
    /// As a page does: the token is a protocol.
    pub(crate) fn open(served: &Served, token: &str) -> Self {
        let mut request = format!("ws://{}/api/v1/ws", served.address)
            .into_client_request()
            .unwrap();
        let protocols = format!("innkeeper.v1, bearer.{token}");
        let headers = request.headers_mut();
        headers.insert("Sec-WebSocket-Protocol", protocols.parse().unwrap());
        let (inner, response) = tungstenite::client(request, served.connect()).unwrap();
        let chosen = response.headers().get("Sec-WebSocket-Protocol");
        assert_eq!(chosen.unwrap(), "innkeeper.v1");
        Self {
            inner,
            last: 0,
            early: VecDeque::new(),
        }
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.inner.send(Message::Text(text.into())).unwrap();
    }

    pub(crate) fn send_raw(&mut self, message: Message) {
        self.inner.send(message).unwrap();
    }

    /// The code with which the other end closes.
    pub(crate) fn closed(&mut self) -> Option<u16> {
        loop {
            match self.inner.read() {
                Ok(Message::Close(frame)) => return frame.map(|frame| frame.code.into()),
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }

    fn read(&mut self) -> Value {
        loop {
            match self.inner.read().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    pub(crate) fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let heard = self.read();
            if heard["id"] == json!(id) && heard.get("method").is_none() {
                return match heard.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(heard["result"].clone()),
                };
            }
            self.early.push_back(heard);
        }
    }

    /// The next message by which the server tells or asks something.
    pub(crate) fn next(&mut self) -> Value {
        match self.early.pop_front() {
            Some(heard) => heard,
            None => self.read(),
        }
    }

    /// The next one of that method; what comes before is dropped.
    pub(crate) fn next_of(&mut self, method: &str) -> Value {
        loop {
            let heard = self.next();
            if heard["method"] == method {
                return heard;
            }
        }
    }

    pub(crate) fn answer(&mut self, asked: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }));
    }
}
