//! HTTP/1.1 (RFC 9110, RFC 9112) to the extent needed to serve and fetch files: GET and HEAD,
//! persistent connections, pipelining, ranges, conditional requests.
//!
//! | module | content |
//! | --- | --- |
//! | `request` | parsing and framing of requests |
//! | `authority` | validation of the Host field |
//! | `path` | request target to path below the folder |
//! | `files` | opening files below the folder only |
//! | `listing` | directory listings, generated in pieces |
//! | `select` | conditional and range requests: the parts of a file to send |
//! | `multipart` | several ranges in one response |
//! | `response` | response heads |
//! | `date`, `mime` | formats |
//! | `server` | file server for many connections |
//! | `client` | requests, one per connection |

mod authority;
mod client;
mod date;
mod files;
mod listing;
mod mime;
mod multipart;
mod path;
mod request;
mod response;
mod select;
mod server;

pub use client::{FetchConfig, Fetched, Fetcher, Outcome};
pub use files::Folder;
pub use response::Status;
pub use server::{FileServer, HttpLimits, Served};
