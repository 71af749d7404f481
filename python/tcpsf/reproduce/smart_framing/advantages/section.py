"""Exhibits of the section on the advantages and costs of framing that the texts list.

The texts are the journal, sections I, III, VI and VIII, and the draft, sections 7 and 8. The
settings are this project's (`tcpsf.papers.smart_framing_advantages`). The claims are the texts'.
"""

from __future__ import annotations

from tcpsf.evaluation.exhibit import Exhibit
from tcpsf.reproduce.smart_framing.advantages.bit_errors import bit_errors
from tcpsf.reproduce.smart_framing.advantages.costs import costs
from tcpsf.reproduce.smart_framing.advantages.delayed_acks import delayed_acks
from tcpsf.reproduce.smart_framing.advantages.drops_by_size import drops_by_size
from tcpsf.reproduce.smart_framing.advantages.pipelining import pipelining
from tcpsf.reproduce.smart_framing.advantages.retransmission_timer import retransmission_timer
from tcpsf.reproduce.smart_framing.exhibit_parts import Setting


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return the exhibits of the advantages and costs of framing."""
    return (
        delayed_acks(setting),
        pipelining(setting),
        bit_errors(setting),
        retransmission_timer(setting),
        costs(setting),
        drops_by_size(setting),
    )
