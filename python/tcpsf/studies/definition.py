"""Definition of a study: a scenario, the axes along which it varies, and the results to keep.

A study file is TOML with the names of the fields below. The scenario is another file
(``scenario = "FILE.toml"``, relative to the study), one of the examples
(``example = "lossy-access"``), or a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from tcpsf.errors import ScenarioError, StudyError, suggestion
from tcpsf.runs import MOST_SEED
from tcpsf.scenario import Scenario, codec, files, packaged

RESERVED = (
    "number",
    "point",
    "runs",
    "stopped",
    "kind",
    "name",
    "class",
    "size_bytes",
    "variant",
    "measure",
    "unit",
    "value",
    "low",
    "high",
    "p_value",
    "adjusted_p_value",
    "significant",
)
"""Columns of the results that no axis can have as its name."""

MOST_POINTS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisPoint:
    """One position of an axis that changes several keys together."""

    label: str
    """Its name in tables and plots."""
    set_: Mapping[str, Any]
    """Values by dotted key; ``None`` is not possible here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyAxis:
    """A quantity that varies: listed values, a range, points with several keys, or samples.

    An axis has exactly one of ``values``, ``points``, and the pair ``from`` and ``to``. A range
    with ``steps`` is a grid. A range without ``steps`` is sampled as ``[sample]`` says.
    """

    name: str | None = None
    """Name of the column; default: the last part of ``key``."""
    key: str | None = None
    """Dotted key of the scenario, such as ``link.bottleneck.delay``."""
    keys: tuple[str, ...] = ()
    """Several keys that have the same value at each point, instead of ``key``."""
    values: tuple[Any, ...] = ()
    """The values of a grid."""
    labels: tuple[str, ...] = ()
    """Names of ``values``, one for each."""
    points: tuple[AxisPoint, ...] = ()
    """Positions that change several keys together."""
    from_: Any = None
    """Lower end of a range: a number, or a quantity with a unit such as ``10ms``."""
    to: Any = None
    """Upper end of a range, with the same unit."""
    steps: int | None = None
    """Number of values from ``from`` to ``to``, both included; absent: the range is sampled."""
    scale: Literal["linear", "log"] = "linear"
    """Spacing of a range, and of a plot's axis."""
    title: str | None = None
    """Title of a plot's axis; default: the name."""

    @property
    def column(self) -> str:
        """Name of the column."""
        named = self.name or (self.targets[0].rpartition(".")[2] if self.targets else None)
        return named or ""

    @property
    def targets(self) -> tuple[str, ...]:
        """The keys that have the axis's value."""
        return (self.key,) if self.key else self.keys

    @property
    def is_sampled(self) -> bool:
        """Whether the values are drawn by ``[sample]``."""
        return self.from_ is not None and self.steps is None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySample:
    """Drawn points for axes that are ranges without ``steps``."""

    points: int
    """Number of drawn points."""
    method: Literal["random", "latin-hypercube"] = "latin-hypercube"
    """Independent uniform points, or one point in each of equal strata of every axis."""
    seed: int = 1
    """Random seed of the points; it does not concern the simulated runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppingRule:
    """Runs are added until an interval is narrow enough."""

    measure: str
    """Key of the measure, such as ``mean_s``."""
    half_width: Any
    """Half width of the interval: a share of the value such as ``"5%"``, or a number."""
    of: Literal["value", "difference"] = "value"
    """Interval of the value, or of the difference from the baseline of ``[compare]``."""
    workload: str | None = None
    """Workload or link; default: the first one that has the measure."""
    batch: int = 8
    """Number of runs of the first batch; each further batch doubles the number of all runs."""
    maximum: int = 256
    """Most runs of a point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replication:
    """Independent runs of each point. All points have the same random seeds."""

    seed: int = 1
    """Random seed of the first run; it increases by one with each further run."""
    count: int = 8
    """Number of runs of each point."""
    until: StoppingRule | None = None
    """Rule that replaces ``count``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyBaseline:
    """Differences between points that differ on one axis only, from pairs of runs."""

    axis: str
    """Name of the axis, such as ``sender``."""
    baseline: Any = None
    """Value or label that the others are compared with; default: the first one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptResults:
    """Selection of the results."""

    measures: tuple[str, ...] = ()
    """Keys of measures; default: all."""
    workloads: tuple[str, ...] = ()
    """Names of workloads and links; default: all."""
    by: tuple[Literal["class", "sender"], ...] = ()
    """Groups of flows that have values of their own, in addition to each whole workload."""
    rows: bool = False
    """Whether the rows of all flows are stored as well (large)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPlot:
    """A figure of one measure over one axis."""

    name: str
    """Name of the file, without a suffix."""
    measure: str
    """Key of the measure, such as ``mean_s``."""
    x: str
    """Name of the horizontal axis's study axis, or ``class``."""
    value: Literal["value", "difference", "percent"] = "value"
    """The measure itself, or its difference from the baseline, absolute or in percent."""
    workload: str | None = None
    """Workload or link; default: the first one that has the measure."""
    classes: tuple[int, ...] = ()
    """Size classes; default: the whole workload."""
    lines: str | None = None
    """Name of the axis with one line for each of its values, or ``class``."""
    panels: str | None = None
    """Name of the axis with one panel for each of its values, or ``class``."""
    only: Mapping[str, Any] = field(default_factory=dict)
    """Values of axes to which the figure is limited, by name of the axis."""
    title: str | None = None
    """Title; default: from the measure."""
    log: bool = False
    """Whether the vertical axis is logarithmic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A scenario, the axes along which it varies, its runs, and the results to keep.

    Raises `StudyError` if the definition contradicts itself. Values of the scenario are checked
    when the points are computed (`tcpsf.studies.points`).

    >>> from tcpsf.papers.smart_framing import CLASSIC, web_scenario
    >>> web = web_scenario(sender=CLASSIC.sender, duration="5s")
    >>> loads = StudyAxis(key="workload.web.load", values=(0.2, 0.4))
    >>> Study(name="load", scenario=web, axis=(loads,)).axis[0].column
    'load'
    """

    name: str
    """Name of the study, for its files."""
    scenario: Scenario
    """The scenario before the values of ``set`` and of the axes are applied."""
    axis: tuple[StudyAxis, ...]
    """The axes. Every combination of their positions is a point."""
    title: str = ""
    """Title of the results."""
    set_: Mapping[str, Any] = field(default_factory=dict)
    """Values that all points have, by dotted key."""
    sample: StudySample | None = None
    """Drawn points of the axes that are ranges without ``steps``."""
    runs: Replication = Replication()
    """Number of runs of each point, and their random seeds."""
    compare: StudyBaseline | None = None
    """Axis along which points are compared with each other."""
    keep: KeptResults = KeptResults()
    """Measures, workloads and groups of flows that the results have."""
    plot: tuple[StudyPlot, ...] = ()
    """Figures of the results."""

    def __post_init__(self) -> None:
        _check(self)

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Read a study file. Raises `StudyError` if it cannot be read or is not a study."""
        path = Path(path)
        try:
            data = files.parse_toml(files.read_text(path))
            data["scenario"] = _scenario(data, path.parent)
            study: Self = codec.decode(cls, data)
        except (ScenarioError, StudyError) as error:
            raise StudyError(f"cannot use study `{path}`: {error}", hint=error.hint) from None
        return study

    def to_dict(self) -> dict[str, Any]:
        """Return plain data with the keys of the TOML form; the scenario is a table."""
        data: dict[str, Any] = codec.encode(self)
        return {**data, "scenario": self.scenario.to_dict()}

    def changed(
        self, *, settings: Mapping[str, Any] | None = None, runs: int | None = None
    ) -> Self:
        """Return a copy with further values of ``set``, and a fixed number of runs."""
        replication = self.runs if runs is None else replace(self.runs, count=runs, until=None)
        return replace(self, set_={**self.set_, **(settings or {})}, runs=replication)

    def axis_of(self, column: str) -> StudyAxis | None:
        """Return the axis with a name."""
        return next((axis for axis in self.axis if axis.column == column), None)


def _scenario(data: dict[str, Any], base: Path) -> Scenario:
    """Return the scenario of a study's data, and remove the key ``example``."""
    if "example" in data:
        if "scenario" in data:
            raise StudyError("both `scenario` and `example` are given", hint="keep one of them")
        path = Path(str(packaged.example(str(data.pop("example")))))
        return Scenario.from_toml(path)
    named = data.get("scenario")
    if isinstance(named, str):
        return Scenario.from_toml(base / named)
    if isinstance(named, dict):
        return Scenario.from_dict(named, base=base)
    raise StudyError(
        "missing key `scenario`", hint='give a file: `scenario = "FILE.toml"`, or `example`'
    )


def _check(study: Study) -> None:
    """Check that the parts of a study fit each other. Raises `StudyError` if not."""
    if not re.fullmatch(r"[\w.-]+", study.name):
        raise StudyError(
            f"name: `{study.name}` cannot be the name of a file",
            hint="use letters, digits, `-`, `_` and `.`",
        )
    if not study.axis:
        raise StudyError("no axis is given", hint="add `[[axis]]` with a key and values")
    for key, value in study.set_.items():
        if isinstance(value, dict) and "." not in key:
            raise StudyError(
                f"set.{key}: it is a table",
                hint=f'quote dotted keys: `"{key}.{next(iter(value), "key")}" = …`',
            )
    for number, axis in enumerate(study.axis):
        _check_axis(axis, f"axis[{number}]")
    columns = [axis.column for axis in study.axis]
    for column in columns:
        if columns.count(column) > 1:
            raise StudyError(
                f"two axes are called `{column}`",
                hint='give one of them another name: `name = "…"`',
            )
    _check_sample(study)
    _check_runs(study)
    _check_compare(study, columns)
    _check_plots(study, columns)


def _check_axis(axis: StudyAxis, where: str) -> None:
    ways = [bool(axis.values), bool(axis.points), axis.from_ is not None or axis.to is not None]
    if sum(ways) != 1:
        raise StudyError(
            f"{where}: expected exactly one of `values`, `points`, and `from` with `to`",
            hint="e.g. `values = [0.01, 0.02]`",
        )
    if axis.points:
        if axis.key or axis.keys:
            raise StudyError(f"{where}: `points` set their own keys; remove `key`")
        if not axis.name:
            raise StudyError(f"{where}: missing key `name`", hint="an axis with `points` needs it")
        _refuse_repeated([point.label for point in axis.points], f"{where}.points", "label")
    elif bool(axis.key) == bool(axis.keys):
        raise StudyError(f"{where}: expected one of `key` and `keys`")
    if not re.fullmatch(r"[\w-]+", axis.column) or axis.column in RESERVED:
        raise StudyError(
            f"{where}: `{axis.column}` cannot be the name of an axis",
            hint='give another one: `name = "…"`, with letters, digits, `-` and `_`',
        )
    if axis.labels and len(axis.labels) != len(axis.values):
        raise StudyError(f"{where}: {len(axis.labels)} labels for {len(axis.values)} values")
    _refuse_repeated(axis.labels, f"{where}.labels", "label")
    if ways[2]:
        _check_range(axis, where)


def _check_range(axis: StudyAxis, where: str) -> None:
    if axis.from_ is None or axis.to is None:
        raise StudyError(f"{where}: a range needs both `from` and `to`")
    if axis.steps is not None and axis.steps < 2:
        raise StudyError(f"{where}.steps: `{axis.steps}` is not at least 2")


def _check_sample(study: Study) -> None:
    sampled = [axis.column for axis in study.axis if axis.is_sampled]
    if sampled and study.sample is None:
        raise StudyError(
            f"axis `{sampled[0]}` is a range without `steps`",
            hint="give `steps`, or a table `[sample]` with the number of `points` to draw",
        )
    if study.sample is not None:
        if not sampled:
            raise StudyError("`[sample]` is given, but no axis is a range without `steps`")
        if not 1 <= study.sample.points <= MOST_POINTS:
            raise StudyError(
                f"sample.points: {study.sample.points} is not in the range 1 to {MOST_POINTS}"
            )


def _check_runs(study: Study) -> None:
    runs, until = study.runs, study.runs.until
    most = until.maximum if until else runs.count
    if most < 1:
        raise StudyError(f"runs.count: {most} is not at least 1")
    if not 0 <= runs.seed <= MOST_SEED - most:
        raise StudyError(f"runs.seed: {runs.seed} is not in the range 0 to {MOST_SEED - most}")
    if until is None:
        return
    if until.batch < 4:
        raise StudyError(
            f"runs.until.batch: {until.batch} is not at least 4",
            hint="an interval from fewer runs is too uncertain to stop at",
        )
    if until.maximum < until.batch:
        raise StudyError(
            f"runs.until.maximum: {until.maximum} is less than the batch of {until.batch}"
        )
    if until.of == "difference" and study.compare is None:
        raise StudyError(
            'runs.until.of: "difference" needs a table `[compare]`',
            hint='add `[compare]` with `axis = "…"`',
        )


def _check_compare(study: Study, columns: list[str]) -> None:
    if study.compare is None:
        return
    axis = study.axis_of(study.compare.axis)
    if axis is None:
        raise _no_axis("compare.axis", study.compare.axis, columns)
    if axis.is_sampled:
        raise StudyError(f"compare.axis: axis `{axis.column}` has drawn values, so none is common")


def _check_plots(study: Study, columns: list[str]) -> None:
    _refuse_repeated([plot.name for plot in study.plot], "plot", "name")
    for number, plot in enumerate(study.plot):
        where = f"plot[{number}]"
        if not re.fullmatch(r"[\w.-]+", plot.name):
            raise StudyError(f"{where}.name: `{plot.name}` cannot be the name of a file")
        chosen = {"x": plot.x, "lines": plot.lines, "panels": plot.panels}
        for what, column in chosen.items():
            if column is not None and column not in (*columns, "class"):
                raise _no_axis(f"{where}.{what}", column, [*columns, "class"])
        for column in plot.only:
            if column not in columns:
                raise _no_axis(f"{where}.only", column, columns)
        _refuse_repeated([*filter(None, chosen.values()), *plot.only], where, "axis")
        if plot.value != "value" and study.compare is None:
            raise StudyError(
                f'{where}.value: "{plot.value}" needs a table `[compare]`',
                hint='add `[compare]` with `axis = "…"`',
            )


def _no_axis(where: str, column: str, columns: Sequence[str]) -> StudyError:
    return StudyError(
        f"{where}: no axis is called `{column}`", hint=suggestion(column, columns, "axes")
    )


def _refuse_repeated(listed: Iterable[str], where: str, what: str) -> None:
    seen = set()
    for each in listed:
        if each in seen:
            raise StudyError(f"{where}: {what} `{each}` is given twice")
        seen.add(each)
