//! HTTP/1.1 (RFC 9110, RFC 9112) as far as it takes to serve files: GET and HEAD, persistent
//! connections, pipelining, ranges, conditions.
//!
//! | module | holds |
//! | --- | --- |
//! | `request` | what a peer asks for, and where its request ends |
//! | `authority` | whether a host may be named like that |
//! | `path` | from a target to a place below the folder |
//! | `files` | opening that place, and no other |
//! | `listing` | the page of a folder, in pieces |
//! | `select` | conditions and ranges: which parts of a file, if any |
//! | `multipart` | several parts in one answer |
//! | `response` | the head of an answer |
//! | `date`, `mime` | formats |
//! | `server` | many connections at once |
//! | `client` | requests, each over a connection of its own |

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
