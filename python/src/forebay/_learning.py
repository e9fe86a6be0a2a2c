"""What the learning environments have in common: their spaces, and what numbers mean."""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium
import numpy as np

from ._native import Learners
from .errors import ActionError

# An action of "multiplier" is the logarithm to base 2 of the factor; that of "window" is in
# segments, that of "rate" in Mbit/s.
_BOUNDS = {"multiplier": (-1.0, 1.0), "window": (1.0, 10_000.0), "rate": (0.01, 10_000.0)}


def action_space(action: str) -> gymnasium.spaces.Box:
    if action not in _BOUNDS:
        names = ", ".join(f'"{name}"' for name in _BOUNDS)
        raise ValueError(f'action: expected one of {names}, found "{action}"')
    low, high = _BOUNDS[action]
    return gymnasium.spaces.Box(low, high, shape=(1,), dtype=np.float32)


def observation_space() -> gymnasium.spaces.Box:
    return gymnasium.spaces.Box(0.0, np.inf, shape=(Learners.NUMBERS,), dtype=np.float32)


def native_actions(action: str, actions: np.ndarray, of: Sequence[str]) -> list[float]:
    """What the simulation takes: a factor, segments, or bit/s, for each that `of` names."""
    try:
        values = np.asarray(actions, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ActionError(f"expected numbers as actions, found {actions!r}") from error
    if values.size != len(of):
        raise ActionError(f"expected {len(of)} actions, found {values.size}")
    values = values.reshape(len(of))
    # In the type of the space, whose bounds have no exact value in it.
    low, high = (float(np.float32(bound)) for bound in _BOUNDS[action])
    wrong = ~((values >= low) & (values <= high))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ActionError(
            f"the action of {of[first]}: expected {low:g} to {high:g}, found {values[first]}"
        )
    if action == "multiplier":
        values = np.exp2(values)
    elif action == "rate":
        values = values * 1e6
    return [float(value) for value in values]


def rows_of(raw: bytes) -> np.ndarray:
    """Observations, one in a row."""
    return np.frombuffer(raw, dtype=np.float32).reshape(-1, Learners.NUMBERS).copy()
