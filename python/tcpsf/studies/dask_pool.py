"""A Dask cluster as an executor of tasks, which survives the loss of workers and of the scheduler.

Dask submits the tasks of a lost worker to another one. If the scheduler is lost, its tasks are lost
too: the pool connects again, and `tcpsf.studies.tasks` submits them again.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from tcpsf.errors import TcpsfError

LOCAL = "local"
"""Address that starts a cluster of processes on this machine."""

CONNECT_S = 10.0
"""Time in which a scheduler answers, at the begin."""

POLL_S = 0.5
"""Time between two attempts to connect or to submit."""

RETURN_S = 60.0
"""Time in which a lost scheduler answers again."""


class DaskPool:
    """A connection to a Dask scheduler, which is made again after it is lost."""

    def __init__(self, address: Any) -> None:
        self._address = address
        self._client = _connected(address, CONNECT_S)

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> _DaskTask:
        """Call a function on a worker. Connect again if the scheduler was lost."""
        began = time.monotonic()
        while True:
            if not self.is_connected():
                self.connect()
            try:
                return _DaskTask(self, self._client.submit(function, *arguments, pure=False))
            except Exception as error:  # noqa: BLE001 (Dask has many classes for lost connections)
                if time.monotonic() - began > RETURN_S:
                    raise _lost(self._address, error) from None
                time.sleep(POLL_S)

    def is_connected(self) -> bool:
        """Return whether the scheduler is connected."""
        return bool(self._client.status == "running")

    def connect(self) -> None:
        """Connect again. Raises `TcpsfError` if the scheduler does not answer."""
        self.close()
        self._client = _connected(self._address, RETURN_S)

    def workers(self) -> int:
        """Return the number of tasks that the cluster runs at once; at least 1."""
        threads: dict[str, int] = self._client.nthreads()
        return max(1, sum(threads.values()))

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(Exception):
            self._client.close(timeout=5)


class _DaskTask:
    """A future of Dask, whose loss together with the scheduler is an error."""

    def __init__(self, pool: DaskPool, future: Any) -> None:
        self._pool, self._future = pool, future

    def done(self) -> bool:
        return bool(self._future.done()) or not self._pool.is_connected() or self._is_old()

    def result(self) -> Any:
        if not self._future.done():
            raise ConnectionError("the connection to the scheduler was lost")
        return self._future.result(timeout=RETURN_S)

    def cancel(self) -> None:
        with contextlib.suppress(Exception):
            self._future.cancel()

    def _is_old(self) -> bool:
        """Return whether the task was submitted to an earlier scheduler."""
        return self._future.client is not self._pool._client  # noqa: SLF001 (same module)


@contextlib.contextmanager
def dask_pool(address: str, *, workers: int | None = None) -> Iterator[DaskPool]:
    """Connect to a scheduler such as ``tcp://HOST:8786``, or start one for ``local``.

    ``workers`` is the number of processes of a local cluster (default: one per core). Raises
    `TcpsfError` if Dask is not installed or the scheduler does not answer.
    """
    try:
        distributed = import_module("distributed")
    except ModuleNotFoundError:
        raise TcpsfError(
            "cannot use Dask: the library `distributed` is not installed",
            hint="pip install tcpsf[dask]",
        ) from None
    # The pool reports errors itself. Dask's messages on lost connections are stack traces.
    for name in ("distributed", "asyncio", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    with contextlib.ExitStack() as stack:
        target: Any = address
        if address == LOCAL:
            target = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=workers, threads_per_worker=1, dashboard_address=None
                )
            )
        pool = DaskPool(target)
        stack.callback(pool.close)
        yield pool


def _connected(address: Any, timeout_s: float) -> Any:
    distributed = import_module("distributed")
    began = time.monotonic()
    while True:
        try:
            return distributed.Client(address, timeout=timeout_s, set_as_default=False)
        except ValueError as error:
            raise TcpsfError(
                f"cannot connect to Dask at `{address}`: {error}",
                hint="give an address such as `tcp://HOST:8786`, or `local`",
            ) from None
        except Exception as error:  # noqa: BLE001 (Dask has many classes for failed connections)
            if time.monotonic() - began > timeout_s:
                raise _lost(address, error) from None
            time.sleep(POLL_S)


def _lost(address: Any, error: Exception) -> TcpsfError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return TcpsfError(
        f"cannot connect to Dask at `{address}`: {reason[:200]}",
        hint="start a scheduler with `dask scheduler` and give its address, or `local`",
    )
