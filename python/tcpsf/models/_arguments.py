"""Arguments of the models: conversion to arrays, and checks.

An error names the argument and its value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tcpsf.errors import ModelError, nearest

Values: TypeAlias = npt.ArrayLike
"""A number, or an array of them."""
Array: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Taking:
    """Conversion and checks of the arguments of one function, which ``operation`` names."""

    operation: str

    def number(
        self,
        name: str,
        value: Values,
        *,
        above: float = -np.inf,
        least: float = -np.inf,
        below: float = np.inf,
        most: float = np.inf,
    ) -> Array:
        """Return an argument as an array, with all values in a range.

        The bounds ``least`` and ``most`` are allowed values, ``above`` and ``below`` are not.
        Raises `ModelError` for other values.

        >>> Taking("x").number("loss", [0.1, 0.7], least=0, below=0.5)
        Traceback (most recent call last):
        tcpsf.errors.ModelError: cannot compute x: `loss` is 0.7
        """
        try:
            found = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ModelError(
                f"cannot compute {self.operation}: `{name}` is {_short(value)}",
                hint="expected a number or an array",
            ) from None
        if found.size == 0:
            raise ModelError(
                f"cannot compute {self.operation}: `{name}` is empty",
                hint="give at least one value",
            )
        good = (
            np.isfinite(found)
            & (found > above)
            & (found >= least)
            & (found < below)
            & (found <= most)
        )
        if not good.all():
            wrong = found[~good].flat[0]
            raise ModelError(
                f"cannot compute {self.operation}: `{name}` is {wrong:g}",
                hint=_allowed(name, above=above, least=least, below=below, most=most),
            )
        return found

    def positive(self, name: str, value: Values) -> Array:
        """Return numbers above 0."""
        return self.number(name, value, above=0.0)

    def not_negative(self, name: str, value: Values) -> Array:
        """Return numbers of at least 0."""
        return self.number(name, value, least=0.0)

    def probability(self, name: str, value: Values, *, below: float = 1.0) -> Array:
        """Return probabilities of at least 0 and below ``below``."""
        return self.number(name, value, least=0.0, below=below)

    def whole(self, name: str, value: int, *, least: int, most: int) -> int:
        """Return one integer in a range."""
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, np.integer))
            or not least <= value <= most
        ):
            raise ModelError(
                f"cannot compute {self.operation}: `{name}` is {_short(value)}",
                hint=f"`{name}` must be an integer from {least} to {most}",
            )
        return int(value)

    def choice(self, name: str, value: str, known: tuple[str, ...]) -> str:
        """Return one of the known names."""
        if value not in known:
            near = nearest(str(value), list(known))
            listed = ", ".join(f"`{each}`" for each in known)
            raise ModelError(
                f"cannot compute {self.operation}: `{name}` is {_short(value)}",
                hint=f"did you mean `{near}`?" if near else f"expected one of {listed}",
            )
        return value

    def together(self, **arrays: Array) -> None:
        """Raise `ModelError` for arrays whose shapes do not broadcast."""
        try:
            np.broadcast_shapes(*(array.shape for array in arrays.values()))
        except ValueError:
            shapes = ", ".join(
                f"`{name}` has {array.shape}" for name, array in arrays.items() if array.ndim
            )
            raise ModelError(
                f"cannot compute {self.operation}: shapes do not broadcast: {shapes}",
                hint="give arrays of equal shapes, or of shapes that NumPy broadcasts",
            ) from None


def _allowed(name: str, *, above: float, least: float, below: float, most: float) -> str:
    low = (
        f"above {above:g}"
        if np.isfinite(above)
        else f"at least {least:g}"
        if np.isfinite(least)
        else "finite"
    )
    high = (
        f", below {below:g}"
        if np.isfinite(below)
        else f", at most {most:g}"
        if np.isfinite(most)
        else ""
    )
    return f"`{name}` must be {low}{high}"


def _short(value: object) -> str:
    text = repr(value) if not isinstance(value, str) else f"`{value}`"
    return text if len(text) <= 60 else f"{text[:57]}…"
