//! Models over real sockets, from a name to a reply. The server is the test kit's, which shares no code with the client.

mod cancel;
mod channels;
mod faults;
mod house;
mod keys;
mod law;
