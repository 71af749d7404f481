//! The flows of a run: the state of a flow, and the table of active flows.

mod flow;
mod prefetch;
mod table;

pub(crate) use flow::{End, Endpoints, Flow, Name, PacketName};
pub(crate) use table::{Ends, FlowTable};
