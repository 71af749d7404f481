"""The loss law of a capture in sentences, from its plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tcpsf import text

DEPENDENCES = {
    "packet": "each packet is lost with the same probability, whatever its size",
    "byte": "each byte is lost with the same probability, so smaller packets are lost less often",
    "between": "the loss depends on the size, but neither by packet nor by byte",
    "undecided": "both loss by packet and loss by byte are possible",
}
"""Meanings of an exponent."""


def law_lines(laws: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a paragraph for each direction in which data was lost."""
    for law in laws:
        if law["losses"]:
            yield ""
            yield " ".join(_sentences(law))


def _sentences(law: dict[str, Any]) -> Iterator[str]:
    """Yield the sentences about one direction."""
    packets = text.count(law["packets"], "first transmission")
    yield (
        f"Loss law of the {law['direction']}'s data: "
        f"{text.plain(law['losses'], 0)} of {packets} were lost,"
    )
    ends = law["loss_interval"]
    yield (
        f"{_percent(law['loss'])} ({_percent(ends[0])} to {_percent(ends[1])}) "
        f"of packets of {text.plain(law['reference_size'], 0)} bytes."
    )
    if law["reason"]:
        limit = law["evidence"] == "enough"
        yield f"{'Limit' if limit else 'Not enough evidence for more'}: {law['reason']}."
    if law["evidence"] == "enough":
        yield _exponent(law)
        yield _runs(law)
    yield _policer(law["policer"])


def _exponent(law: dict[str, Any]) -> str:
    if law["exponent"] is None:
        return f"The dependence on size cannot be identified: {law['exponent_reason']}."
    low, high = law["exponent_interval"]
    return (
        f"Exponent {text.plain(law['exponent'], 2)} ({text.plain(low, 2)} to {text.plain(high, 2)}): "
        f"{DEPENDENCES[law['dependence']]}."
    )


def _runs(law: dict[str, Any]) -> str:
    ends = law["mean_run_interval"]
    if law["mean_run"] is None or ends is None:
        return "The length of runs is unknown."
    upper = "no limit" if ends[1] is None else text.plain(ends[1], 2)
    found = (
        f"Mean run {text.plain(law['mean_run'], 2)} packets ({text.plain(ends[0], 2)} to {upper}), "
        f"of independent losses {text.number(law['independent_run'], 2)}"
    )
    return f"{found}: losses come in bursts." if law["bursty"] else f"{found}."


def _policer(policer: dict[str, Any]) -> str:
    verdict = policer["verdict"]
    if verdict == "not enough":
        return f"Policer: not tested, because {policer['reason']}."
    if verdict == "found":
        rate = text.plain(policer["rate_bps"] / 1e6, 2)
        return f"A policer of {rate} Mb/s is likely: {policer['reason']}."
    return f"No policer: {policer['reason']}."


def _percent(share: float) -> str:
    """Return a percentage with two significant digits at least."""
    value = 100.0 * share
    digits = 1 if value >= 10.0 else 2 if value >= 0.1 else 4
    return f"{text.plain(value, digits)} %"
