"""`forebay.sweep`: a scenario at many points, here or in the processes of an executor."""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from os import PathLike
from typing import Any

from ._native import Sweep, Table, run_swept_point

AT_ONCE = 256
"""Points that an executor holds at a time."""


def _run(point: str, controllers: Mapping[str, type] | None, attempt: int) -> str:
    """The rows of a point. `attempt` tells calls apart for executors that remember results."""
    return run_swept_point(point, controllers)


def sweep(
    scenario: str | PathLike[str] | Mapping[str, Any],
    grid: Mapping[str, Sequence[Any] | str] | None = None,
    *,
    together: Mapping[str, Sequence[Any]] | None = None,
    points: Iterable[Mapping[str, Any] | tuple[str, Mapping[str, Any]]] | None = None,
    protocols: str | Sequence[str] | None = None,
    seeds: int | Iterable[int] | None = None,
    set: Mapping[str, Any] | None = None,
    controllers: Mapping[str, type] | None = None,
    executor: Any = None,
    jobs: int | None = None,
    retries: int = 2,
    yes: bool = False,
) -> Table:
    """Run a scenario at many points: a table with a row for each point, protocol and seed.

    grid: keys with their values, or with a range such as "10ms..1s log 9": every value of one key
    with every value of the others.
    together: keys whose values change together.
    points: points one by one, as changes, or as a name and changes.
    What the scenario says under [[sweep]] is swept, too. The columns of the keys come after those
    of point, point_name, run_protocol and seed. A run that fails is a row with its `error`.

    executor: anything with `submit`, such as a concurrent.futures executor, a
    dask.distributed.Client or an mpi4py.futures executor; or a function that makes one, which is
    called again if its executor breaks. A point goes to it as JSON, and comes back as rows. Without
    one, `jobs` runs go on in threads of this process.
    retries: how often a point is submitted again whose worker was lost. Then its rows have that as
    their error.
    yes: begin sweeps of more than 100 000 runs, which are refused with what they would take.

    The other arguments are those of `run`.
    """
    named = [(None, of) if isinstance(of, Mapping) else of for of in points or ()]
    plan = Sweep(
        scenario,
        dict(grid or {}),
        dict(together or {}),
        [(name, dict(changes)) for name, changes in named],
        protocols=protocols,
        seeds=seeds,
        set=set,
        controllers=controllers,
        # Their interpreter runs one at a time.
        jobs=1 if controllers and executor is None else jobs,
        yes=yes,
    )
    if executor is not None:
        return plan.table(_Submitted(plan, controllers, executor, retries).rows())
    if controllers:
        # What one raises is the error of its run.
        everything = range(len(plan))
        return plan.table([run_swept_point(plan.point(i), controllers) for i in everything])
    return plan.here()


class _Submitted:
    """Points of a sweep in an executor."""

    def __init__(
        self,
        plan: Sweep,
        controllers: Mapping[str, type] | None,
        executor: Any,
        retries: int,
    ) -> None:
        self.plan, self.controllers, self.retries = plan, controllers, retries
        self.make: Callable[[], Any] | None = None
        if not hasattr(executor, "submit"):
            self.make, executor = executor, executor()
        self.executor = executor
        self.waiting = deque(range(len(plan)))
        # Points of which one broke an executor: each runs alone, so that it breaks no others again.
        self.suspects: deque[int] = deque()
        self.attempts = [0] * len(plan)
        self.pending: dict[Any, int] = {}
        self.done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.found: list[str | None] = [None] * len(plan)

    def rows(self) -> list[str]:
        """The rows of each point, as JSON, in their order."""
        try:
            while self.waiting or self.suspects or self.pending:
                self._submit()
                if self.pending:
                    self._take(self.done.get())
        except BaseException:
            if self.make is not None:
                _end_workers(self.executor)
            raise
        finally:
            for future in self.pending:
                future.cancel()
            if self.make is not None:
                self.executor.shutdown(wait=False, cancel_futures=True)
        return [rows for rows in self.found if rows is not None]

    def _submit(self) -> None:
        while True:
            if self.suspects and not self.pending:
                point = self.suspects.popleft()
            elif self.waiting and not self.suspects and len(self.pending) < AT_ONCE:
                point = self.waiting.popleft()
            else:
                return
            task = self.plan.point(point)
            try:
                future = self.executor.submit(_run, task, self.controllers, self.attempts[point])
            except BrokenExecutor as why:
                self._lost(point, why)
                continue
            self.pending[future] = point
            future.add_done_callback(self.done.put)

    def _take(self, future: Any) -> None:
        point = self.pending.pop(future, None)
        if point is None:
            # Of an executor that broke: its point is submitted already.
            return
        try:
            self.found[point] = future.result()
        except Exception as why:
            self._lost(point, why)

    def _lost(self, point: int, why: Exception) -> None:
        if isinstance(why, BrokenExecutor) and self.make is not None:
            self.executor.shutdown(wait=False)
            self.executor = self.make()
            others, self.pending = list(self.pending.values()), {}
            if others:
                self.suspects.extend([point, *others])
                return
        self._again(point, why)

    def _again(self, point: int, why: Exception) -> None:
        self.attempts[point] += 1
        if self.attempts[point] <= self.retries:
            (self.suspects if isinstance(why, BrokenExecutor) else self.waiting).append(point)
        else:
            text = f"lost after {self.attempts[point]} attempts: {type(why).__name__}: {why}"
            self.found[point] = self.plan.lost(point, text)


def _end_workers(executor: Any) -> None:
    """End the processes of an executor: nobody waits for the points in progress."""
    if hasattr(executor, "terminate_workers"):  # from Python 3.14 on
        executor.terminate_workers()
        return
    for process in list((getattr(executor, "_processes", None) or {}).values()):
        process.terminate()
