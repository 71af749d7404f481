//! Analysis of captures: what repaired each loss of a connection, and how much time it cost.
//!
//! [`Records`] reads pcap and pcapng files, [`packet::decode`] reads the headers, and
//! [`Analysis`] follows each connection. Memory depends on the number of connections that are
//! alive, and not on the length of the file. Any bytes are accepted: a damaged file is read up to
//! the damage.

mod analysis;
mod explanation;
pub mod flow;
mod input;
mod kind;
pub mod packet;
mod records;
mod sender;
mod spread;
mod table;
#[cfg(test)]
mod testing;
mod watch;

pub use self::analysis::{Analysis, Counts, EpisodeOf, TransferOf};
pub use self::explanation::{ExplainedPacket, Explanation};
pub use self::flow::{Assumptions, BlockOf, Closing, Flow, Half, LossOf, Vantage};
pub use self::input::decompressed;
pub use self::kind::SenderKind;
pub use self::records::{Ending, LinkType, MAX_RECORD, NotACapture, Record, Records};
pub use self::sender::{
    BLOCK, Block, Cause, Cell, Confidence, Count, Effect, Episode, Loss, Policing, Retransmission,
    Role, Spurious, Waits,
};
pub use self::spread::Spread;
pub use self::table::{Limits, Unlisted};
pub use self::watch::{Choice, End, KeptPacket, MAX_CONNECTIONS, Watch, Watched};
