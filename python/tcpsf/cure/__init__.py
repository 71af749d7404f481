"""Remedies for running servers: the kernel sends otherwise, and the server is not changed.

A remedy is a BPF program. It ends with the process that attached it, also if that is killed.
[The guide](docs/guides/cure.md) has an introduction.
"""

from tcpsf.cure.attachment import Attachment, attached
from tcpsf.cure.peers import PeerPrefix
from tcpsf.cure.policy import CurePolicy
from tcpsf.cure.target import CureTarget

__all__ = ["Attachment", "CurePolicy", "CureTarget", "PeerPrefix", "attached"]
