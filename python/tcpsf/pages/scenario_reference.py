"""Scenario reference, generated from the scenario's own classes.

The command is ``python -m tcpsf.pages.scenario_reference``. A test fails when
``docs/reference/scenario.md`` differs from its output.
"""

from __future__ import annotations

import inspect
import json
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any, Literal, Union, get_args, get_origin

from tcpsf import _core
from tcpsf import scenario as s
from tcpsf.scenario.codec import Key, keys_of

INTRODUCTION = """\
# Scenario reference

<!-- Written by `python -m tcpsf.pages.scenario_reference` from the classes in `python/tcpsf/scenario/`. -->

A scenario is a network, what is sent through it, and for how long. It is written as a TOML file or built from the
Python classes of the same names; both have the same keys (`from` is `from_` in Python). Unknown keys are refused.

`tcpsf schema` prints the JSON Schema of these files. An editor with a TOML language server (Taplo, Even Better TOML)
completes and checks a file that begins with `#:schema scenario.schema.json`, after
`tcpsf schema > scenario.schema.json`.

How values are written:

| kind | written | examples |
| --- | --- | --- |
| duration | text: number and `ns`, `us`, `ms`, `s`, `min` or `h` | `"20ms"`, `"1.5s"`, `"4000s"` |
| rate | text: number and `b/s`, `kb/s`, `Mb/s`, `Gb/s`, or `bit`, `kbit`, … | `"10Mb/s"`, `"32kbit"` |
| size | text: number and `B`, `kB`, `MB`, `GB` (powers of ten) or `KiB`, `MiB` (powers of two) | `"150kB"`, `"64KiB"` |
| sender | text: see [senders](#senders) | `"reno+sack / fs(n=4) / iw=1"` |
| text, integer, number, boolean | as in TOML; flow sizes are integers in bytes | `"web"`, `1460`, `0.01`, `true` |
"""

SENDERS = """\
## Senders

`<congestion>[+newreno|+sack|+sack1|+fack|+ackwindow][+lt][+er][+abc] / <segmenter> / iw=N[, lw=N]`

| part | choices |
| --- | --- |
| congestion control | `tahoe`, `reno`, `vegas(alpha=1, beta=3, gamma=1)`, `santa-cruz(n=1.5, delta=0.25)`, \
`fixed(n=N)`: a constant window of N segments |
| loss recovery | without an addition as the name says (RFC 5681); `+newreno`: RFC 6582; `+sack`: RFC 6675; \
`+sack1`: ns-2's `TCP/Sack1`; `+fack`: FACK (Mathis and Mahdavi 1996); \
`+ackwindow`, which `santa-cruz` implies: TCP Santa Cruz |
| `+lt` | Limited Transmit, RFC 3042 |
| `+er`, `+er-bytes` | Early Retransmit, RFC 5827, by segments or by bytes |
| `+abc` | Appropriate Byte Counting with L = 2, RFC 3465 |
| segmenter | `full`: full-sized; `fs(n=4, min=4)`: FS-TCP-SF; `vs(n=4, min=4, alpha=1.32)`: VS-TCP-SF; \
below a window of `min` full-sized segments, `n` take the place of one |
| `iw` | initial window, 1 to 10 full-sized segments (with `+rack` up to 64), or `rfc3390`, `rfc6928` |
| `lw` | window after a timeout in segments, 1 where it is left out |

Examples: `"reno+sack / full / iw=1"` (the papers' Classic TCP), `"reno+sack / fs(n=4) / iw=1"`,
`"tahoe / full / iw=2"`, `"reno+newreno+lt / vs(n=4) / iw=rfc6928"`.
"""

TABLES: tuple[tuple[str, str, type], ...] = (
    ("Scenario", "the top of the file", s.Scenario),
    ("Link", "`[[link]]`, once for each link", s.Link),
    ("LinkChange", "an entry of `changes = [ … ]` of a link", s.LinkChange),
    ("RateTrace", "`rate_trace = { … }` of a link", s.RateTrace),
    ("TokenBucket", "`police = { … }` and `shape = { … }` of a link", s.TokenBucket),
    ("Reorder", "`reorder = { … }` of a link", s.Reorder),
    ("UniformJitter", '`jitter = { kind = "uniform", … }` of a link', s.UniformJitter),
    ("NormalJitter", '`jitter = { kind = "normal", … }` of a link', s.NormalJitter),
    ("ParetoJitter", '`jitter = { kind = "pareto", … }` of a link', s.ParetoJitter),
    ("SampledJitter", '`jitter = { kind = "samples", … }` of a link', s.SampledJitter),
    ("Buffer", "`buffer = { … }` of a link", s.Buffer),
    ("Red", "`red = { … }` of a buffer", s.Red),
    ("Balanced", "`balanced = { … }` of a buffer", s.Balanced),
    ("CoDel", "`codel = { … }` of a buffer", s.CoDel),
    ("FqCoDel", "`fq_codel = { … }` of a buffer", s.FqCoDel),
    ("Discard", "`discard = { … }` of a buffer with `cells`", s.Discard),
    ("PacketLoss", '`loss = { kind = "packet", … }`', s.PacketLoss),
    ("ByteLoss", '`loss = { kind = "byte", … }`', s.ByteLoss),
    ("LinearLoss", '`loss = { kind = "linear", … }`', s.LinearLoss),
    ("BurstLoss", '`loss = { kind = "burst", … }`', s.BurstLoss),
    (
        "GilbertElliottLoss",
        '`loss = { kind = "gilbert-elliott", … }`',
        s.GilbertElliottLoss,
    ),
    ("MaskLoss", '`loss = { kind = "mask", … }`', s.MaskLoss),
    ("Route", "`[[route]]`, once for each fixed path", s.Route),
    ("Greedy", '`[[workload]]` with `kind = "greedy"`', s.Greedy),
    ("Poisson", '`[[workload]]` with `kind = "poisson"`', s.Poisson),
    ("Transfers", '`[[workload]]` with `kind = "transfers"`', s.Transfers),
    ("SenderShare", "an entry of `senders = [ … ]`", s.SenderShare),
    ("Sizes", '`sizes = { … }` of a workload with `kind = "poisson"`', s.Sizes),
    ("Pareto", "`pareto = { … }` of `sizes`", s.Pareto),
    ("LogNormal", "`lognormal = { … }` of `sizes`", s.LogNormal),
    ("Tcp", "`[tcp]`, and `tcp = { … }` of a workload", s.Tcp),
    ("Samples", "`[samples]`", s.Samples),
)
"""Classes on the page, in order: Python's name, the key path in TOML, the class."""


def page() -> str:
    """Return the reference page of scenario keys, as Markdown."""
    sections = [_section(*entry) for entry in TABLES]
    return "\n".join([INTRODUCTION, *sections, _profiles(), SENDERS])


_WITHOUT_VALUE = {
    "ssthresh_initial": "none",
    "rtt_initial": "none",
    "receiver": "that of the profile",
    "ack_every": "rules of Linux",
    "ack_delay": "rules of Linux",
    "header": "as the options need",
}
"""Meaning of a key without a value, for keys that may have none."""


def _profiles() -> str:
    """Values of the simulator where `[tcp]` has no key, obtained from the simulator."""
    profiles = {table["profile"]: table for table in json.loads(_core.profiles())}
    lines = [
        "## Profiles\n",
        (
            "What `[tcp]` takes from its `profile` where a key is absent. A workload without `sender` and "
            "`senders` has the sender of a Linux profile; the other profiles have none.\n"
        ),
        f"| key | {' | '.join(f'`{name}`' for name in profiles)} |",
        f"| --- |{' --- |' * len(profiles)}",
    ]
    for key in keys_of(s.Tcp):
        if key != "profile":
            values = (values.get(key) for values in profiles.values())
            cells = " | ".join(
                _WITHOUT_VALUE[key] if value is None else f"`{json.dumps(value)}`"
                for value in values
            )
            lines.append(f"| `{key}` | {cells} |")
    return "\n".join(lines) + "\n"


def _section(name: str, place: str, cls: type) -> str:
    doc = inspect.cleandoc(cls.__doc__ or "").split("\n\n>>>")[0].replace("``", "`")
    rows = "\n".join(_rows(cls))
    head = "| key | kind | default | meaning |\n| --- | --- | --- | --- |"
    return f"## {name}\n\n{place[0].upper()}{place[1:]}. {doc}\n\n{head}\n{rows}\n"


def _rows(cls: type) -> Iterator[str]:
    kind = getattr(cls, "kind", None)
    if kind is not None:
        yield f'| `kind` | `"{kind}"` | required | |'
    for key in keys_of(cls).values():
        meaning = key.doc.text.replace("|", "\\|")
        default = (
            "[profile](#profiles)" if cls is s.Tcp and key.name != "profile" else _default(key)
        )
        yield f"| `{key.name}` | {_kind(key)} | {default} | {meaning} |"


def _kind(key: Key) -> str:
    return key.quantity.name if key.quantity else _type(key.type)


def _type(declared: Any) -> str:
    """Name of a type in the words of the TOML file."""
    origin, arguments = (
        get_origin(declared),
        [part for part in get_args(declared) if part is not type(None)],
    )
    if origin is Literal:
        return " or ".join(f'`"{choice}"`' for choice in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(_type(part) for part in arguments)
    if origin is Sequence:
        return (
            "list of pairs"
            if get_origin(arguments[0]) is tuple
            else f"list of {_plural(_type(arguments[0]))}"
        )
    if origin is not None:  # an annotated quantity
        return _type(arguments[0])
    plain = {str: "text", int: "integer", float: "number", bool: "boolean"}
    return (
        plain[declared]
        if declared in plain
        else f"[{declared.__name__}](#{declared.__name__.lower()})"
    )


def _plural(word: str) -> str:
    return word if word.startswith("[") or word == "text" else word + "s"


def _default(key: Key) -> str:
    if key.required:
        return "required"
    if key.doc.absent is not None:
        return key.doc.absent
    if key.default is None or key.default == () or key.name == "tcp":
        return "–"
    shown = (
        str(key.default).lower()
        if isinstance(key.default, bool | int | float)
        else f'"{key.default}"'
    )
    return f"`{shown}`"


if __name__ == "__main__":
    sys.stdout.write(page())
