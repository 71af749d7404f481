"""Catalogue of what can be reproduced: papers, their reports and the keys of the exhibits.

A paper is a folder of `tcpsf.reproduce`. If the folder has a module ``contents``, the paper's
simulated report consists of the exhibits that ``prepare`` returns there. An exhibit that is added
there is therefore listed here too. `PARTS` names the reports of closed models and of measurements
on live kernels.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from tcpsf.errors import TcpsfError, nearest

if TYPE_CHECKING:
    from tcpsf.evaluation.evaluate import Evaluation
    from tcpsf.evaluation.exhibit import Exhibit
    from tcpsf.evaluation.plan import Scale

Kind = Literal["simulated", "closed", "live"]


@dataclass(frozen=True, slots=True)
class Paper:
    """One paper, or a paper together with its draft."""

    key: str
    title: str
    sources: tuple[str, ...]
    """Modules of `tcpsf.papers` whose ``CITATION`` cites the paper."""

    @property
    def citations(self) -> tuple[str, ...]:
        """Return the paper's citations."""
        return tuple(
            importlib.import_module(f"tcpsf.papers.{source}").CITATION for source in self.sources
        )


PAPERS = (
    Paper("smart-framing", "TCP Smart Framing", ("smart_framing", "smart_framing_draft")),
    Paper("santa-cruz", "TCP Santa Cruz", ("santa_cruz",)),
    Paper("packet-discard", "Balanced packet discard", ("packet_discard",)),
    Paper("short-flows", "Short TCP connections", ("short_flows",)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CataloguedReport:
    """A report: some of the exhibits of a paper, which are made together."""

    key: str
    """Name of the report's folder."""
    paper: str
    kind: Kind
    what: str
    """The papers' name of these figures and tables, or a description of the report."""
    words: str
    """The command line that makes this report alone, after ``tcpsf``."""
    section: str | None = None
    """Section of `tcpsf model report`, if the report is a closed model."""


def papers(only: Sequence[str] = ()) -> tuple[Paper, ...]:
    """Return the papers with these keys, or all papers; an unknown key is an error."""
    keys = [paper.key for paper in PAPERS]
    for word in only:
        if word not in keys:
            near = nearest(word, keys)
            hint = (
                f"did you mean `{near}`?"
                if near
                else f"there are: {', '.join(f'`{key}`' for key in keys)}"
            )
            raise TcpsfError(f"no paper is called `{word}`", hint=hint)
    return tuple(paper for paper in PAPERS if not only or paper.key in only)


def parts(only: Sequence[str] = ()) -> tuple[CataloguedReport, ...]:
    """Return the reports of some papers, or of all papers.

    These are each paper's simulated report, its closed models and its live measurements.

    >>> [part.key for part in parts(["packet-discard"])]
    ['packet-discard', 'packet-discard-models']
    """
    found = []
    for paper in papers(only):
        if has_simulations(paper.key):
            what = "simulated figures and tables"
            words = f"reproduce {paper.key}"
            found.append(
                CataloguedReport(
                    key=paper.key, paper=paper.key, kind="simulated", what=what, words=words
                )
            )
        found += [part for part in OTHERS if part.paper == paper.key]
    return tuple(found)


def _closed(paper: str, section: str, what: str) -> CataloguedReport:
    return CataloguedReport(
        key=f"{paper}-models",
        paper=paper,
        kind="closed",
        what=what,
        words="model report",
        section=section,
    )


OTHERS = (
    _closed("smart-framing", "small-window", "Figs. 9 to 13 and 15"),
    CataloguedReport(
        key="table-2",
        paper="smart-framing",
        kind="live",
        what="Table II",
        words="reproduce smart-framing table-2",
    ),
    CataloguedReport(
        key="table-3",
        paper="smart-framing",
        kind="live",
        what="Table III",
        words="reproduce smart-framing table-3",
    ),
    CataloguedReport(
        key="table-3-proxy",
        paper="smart-framing",
        kind="live",
        what="Table III through a proxy, as in Fig. 8",
        words="reproduce smart-framing table-3 --through proxy",
    ),
    _closed("packet-discard", "packet-discard", "equations (1) to (4)"),
    _closed("short-flows", "short-flows", "Fig. 2, equations (1) and (2)"),
    CataloguedReport(
        key="short-flows-live",
        paper="short-flows",
        kind="live",
        what="Figs. 17 to 20",
        words="reproduce short-flows live"
        if importlib.util.find_spec("tcpsf.reproduce.short_flows.contents")
        else "reproduce short-flows",
    ),
)
"""Reports that are not made of exhibits: closed models and live measurements."""


def has_simulations(paper: str) -> bool:
    """Whether the paper has a simulated report."""
    return importlib.util.find_spec(f"{_package(paper)}.contents") is not None


def prepare(
    paper: str, *, scale: Any = "quick", seed: int = 1, only: Sequence[str] = ()
) -> Evaluation:
    """Return the inputs of the paper's simulated report; see ``prepare`` of its package."""
    wanted: Evaluation = importlib.import_module(f"{_package(paper)}.contents").prepare(
        scale=scale, seed=seed, only=only
    )
    return wanted


def scales(paper: str) -> Mapping[str, Scale]:
    """Return the scales of the paper's simulated report, by name."""
    found: Mapping[str, Scale] = importlib.import_module(f"{_package(paper)}.contents").SCALES
    return found


def exhibits(paper: str, *, only: Sequence[str] = ()) -> tuple[Exhibit, ...]:
    """Return the exhibits of the paper's simulated report, without planning its runs.

    Raises `TcpsfError` for an unknown key in ``only``.
    """
    return _exhibits(paper, tuple(only)) if has_simulations(paper) else ()


@cache
def _exhibits(paper: str, only: tuple[str, ...]) -> tuple[Exhibit, ...]:
    """Return the exhibits. Those of a paper may take seconds, for hundreds of scenarios."""
    return prepare(paper, scale=replace(scales(paper)["quick"], runs=0), only=only).exhibits


def keys(paper: str) -> tuple[str, ...]:
    """Return the keys that the option ``--only`` accepts.

    >>> "fig-18" in keys("packet-discard")
    True
    """
    return tuple(exhibit.key for exhibit in exhibits(paper))


def _package(paper: str) -> str:
    return f"tcpsf.reproduce.{paper.replace('-', '_')}"
