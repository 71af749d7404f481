"""Findings of the closed models."""

from __future__ import annotations

from tcpsf.evaluation.judge import Finding, Judged, finding


def claim(key: str, text: str, source: str, published: str, judged: Judged) -> Finding:
    """Return the finding on the claim ``text`` at the place ``source`` of a paper."""
    return finding(key=key, claim=text, source=source, published=published, judged=judged)
