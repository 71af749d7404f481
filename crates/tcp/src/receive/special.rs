//! State of receivers that few connections have, on the heap.

use super::linux::LinuxState;
use super::reports::SantaCruzAck;

/// State of a receiver other than that of the RFCs. Usually there is none.
#[derive(Debug, Default)]
pub(super) struct Special(Option<Box<Kind>>);

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is on the heap, once per connection")]
enum Kind {
    /// TCP Santa Cruz: acknowledgments report transmissions.
    SantaCruz(SantaCruzAck),
    /// Acknowledgments and windows as in Linux.
    Linux(LinuxState),
}

impl Special {
    pub(super) fn of_linux(state: LinuxState) -> Self {
        Self(Some(Box::new(Kind::Linux(state))))
    }

    /// State of TCP Santa Cruz, if there is one.
    pub(super) fn santa_cruz(&self) -> Option<&SantaCruzAck> {
        match self.0.as_deref() {
            Some(Kind::SantaCruz(santa_cruz)) => Some(santa_cruz),
            _ => None,
        }
    }

    /// State of TCP Santa Cruz, which is created if there is none.
    pub(super) fn santa_cruz_mut(&mut self) -> Option<&mut SantaCruzAck> {
        let kind = self.0.get_or_insert_with(|| Box::new(Kind::SantaCruz(SantaCruzAck::default())));
        match kind.as_mut() {
            Kind::SantaCruz(santa_cruz) => Some(santa_cruz),
            Kind::Linux(_) => None,
        }
    }

    pub(super) fn linux(&self) -> Option<&LinuxState> {
        match self.0.as_deref() {
            Some(Kind::Linux(linux)) => Some(linux),
            _ => None,
        }
    }

    pub(super) fn linux_mut(&mut self) -> Option<&mut LinuxState> {
        match self.0.as_deref_mut() {
            Some(Kind::Linux(linux)) => Some(linux),
            _ => None,
        }
    }

    /// Heap memory in bytes.
    pub(super) fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, |_| size_of::<Kind>())
    }
}
