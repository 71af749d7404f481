"""Axes of a chart: conversion of values to positions, and the positions of the ticks.

A position is a share of the axis, 0 at its start and 1 at its end. A drawing may therefore have any
width.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tcpsf import text
from tcpsf.chart.panel import Axis
from tcpsf.errors import TcpsfError

PIXELS_PER_LETTER = 6.6
"""Mean width, in pixels, of a character of the charts' 12-pixel type.

Digits and lower-case letters have similar widths.
"""
CLEAR = 4.0
"""Minimum distance between two labels, in pixels."""
MARGIN = 0.025
"""Margin at both ends of an axis that is not widened to round numbers, as a share of its range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A mark on an axis."""

    place: float
    label: str
    decade: bool = False
    """Whether the tick is a power of ten on a logarithmic axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisScale:
    """An axis of a drawing with its ends and the distance between its ticks."""

    axis: Axis
    low: float = 0.0
    high: float = 1.0
    step: float = 0.2
    """Distance between the ticks of a linear axis."""
    names: tuple[str, ...] = ()
    """Categories in order; empty on other axes."""

    def place(self, value: float | str) -> float | None:
        """Position of a value; ``None`` for a value outside the axis."""
        if self.names:
            return (self.names.index(name(value)) + 0.5) / len(self.names)
        share = self.clamped(number(value, self.axis), beyond=1.0)
        return share if -1e-9 <= share <= 1 + 1e-9 else None

    def clamped(self, value: float, *, beyond: float = 0.0) -> float:
        """Position of a number, limited to a range around the axis.

        The range extends ``beyond`` lengths of the axis past its two ends.
        """
        if self.axis.scale == "log":
            share = (
                math.log(value / self.low) / math.log(self.high / self.low)
                if value > 0
                else -math.inf
            )
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(max(share, -beyond), 1.0 + beyond)

    def ticks(self) -> Iterator[Tick]:
        """Yield round numbers between the ends, or every category."""
        if self.names:
            for each in self.names:
                yield Tick(place=self.place(each) or 0.0, label=text.label(each))
            return
        steps = (
            _decades(self.low, self.high)
            if self.axis.scale == "log"
            else _even(self.low, self.high, self.step)
        )
        for step in steps:
            found = self.place(step)
            if found is not None:
                decade = self.axis.scale == "log" and f"{step:e}".startswith("1.0")
                yield Tick(place=found, label=label(step), decade=decade)


def category(axis: Axis, values: Iterable[float | str]) -> AxisScale:
    """Category axis with every category that occurs, in the order of occurrence."""
    return AxisScale(
        axis=axis, names=tuple(dict.fromkeys(name(value) for value in values)) or ("",)
    )


def numeric(
    axis: Axis, values: Iterable[float], *, ticks: int, rounded: bool = False, zero: bool = False
) -> AxisScale:
    """Axis that contains all ``values`` and has about ``ticks`` ticks.

    An ``axis`` with ``low`` and ``high`` sets the ends. ``rounded`` widens the axis to round
    numbers, ``zero`` to the origin.
    """
    log = axis.scale == "log"
    finite = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
    low, high = (min(finite), max(finite)) if finite else (0.1, 1.0)
    if log:
        low, high = _log_ends(low, high, rounded=rounded)
    else:
        low, high = _linear_ends(low, high, ticks=ticks, rounded=rounded, zero=zero)
    low = low if axis.low is None else axis.low
    high = high if axis.high is None else axis.high
    if not low < high or (log and low <= 0):
        raise TcpsfError(
            f"cannot draw the {axis.scale} axis `{axis.label}` from {low:g} to {high:g}",
            hint="`low` must be less than `high`" + (", and more than 0" if log else ""),
        )
    return AxisScale(axis=axis, low=low, high=high, step=_step(low, high, ticks))


def name(value: float | str) -> str:
    """A category as text.

    >>> name("web"), name(1500.0)
    ('web', '1500')
    """
    return value if isinstance(value, str) else f"{value:g}"


def number(value: float | str, axis: Axis) -> float:
    """Return a value of an axis of numbers; text is an error."""
    if isinstance(value, str):
        raise TcpsfError(
            f"cannot place `{value}` on the {axis.scale} axis `{axis.label}`",
            hint="use the scale `category` for the axis, or a number for the point",
        )
    return value


def label(value: float) -> str:
    r"""Text of a number at a tick.

    >>> label(0.05), label(284454), label(2e6), label(-1)
    ('0.05', '284\u202f454', '2·10⁶', '−1')
    """
    size = abs(value)
    if size and (size >= 1e6 or size < 1e-3):
        exponent = math.floor(math.log10(size) + 1e-9)
        digits = f"{size / 10.0**exponent:.3g}"
        power = "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        label = power if digits == "1" else f"{digits}·{power}"
    else:
        label = text.short(float(f"{size:.6g}"))
    return ("−" if value < 0 else "") + label


def labelled(ticks: Sequence[Tick], room: float) -> Sequence[Tick]:
    """Ticks whose labels fit on an axis of ``room`` pixels.

    These are all ticks, the powers of ten, or every n-th tick.
    """
    decades = [tick for tick in ticks if tick.decade]
    if crowded(ticks, room) and len(decades) > 2:
        ticks = decades
    return next(
        kept for every in range(1, len(ticks) + 2) if not crowded(kept := ticks[::every], room)
    )


def crowded(ticks: Sequence[Tick], room: float) -> bool:
    """Whether the labels of two neighbouring ticks would touch on an axis of ``room`` pixels."""
    return any(
        (b.place - a.place) * room < (width(a.label) + width(b.label)) / 2 + CLEAR
        for a, b in itertools.pairwise(ticks)
    )


def width(label: str) -> float:
    """Approximate width of a tick's label, in pixels."""
    return len(label) * PIXELS_PER_LETTER


def _linear_ends(
    low: float, high: float, *, ticks: int, rounded: bool, zero: bool
) -> tuple[float, float]:
    if zero or (rounded and 0 <= low < 0.5 * high):
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        low, high = low - (abs(low) / 2 or 0.5), high + (abs(high) / 2 or 0.5)
    if not rounded:
        pad = MARGIN * (high - low)
        return low - pad, high + pad
    step = _step(low, high, ticks)
    while True:  # A wider axis may need wider steps, and wider steps may need a wider axis.
        ends = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        wider = _step(*ends, ticks)
        if wider <= step * (1 + 1e-9):
            return ends
        step = wider


def _log_ends(low: float, high: float, *, rounded: bool) -> tuple[float, float]:
    if rounded:
        down = max(step for step in _ladder(low / 10, high) if step <= low * (1 + 1e-9))
        up = min(step for step in _ladder(low, high * 10) if step >= high * (1 - 1e-9))
        return (down, up) if down < up else (down / 2, up * 2)
    if low == high:
        return low / 2, high * 2
    pad = (high / low) ** MARGIN
    return low / pad, high * pad


def _step(low: float, high: float, ticks: int) -> float:
    """Distance between ticks: 1, 2 or 5 times a power of ten.

    The distance is the one that gives a number of ticks nearest to ``ticks``.
    """
    wanted = (high - low) / ticks
    return min(_ladder(wanted / 10, wanted * 10), key=lambda step: abs(math.log(step / wanted)))


def _even(low: float, high: float, step: float) -> Sequence[float]:
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{count * step:.12g}") for count in range(first, last + 1)]


def _decades(low: float, high: float) -> Sequence[float]:
    """Ticks at 1, 2 and 5 of each decade.

    If these are too many, the ticks are the powers of ten. If there are fewer than three, the ticks
    are evenly spaced.
    """
    steps = [step for step in _ladder(low, high) if low * (1 - 1e-9) <= step <= high * (1 + 1e-9)]
    if len(steps) < 3:
        return _even(low, high, _step(low, high, 5))
    tens = [step for step in steps if f"{step:e}".startswith("1.0")]
    return tens if len(steps) > 13 and len(tens) > 3 else steps


def _ladder(low: float, high: float) -> Iterator[float]:
    """Yield 1, 2 and 5 times powers of ten, from below ``low`` to above ``high``."""
    for exponent in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for digit in (1, 2, 5):
            yield float(f"{digit}e{exponent}")
