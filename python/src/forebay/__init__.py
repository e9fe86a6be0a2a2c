"""Forebay: congestion control in simulation.

    import forebay
    result = forebay.run("dumbbell", protocols=["newreno", "cubic"], seeds=8)
    result                  # in a notebook: the report
    result.means            # an Arrow table: pandas, polars, pyarrow and duckdb take it

Scenarios are those of the command `forebay`: a name, a file, or a dict with the same keys.
"""

from . import errors
from ._controller import Controller
from ._native import Ack, Init, Loss, Result, Table, __version__, run
from .errors import (
    ActionError,
    EpisodeOver,
    ForebayError,
    MemoryNeeded,
    Mistake,
    ResultsError,
    RunError,
    ScenarioError,
)
from ._sweep import sweep

__all__ = [
    "Ack",
    "ActionError",
    "Controller",
    "EpisodeOver",
    "ForebayError",
    "Init",
    "Loss",
    "MemoryNeeded",
    "Mistake",
    "Result",
    "ResultsError",
    "RunError",
    "ScenarioError",
    "Table",
    "__version__",
    "errors",
    "run",
    "sweep",
]
