"""Explanation of the cause of one retransmission, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tcpsf import text

REASONS = {
    "three_duplicates": "It follows the third duplicate acknowledgment (RFC 5681, section 3.2).",
    "sack": "It follows the third duplicate acknowledgment, with SACK (RFC 6675, section 5).",
    "fack": "It follows an acknowledgment whose highest SACK block is more than three segments above "
    "it, before the third duplicate (FACK).",
    "early_retransmit": "It follows an acknowledgment that reports all other segments in flight, which "
    "are fewer than four (RFC 5827).",
    "rack": "It follows an acknowledgment of data that was sent later (RFC 8985, section 6.2).",
    "rack_timer": "It follows an acknowledgment of later data by the reordering window of RACK (RFC "
    "8985, section 6.3).",
    "tail_loss_probe": "It repeats the last segment after the timeout of a tail loss probe (RFC 8985, "
    "section 7.2).",
    "probe_of_new_data": "It follows the acknowledgment of new data that was sent as a tail loss probe "
    "(RFC 8985, section 7.3).",
    "timeout": "It agrees with the retransmission timer (RFC 6298, section 5).",
    "recovery": "A fast recovery was in progress, and this data had not been repaired.",
    "slow_start": "A recovery after a timeout was in progress, and this data had not been repaired.",
    "lost_retransmission": "Its data had been repaired in the same recovery, and that repair was lost "
    "too.",
    "syn_timeout": "It repeats a SYN, or answers a repeated SYN (RFC 9293, section 3.8.3).",
    "syn_ack_timeout": "It repeats a SYN-ACK (RFC 9293, section 3.8.3).",
    "path_mtu": "It repeats the beginning of a segment without waiting for a timer, and is shorter.",
    "unknown": "No rule agrees with it.",
}
"""The rule behind each cause."""

DOUBTS = {
    "no": None,
    "dsack": "It was not necessary: the receiver reports a duplicate (DSACK, RFC 2883).",
    "eifel": "It was not necessary: an acknowledgment echoes the timestamp of the original (RFC 3522).",
    "early_ack": "It was not necessary: an acknowledgment arrived too early to be its own.",
    "f_rto": "It was not necessary: after the timeout, data that was not sent again was acknowledged "
    "(F-RTO, RFC 5682).",
    "acknowledged": "It was not necessary: its data had been acknowledged before.",
}
"""Evidence against the need for a retransmission."""


def explanation(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sentences about a row of the table of retransmissions."""
    sender = (
        "the end that opened the connection"
        if row["direction"] == "originator"
        else "the other end"
    )
    yield (
        f"Packet {row['frame']} is transmission {row['transmission']} of "
        f"{text.count(row['bytes'], 'byte')} from sequence number {row['seq']}, sent by {sender} of "
        f"connection {row['flow']}."
    )
    before = row["previous_frame"]
    yield (
        f"The transmission before it is packet {before}."
        if before
        else "The capture does not have the transmission before it."
    )
    yield f"Cause: {row['cause']}, confidence {row['confidence']}. {REASONS[row['cause']]}"
    yield (
        f"It was sent {_ms(row['since_ack_s'])} after the last acknowledgment with news, and "
        f"{_ms(row['waited_s'])} after the retransmission timer was started."
    )
    probe = "" if row["pto_s"] is None else f", and {_ms(row['pto_s'])} for a tail loss probe"
    doubled = row["backoff"]
    times = f" after {text.count(doubled, 'doubling')}" if doubled else ""
    yield f"The estimated timeout was {_ms(row['rto_s'])}{times}{probe}."
    yield (
        f"{text.count(row['flight'], 'segment was', 'segments were')} outstanding. Before it came "
        f"{text.count(row['duplicates'], 'duplicate acknowledgment')}; "
        f"{text.count(row['sacked_above'], 'segment')} above it had been reported by SACK, the highest "
        f"{text.count(row['forward'], 'segment')} after its beginning."
    )
    doubt = DOUBTS[row["spurious"]]
    if doubt is not None:
        yield doubt


def _ms(seconds: float) -> str:
    return f"{text.plain(1000 * seconds, 1)} ms"


NOT_ANALYSED = {
    "unknown_link_type": "It has a link type that is not supported.",
    "not_ip": "It has no IP packet.",
    "other_protocols": "It has an IP packet of another protocol than TCP.",
    "fragments": "It is a fragment of an IP packet, which is not analysed.",
    "cut_short": "It was captured only in part, without a complete TCP header.",
    "malformed": "Its lengths contradict each other.",
}
"""Reasons for which a packet is not analysed."""

ROLES = {
    "new": "Its data was sent for the first time.",
    "retransmission": "Its data had been sent before.",
    "reordered": "Its data had been sent before data that the capture has earlier: reordering.",
    "duplicate": "It is a copy of the packet before, with the same header. It is no retransmission: "
    "a sender, a device or the network sent the packet twice, or the capture has it twice.",
    "sender_copy": "It is a copy of the data before, with a header of its own. It is no retransmission: "
    "no acknowledgment had a reason for it, and each timer is longer than the time since then.",
    "keep_alive": "It is a keep-alive: the last byte again, with nothing outstanding (RFC 9293, "
    "section 3.8.4).",
    "window_probe": "It probes a closed window (RFC 9293, section 3.8.6.1).",
}
"""Roles of the data of a packet."""


def packet_explanation(frame: int, found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sentences about a packet that is no classified retransmission."""
    if found["content"] != "tcp":
        yield f"Packet {frame} is not analysed. {NOT_ANALYSED[found['content']]}"
        return
    flags = " ".join(found["flags"]) or "no flag"
    where = "" if found["flow"] is None else f" of connection {found['flow']}"
    yield (
        f"Packet {frame}{where} is from {found['source']} to {found['destination']}: {flags}, sequence "
        f"number {found['seq']}, {text.count(found['payload_bytes'], 'byte')} of payload."
    )
    if found["flow"] is None:
        yield "It is the first packet of its connection so far."
    yield from _connection_sentences(found)
    if found["role"] is not None:
        yield ROLES[found["role"]]
        yield f"{text.count(found['flight_bytes'], 'byte')} of its sender were outstanding after it."
    if found["ack"] is not None and found["window_bytes"] is not None:
        yield from _ack_sentences(found)


def _connection_sentences(found: Mapping[str, Any]) -> Iterator[str]:
    flags = set(found["flags"])
    if "RST" in flags:
        yield "It resets the connection."
    elif "SYN" in flags:
        yield "It answers a SYN." if "ACK" in flags else "It opens a connection."
    elif "FIN" in flags:
        yield "It ends the data of its sender."


def _ack_sentences(found: Mapping[str, Any]) -> Iterator[str]:
    blocks = text.count(found["sack_blocks"], "SACK block")
    if found["advances"]:
        yield f"It acknowledges {text.count(found['acked_bytes'], 'byte')} for the first time."
    elif found["duplicate"]:
        yield "It is a duplicate acknowledgment (RFC 5681, section 2)."
    elif found["updates_window"] and not found["payload_bytes"]:
        yield "It only changes the window."
    if found["unseen"]:
        yield "It acknowledges data that the capture does not have."
    if found["dsack"]:
        yield f"It reports data that arrived twice (RFC 2883), with {blocks}."
    elif found["sack_blocks"]:
        yield f"It reports data that arrived out of order, with {blocks}."
    if found["window_bytes"] == 0 and "RST" not in found["flags"]:
        yield "It closes the window."
    else:
        yield f"Its window is {text.count(found['window_bytes'], 'byte')}."
