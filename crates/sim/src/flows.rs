//! The flows of a run: the state of a flow, the table of active flows, and their layout in memory.

mod endpoints;
mod flow;
mod layout;
pub(crate) mod prefetch;
mod table;

pub(crate) use endpoints::Endpoints;
pub(crate) use flow::{Flow, Name, PacketName};
pub(crate) use table::FlowTable;
