"""Absorbing chains in Figs. 9 to 11 of the Smart Framing paper.

The module has their states, transition matrices and drawings.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from tcpsf import text
from tcpsf.evaluation.data import Drawing, Row, Section, Table, TableCell
from tcpsf.evaluation.judge import exact
from tcpsf.models.chain import Chain

SCHEMA = "tcpsf.chain/1"
SOURCE = "Mellia et al. 2005, section V"

WIDE, HIGH = 92.0, 30.0
"""Width and height of a state's box, in pixels."""
ACROSS, DOWN = 190.0, 44.0
"""Horizontal and vertical distance from one state to the next, in pixels."""
LEFT, TOP, MARGIN = 40.0, 74.0, 40.0
MOST_LABELS = 8
"""Maximum number of transitions whose probabilities are shown in the drawing.

With more transitions the labels would overlap, so only the table has the probabilities.
"""

STYLE = """
.chain { font: 11px system-ui, sans-serif; }
.chain text { fill: #333; } .chain .title { font-size: 15px; font-weight: 600; } .chain .soft { fill: #6a6f76; }
.chain .name { font-size: 12px; font-weight: 600; } .chain .sheet { fill: #fff; }
.chain .state { fill: #eef2f8; stroke: #4a5568; } .chain .FR { fill: #e4f1e7; } .chain .TO { fill: #fbeae4; }
.chain .to { fill: none; stroke: #1f5fbf; } .chain .head { fill: #1f5fbf; stroke: none; }
@media (prefers-color-scheme: dark) {
  .chain .sheet { fill: #16181c; } .chain text { fill: #ddd; } .chain .soft { fill: #a3a8ae; }
  .chain .state { fill: #262c36; stroke: #aab; } .chain .FR { fill: #1f3326; } .chain .TO { fill: #3d2720; }
  .chain .to { stroke: #7fb0ff; } .chain .head { fill: #7fb0ff; }
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The Markov chain of one sender for one loss probability."""

    key: str
    label: str
    figure: str
    """The paper's figure that shows the chain, such as ``Fig. 9``."""
    chain: Chain

    @property
    def visited(self) -> list[int]:
        """States that a passage can visit, in order, with the exit."""
        return [number for number, mean in enumerate(self.chain.visits()) if mean > 0]

    def transitions(self) -> Iterator[tuple[int, int, float]]:
        """Yield start, end and probability of each transition between visited states.

        Transitions with probability zero are left out.
        """
        for start in self.visited:
            for end in np.flatnonzero(self.chain.transition[start]):
                yield start, int(end), float(self.chain.transition[start, end])


@dataclass(frozen=True, slots=True, kw_only=True)
class Chains:
    """The senders' Markov chains and the arguments of the models."""

    arguments: Mapping[str, Any]
    chains: tuple[Named, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, as ``report/schema/chain.json`` describes it.

        The matrices are complete.
        """
        return {
            "schema": SCHEMA,
            "model": "smart-framing",
            "arguments": dict(self.arguments),
            "chains": [
                {
                    "sender": each.key,
                    "figure": each.figure,
                    "states": [
                        {
                            "name": name,
                            **{
                                key: float(values[number])
                                for key, values in _rewards(each.chain).items()
                            },
                        }
                        for number, name in enumerate(each.chain.states)
                    ],
                    "transition": each.chain.transition.tolist(),
                }
                for each in self.chains
            ],
        }

    def section(self) -> Section:
        """Return the chains as part of a report: drawings and tables."""
        return Section(
            key="chains",
            title="Markov chains of the small-window region",
            text=(f"{_given(self.arguments)}. States that no passage visits are omitted.",),
            drawings=tuple(map(drawing, self.chains)),
            tables=tuple(map(_table, self.chains)),
        )


def _rewards(chain: Chain) -> dict[str, Any]:
    return {
        "visits": chain.visits(),
        "time_s": chain.time_s,
        "offered": chain.offered,
        "delivered": chain.delivered,
        "offered_bytes": chain.offered_bytes,
        "delivered_bytes": chain.delivered_bytes,
    }


def _given(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in arguments.items())


WIDTH = 100
"""Columns of the text."""
HEADS = ("state", "visits", "time, s", "sent", "arrive", "next states")


def as_text(found: Chains) -> str:
    """Lay out each chain: a line per state, with the nonzero entries of the transition matrix."""
    given = " ".join(f"{name}={value}" for name, value in found.arguments.items())
    blocks = [
        f"Markov chains of the small-window region\n{textwrap.fill(f'{SOURCE}; {given}', width=WIDTH)}"
    ]
    for each in found.chains:
        rows = [[name, *(f"{value:.4g}" for value in values)] for _, name, values in _states(each)]
        heads = list(HEADS[:-1])
        arrows = [f"{name} → {_next(each, state)}" for state, name, _ in _states(each)]
        wrapped = "\n".join(
            textwrap.fill(line, width=WIDTH, subsequent_indent="    ") for line in arrows
        )
        blocks += [f"{each.label} ({each.figure})", text.table([heads, *rows], left=[0]), wrapped]
    return "\n\n".join(blocks)


def _states(each: Named) -> Iterator[tuple[int, str, tuple[float, ...]]]:
    chain = each.chain
    visits = chain.visits()
    for state in each.visited:
        values = (visits[state], chain.time_s[state], chain.offered[state], chain.delivered[state])
        yield state, chain.states[state], tuple(map(float, values))


def _next(each: Named, state: int) -> str:
    to = [
        f"{each.chain.states[end]} {chance:.4g}"
        for start, end, chance in each.transitions()
        if start == state
    ]
    return ", ".join(to) or "exit"


def _table(each: Named) -> Table:
    return Table(
        key=f"chain-{each.key}",
        title=f"{each.label}: states and transitions",
        source=f"{SOURCE}, {each.figure}",
        caption="Means over one visit; the number of visits is that of a passage.",
        columns=HEADS,
        rows=tuple(
            Row(
                label=name,
                cells=(
                    *(TableCell(ours=exact(value), published=None) for value in values),
                    _next(each, state),
                ),
            )
            for state, name, values in _states(each)
        ),
    )


def drawing(each: Named) -> Drawing:
    """Return a sender's state machine as a drawing of a report."""
    return Drawing(
        key=each.figure.lower().replace(". ", "-"),
        title=f"{each.figure}: states of {each.label}",
        source=f"{SOURCE}, {each.figure}",
        caption="The number below a state's name is the mean number of visits in a passage. The width of an "
        "arrow shows the probability of the transition.",
        svg=drawn(each),
    )


def drawn(each: Named) -> str:
    """Draw a chain from left to right as an SVG for light and dark pages."""
    places = _places(each)
    width = LEFT + max(x for x, _ in places.values()) + WIDE + MARGIN
    height = max(y for _, y in places.values()) + HIGH + 2 * MARGIN
    visits = each.chain.visits()
    arrows = list(each.transitions())
    parts = [
        f'<rect class="sheet" width="{width:g}" height="{height:g}"/>',
        f'<text class="title" x="{width / 2:g}" y="24" text-anchor="middle">{escape(each.label)}</text>',
    ]
    for start, end, chance in arrows:
        parts += _arrow(places[start], places[end], chance, labelled=len(arrows) <= MOST_LABELS)
    for state, (x, y) in places.items():
        name = each.chain.states[state]
        kind = next((kind for kind in ("FR", "TO") if kind in name), "")
        parts += [
            f'<rect class="state {kind}" x="{x:g}" y="{y:g}" width="{WIDE:g}" height="{HIGH:g}" rx="8"/>',
            f'<text class="name" x="{x + WIDE / 2:g}" y="{y + 13:g}" text-anchor="middle">{escape(name)}</text>',
            f'<text class="soft" x="{x + WIDE / 2:g}" y="{y + 25:g}" text-anchor="middle">{visits[state]:.3g}</text>',
        ]
    body = "\n".join(parts)
    summary = escape(
        f"State machine of {each.label}, {len(places)} states, {len(arrows)} transitions"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chain" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" role="img" aria-label="{summary}">\n<style>{STYLE}</style>\n{body}\n</svg>\n'
    )


def _places(each: Named) -> dict[int, tuple[float, float]]:
    """Place the states, with one column for each depth from the start, centred vertically."""
    columns: dict[int, list[int]] = {}
    for state, depth in _depths(each).items():
        columns.setdefault(depth, []).append(state)
    most = max(map(len, columns.values()))
    return {
        state: (LEFT + ACROSS * depth, TOP + DOWN * (row + (most - len(states)) / 2.0))
        for depth, states in columns.items()
        for row, state in enumerate(sorted(states))
    }


def _depths(each: Named) -> dict[int, int]:
    """Longest path from the start to each state, without the transitions that lead back.

    A timeout comes before the window to which it leads. A transition from that window to the
    timeout leads back.
    """
    to: dict[int, list[int]] = {state: [] for state in each.visited}
    for start, end, _ in each.transitions():
        to[start].append(end)
    order: list[int] = []  # Reverse order: a state follows all states to which it leads.
    back: set[tuple[int, int]] = set()
    open_: set[int] = set()

    def visit(state: int) -> None:
        open_.add(state)
        for end in sorted(to[state], key=lambda number: "TO" not in each.chain.states[number]):
            if end in open_:
                back.add((state, end))
            elif end not in order:
                visit(end)
        open_.discard(state)
        order.append(state)

    visit(each.visited[0])
    depths = dict.fromkeys(order, 0)
    for state in reversed(order):
        for end in to[state]:
            if (state, end) not in back:
                depths[end] = max(depths[end], depths[state] + 1)
    return depths


def _arrow(
    start: tuple[float, float], end: tuple[float, float], chance: float, *, labelled: bool
) -> Iterator[str]:
    (x0, y0), (x1, y1) = start, end
    thick = 0.6 + 2.4 * chance
    if start == end:  # a loop above the box
        x, y = x0 + WIDE / 2.0, y0
        path = (
            f"M{x - 14:g} {y:g} C{x - 30:g} {y - 34:g} {x + 30:g} {y - 34:g} {x + 14:g} {y - 4:g}"
        )
        tip, label = (x + 14.0, y, 0.0, 1.0), (x, y - 28.0)
    elif x1 > x0:
        a, b, c, d = x0 + WIDE, y0 + HIGH / 2.0, x1 - 5.0, y1 + HIGH / 2.0
        bend = (c - a) / 2.0
        # A curve around a column between the two states.
        over = (
            -0.9 * DOWN * (len(range(int(ACROSS), int(x1 - x0), int(ACROSS))))
            if abs(d - b) < DOWN
            else 0.0
        )
        path = f"M{a:g} {b:g} C{a + bend:g} {b + over:g} {c - bend:g} {d + over:g} {c:g} {d:g}"
        tip, label = (x1, d, 1.0, 0.0), (a + 0.5 * (c - a), (b + d) / 2.0 + 0.75 * over - 3.0)
    else:  # a transition back, below both states
        a, b, c, d = x0 + WIDE / 2.0, y0 + HIGH, x1 + WIDE / 2.0, y1 + HIGH + 5.0
        low = max(b, d) + 40.0
        path = f"M{a:g} {b:g} C{a:g} {low:g} {c:g} {low:g} {c:g} {d:g}"
        tip, label = (c, y1 + HIGH, 0.0, -1.0), ((a + c) / 2.0, max(b, d) + 38.0)
    yield f'<path class="to" stroke-width="{thick:.2f}" d="{path}"/>'
    x, y, dx, dy = tip
    back = (x - 8 * dx, y - 8 * dy)
    yield (
        f'<path class="head" d="M{x:g} {y:g} L{back[0] - 4 * dy:g} {back[1] + 4 * dx:g} '
        f'L{back[0] + 4 * dy:g} {back[1] - 4 * dx:g} Z"/>'
    )
    if labelled:
        yield f'<text class="soft" x="{label[0]:g}" y="{label[1]:g}" text-anchor="middle">{chance:.3g}</text>'
