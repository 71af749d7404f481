"""Loss models, queue disciplines and congestion controllers written in Python.

The simulator calls a method of the model for each packet or acknowledgment. The call takes much
longer than a decision of a built-in model, so these models are meant for courses and experiments.
The functions that simulate take a class or another callable for each link or workload, and call it
once for each run (a controller: once for each connection), so no state passes to the next run.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from tcpsf import _core
from tcpsf.errors import TcpsfError


class PacketFacts(Protocol):
    """A packet that is offered to a link: the argument of `LossModel.loses`."""

    time_s: float
    """Time in seconds at which the packet reaches the link."""
    time_ns: int
    """Time in nanoseconds, exactly."""
    link: str
    """Name of the link."""
    workload: str
    """Name of the workload."""
    flow_index: int
    """Number of the flow in its workload, from 0, in order of starting."""
    packet: int
    """Number of the packet in its flow, from 0; both directions count together."""
    is_forward: bool
    """Whether the sender of the flow's data sent the packet; otherwise its receiver."""
    size_bytes: int
    """Size in bytes, with headers."""
    has_data: bool
    """Whether the packet carries data."""
    ecn_capable: bool
    """Whether the packet may be marked (RFC 3168 §5)."""
    draw: float
    """Uniform random number, at least 0 and below 1, for this decision on this packet.

    It depends on the seed, the link, the flow and the number of the packet alone. Paired runs with
    equal seeds therefore have common random numbers.
    """


class QueueFacts(PacketFacts, Protocol):
    """A packet that arrives at a queue: the argument of `QueueDiscipline.decide`.

    It has the attributes of `PacketFacts` too. The queue is that before the packet enters.
    """

    queue_bytes: int
    """Bytes in the queue, as the buffer counts them."""
    queue_packets: int
    """Packets in the queue, as the buffer counts them."""
    capacity_bytes: int | None
    """Size of the buffer in bytes; ``None`` if it is unlimited or in packets."""
    capacity_packets: int | None
    """Size of the buffer in packets; ``None`` if it is unlimited or in bytes."""
    fits: bool
    """Whether the packet fits into the buffer. Otherwise it is dropped, whatever the decision."""
    idle_s: float
    """Time in seconds since the last packet left the queue; 0 while the link transmits."""


class ControllerStart(Protocol):
    """Beginning of a connection: the argument of a controller's class. Sizes are in bytes."""

    smss: int
    """Sender maximum segment size (RFC 5681 §2)."""
    initial_window: int
    """Initial window of the workload's sender."""
    ssthresh: int
    """Initial slow start threshold of the scenario."""


class AckFacts(Protocol):
    """An acknowledgment: the argument of `CongestionController.on_ack`. Sizes are in bytes."""

    time_s: float
    """Time of its arrival in seconds."""
    acked_bytes: int
    """Number of bytes newly acknowledged."""
    smss: int
    """Sender maximum segment size."""
    flight: int
    """Bytes in flight after the acknowledgment."""
    rtt_s: float | None
    """Round-trip time in seconds; ``None`` where Karn's rule (RFC 6298 §3) forbids it."""
    app_limited: bool
    """Whether something other than the window limited the sender."""
    step_bytes: int
    """Growth for an acknowledgment in slow start; the segmenter decides it (full: SMSS)."""
    per_rtt_bytes: int
    """Growth for a round trip in congestion avoidance, decided likewise."""
    least_cwnd: int | None
    """Window that the segmenter requires at least, instead of growth; only with ``vs`` framing."""


class ReductionFacts(Protocol):
    """A loss, a timeout or a mark: the argument of the other methods. Sizes are in bytes."""

    time_s: float
    """Time of the detection in seconds."""
    smss: int
    """Sender maximum segment size."""
    flight: int
    """``FlightSize`` (RFC 5681 §2) at the time of the detection."""
    loss_window: int
    """Window with which slow start begins after a timeout (RFC 5681 §3.1)."""
    duplicates: int
    """Number of duplicate acknowledgments counted."""
    already_reduced: bool
    """Whether the window has already been reduced for this data."""


class LossModel(Protocol):
    """Loss model of a link. Any class with this method is one."""

    def loses(self, packet: PacketFacts, /) -> bool:
        """Return whether the packet is lost.

        The model decides on the same packets as a built-in one: on those that the queue accepts.
        """


class QueueDiscipline(Protocol):
    """Queue discipline of a link. Any class with this method is one."""

    def decide(self, packet: QueueFacts, /) -> str:
        """Decide on a packet that arrives: ``"accept"``, ``"mark"`` or ``"drop"``.

        A packet that is marked has Congestion Experienced; one that is not ECN-capable is dropped
        instead (RFC 3168 §5).
        """


class CongestionController:
    """Base class of congestion controllers. Sizes are in bytes.

    A derived class has at least the methods `on_ack`, `on_loss` and `on_timeout`, which change
    ``cwnd`` and ``ssthresh``. The simulator reads both after every call. The detection of losses,
    the recovery and the sizes of segments are those of the workload's sender.
    """

    cwnd: float
    """Congestion window, without the inflation of fast recovery; rounded down to whole bytes."""
    ssthresh: float
    """Slow start threshold."""

    def __init__(self, start: ControllerStart) -> None:
        self.cwnd = start.initial_window
        self.ssthresh = start.ssthresh

    def on_ack(self, ack: AckFacts) -> None:
        """Handle an acknowledgment of new data outside recovery."""
        raise NotImplementedError

    def on_loss(self, loss: ReductionFacts) -> None:
        """Handle a loss that was detected without a timeout."""
        raise NotImplementedError

    def on_timeout(self, loss: ReductionFacts) -> None:
        """Handle an expiry of the retransmission timer, or a loss without fast recovery (Tahoe)."""
        raise NotImplementedError

    def on_mark(self, loss: ReductionFacts) -> bool:
        """Handle an echoed mark of a router, by default like a loss that never widens the window.

        Return whether the window was already at its minimum, so that the sender has to wait for the
        retransmission timer (RFC 3168 §6.1.2).
        """
        before = self.cwnd
        self.on_loss(loss)
        self.cwnd = min(self.cwnd, before)
        return before <= loss.smss

    def observe(self, ack: AckFacts) -> None:
        """Handle an acknowledgment for which the window must not grow; by default do nothing."""

    def set_cwnd(self, size_bytes: int) -> None:
        """Set the window, at the end of recovery or after a lost SYN."""
        self.cwnd = size_bytes


LossModels: TypeAlias = Mapping[str, Callable[[], LossModel]]
"""Loss models by link."""
QueueDisciplines: TypeAlias = Mapping[str, Callable[[], QueueDiscipline]]
"""Queue disciplines by link."""
ControllerClass: TypeAlias = Callable[[ControllerStart], CongestionController]
"""Class of congestion controllers, or a function that makes one."""
CongestionControllers: TypeAlias = Mapping[str, ControllerClass]
"""Congestion controllers by workload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonModels:
    """The Python models of a run: classes or other callables, by the name of a link or workload.

    Raises `TcpsfError` if a value cannot be called. Pickling needs models that another process can
    import, and raises `TcpsfError` otherwise.
    """

    loss: LossModels = field(default_factory=dict, hash=False)
    """Loss models by link."""
    queue: QueueDisciplines = field(default_factory=dict, hash=False)
    """Queue disciplines by link."""
    controllers: CongestionControllers = field(default_factory=dict, hash=False)
    """Congestion controllers by workload."""

    @classmethod
    def of(
        cls,
        loss: LossModels | None,
        queue: QueueDisciplines | None,
        controllers: CongestionControllers | None,
    ) -> PythonModels:
        """Return the models that the arguments of a function give."""
        return cls(loss=loss or {}, queue=queue or {}, controllers=controllers or {})

    def __post_init__(self) -> None:
        for kind, models in self._kinds():
            if not isinstance(models, Mapping):
                raise TcpsfError(
                    f"cannot use `{kind}`: expected a mapping from names to classes, got {models!r}",
                    hint=f'for example `{kind}={{"name": MyModel}}`',
                )
            for name, model in models.items():
                if not callable(model):
                    raise TcpsfError(
                        f'cannot use `{kind}["{name}"]`: {model!r} cannot be called',
                        hint="pass the class itself: every run needs a new model",
                    )
            object.__setattr__(self, kind, dict(models))

    def __bool__(self) -> bool:
        return any(models for _, models in self._kinds())

    def __reduce__(self) -> tuple[Any, ...]:
        for kind, models in self._kinds():
            for name, model in models.items():
                try:
                    pickle.dumps(model)
                except (pickle.PicklingError, AttributeError, TypeError) as error:
                    raise TcpsfError(
                        f'cannot pickle `{kind}["{name}"]`, which is {name_of(model)}: {error}',
                        hint="define the class at the top level of a module that can be imported",
                    ) from None
        return PythonModels.of, (self.loss, self.queue, self.controllers)

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of `tcpsf.run`, without those that are empty."""
        return {kind: models for kind, models in self._kinds() if models}

    def with_controller(
        self, workloads: Iterable[str], controller: ControllerClass
    ) -> PythonModels:
        """Return these models, with another controller for some workloads."""
        changed = {**self.controllers, **dict.fromkeys(workloads, controller)}
        return replace(self, controllers=changed)

    def names(self) -> dict[str, dict[str, str]]:
        """Return the qualified names of the models, as plain data.

        >>> PythonModels(loss={"access": dict}).names()
        {'loss': {'access': 'builtins.dict'}}
        """
        return {
            kind: {name: name_of(model) for name, model in models.items()}
            for kind, models in self._kinds()
            if models
        }

    def __str__(self) -> str:
        return ", ".join(
            f"{kind} of `{name}` by {model}"
            for kind, models in self.names().items()
            for name, model in models.items()
        )

    def _kinds(self) -> Iterator[tuple[str, Mapping[str, Callable[..., Any]]]]:
        yield "loss", self.loss
        yield "queue", self.queue
        yield "controllers", self.controllers


def name_of(model: Callable[..., Any]) -> str:
    """Return the qualified name of a class or function, with the arguments of a ``partial``.

    >>> name_of(functools.partial(dict, a=1))
    'builtins.dict(a=1)'
    """
    if isinstance(model, functools.partial):
        given = [
            *map(repr, model.args),
            *(f"{key}={value!r}" for key, value in model.keywords.items()),
        ]
        return f"{name_of(model.func)}({', '.join(given)})"
    if hasattr(model, "__qualname__"):
        return f"{model.__module__}.{model.__qualname__}"
    return f"{type(model).__module__}.{type(model).__qualname__}"


def simulation(
    scenario_json: str, *, seed: int, models: PythonModels | None = None
) -> _core.Simulation:
    """Set up a run. Raises `TcpsfError` if a model does not fit the scenario."""
    given = {} if models is None else models.arguments()
    return _core.Simulation(
        scenario_json, seed=seed, **{kind: list(found.items()) for kind, found in given.items()}
    )
