//! A player for scripts in the language of packetdrill, which state what a TCP sends for given
//! packets and system calls.
//!
//! A script runs against [`tcp::Connection`] in virtual time, without a kernel.
//!
//! | module | contents |
//! | --- | --- |
//! | `cursor` | position in a text, and its tokens |
//! | `script` | reader: text to a syntax tree |
//! | `expression` | assertions over `TCP_INFO`: a small part of Python |
//! | `profile` | the configuration of the TCP under test |
//! | `shell` | commands of scripts that change the configuration |
//! | `host` | the connections of a script |
//! | `sockets` | system calls over connections |
//! | `info` | fields of `TCP_INFO` |
//! | `matching` | comparison of what leaves with what is expected |
//! | `play` | the clock, and the events in their order |
//! | `report` | the verdict on a script |

mod cursor;
pub mod expression;
mod host;
pub mod info;
mod matching;
mod play;
pub mod profile;
mod report;
pub mod script;
mod shell;
mod sockets;

pub use play::{Options, play, run};
pub use report::{Note, Report, Verdict};
