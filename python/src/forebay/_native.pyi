"""The native half of Forebay."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, final

__version__: str

def run(
    scenario: str | PathLike[str] | Mapping[str, Any],
    *,
    protocols: str | Sequence[str] | None = None,
    seeds: int | Iterable[int] | None = None,
    set: Mapping[str, Any] | None = None,
    controllers: Mapping[str, type] | None = None,
    baseline: str | None = None,
    jobs: int | None = None,
    threads: int = 1,
    out: str | PathLike[str] | None = None,
    series: bool = True,
) -> Result:
    """Run a scenario under each protocol with each seed.

    scenario: the name of a built-in scenario, a path, or a dict with the keys of a scenario file.
    protocols: what to compare, in place of what the scenario names.
    seeds: how many, from 1; or the seeds themselves. One by default.
    set: changes of the scenario by key, as `--set` of the command: `{"tcp.min_rto": "200ms"}`.
    controllers: classes by the name that they have in this call, besides the built-in ones.
    baseline: the protocol whose values are subtracted in paired differences; the first by default.
    jobs: runs at the same time; by default one for each core. With `controllers` it is one.
    threads: threads in each run.
    out: a folder for the results, as `--out` of the command. It must be new or empty.
    series: keep time series, for `Result.series` and the plots over time. Without them a run of
        many flows is faster and takes less memory.

    Raises ScenarioError, RunError, MemoryNeeded, ResultsError; what a controller raises; and
    KeyboardInterrupt within 0.1 s of Ctrl-C. The interpreter is free for other threads meanwhile.
    """

def run_swept_point(point: str, controllers: Mapping[str, type] | None = None) -> str:
    """The rows of a point, both as JSON."""

@final
class Sweep:
    """The points of a sweep. `forebay.sweep` is its interface."""

    def __init__(
        self,
        scenario: str | PathLike[str] | Mapping[str, Any],
        grid: dict[str, Sequence[Any] | str],
        together: dict[str, Sequence[Any]],
        points: list[tuple[str | None, dict[str, Any]]],
        *,
        protocols: str | Sequence[str] | None = None,
        seeds: int | Iterable[int] | None = None,
        set: Mapping[str, Any] | None = None,
        controllers: Mapping[str, type] | None = None,
        jobs: int | None = None,
        yes: bool = False,
    ) -> None: ...
    def __len__(self) -> int: ...
    def point(self, number: int) -> str: ...
    def lost(self, number: int, why: str) -> str: ...
    def here(self) -> Table: ...
    def table(self, points: list[str]) -> Table: ...

@final
class Table:
    """A table. pandas, polars, pyarrow and duckdb take it without a copy:

    `polars.DataFrame(table)`, `pyarrow.table(table)`, `pandas.DataFrame.from_arrow(table)`.
    """

    @property
    def column_names(self) -> list[str]: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def num_columns(self) -> int: ...
    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> list[Any]:
        """The values of a column; None where there is none."""
    def to_pydict(self) -> dict[str, list[Any]]:
        """All columns by name."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def _repr_html_(self) -> str: ...

@final
class Result:
    """What a call of `run` gave. As an Arrow table it is `runs`. In a notebook it is the report."""

    @property
    def scenario(self) -> str:
        """Name of the scenario; `<dict>` if it was one."""
    @property
    def protocols(self) -> list[str]:
        """The protocols, in their order."""
    @property
    def notes(self) -> list[str]:
        """Notes for readers of the results."""
    @property
    def folder(self) -> Path | None:
        """The folder that `out` named."""
    @property
    def runs(self) -> Table:
        """A row for each run: protocol, seed, hash, costs, and every metric that is one number,
        with `drops_REASON` and `reference_NAME`. Units are in the names."""
    @property
    def means(self) -> Table:
        """A row for each number of each protocol: mean over seeds and 95 % confidence interval."""
    @property
    def flows(self) -> Table:
        """A row for each flow of each run: the columns of `flows.parquet`."""
    @property
    def delays(self) -> Table:
        """The distribution of one-way delays: the columns of `delays.parquet`."""
    @property
    def series(self) -> Table:
        """Time series: the columns of `series.parquet`. ResultsError if none were kept."""
    def to_json(self) -> str:
        """What `forebay run --json` prints."""
    def to_dict(self) -> dict[str, Any]:
        """The same, read."""
    def report(self) -> str:
        """The page `report.html`: table, plots, and a script that draws them."""
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def _repr_html_(self) -> str: ...

@final
class Init:
    """What the constructor of a controller is given."""

    @property
    def mss_bytes(self) -> int:
        """Largest payload of a packet."""
    @property
    def initial_window_bytes(self) -> int:
        """Initial window (RFC 6928: 10 segments)."""
    @property
    def initial_ssthresh_bytes(self) -> int | None:
        """Initial slow start threshold; None if there is none."""
    @property
    def paced(self) -> bool:
        """True if the transport paces windows."""
    @property
    def seed(self) -> int:
        """Seed of the controller's own random numbers, the same whenever the run is repeated."""

@final
class Ack:
    """What an ACK says."""

    @property
    def acked_bytes(self) -> int:
        """Bytes newly acknowledged by the cumulative ACK."""
    @property
    def delivered_bytes(self) -> int:
        """Bytes newly known to have arrived, by cumulative ACK or SACK."""
    @property
    def total_delivered_bytes(self) -> int:
        """Bytes delivered on the path so far."""
    @property
    def in_flight_bytes(self) -> int:
        """Bytes in flight after this ACK."""
    @property
    def prior_in_flight_bytes(self) -> int:
        """Bytes in flight before it."""
    @property
    def snd_una(self) -> int:
        """Everything below this offset is acknowledged."""
    @property
    def snd_nxt(self) -> int:
        """The next offset to be sent for the first time: with `snd_una` it delimits rounds."""
    @property
    def rtt_s(self) -> float | None:
        """RTT sample of this ACK, in seconds; None where a retransmission makes it ambiguous."""
    @property
    def srtt_s(self) -> float | None:
        """Smoothed RTT (RFC 6298), in seconds."""
    @property
    def min_rtt_s(self) -> float | None:
        """Smallest RTT sample so far, in seconds."""
    @property
    def delivery_rate_bps(self) -> float | None:
        """Delivery rate over the flight of the newest packet that this ACK delivered, in bit/s."""
    @property
    def app_limited(self) -> bool:
        """True if the sender had nothing to send at some time in that flight."""
    @property
    def cwnd_limited(self) -> bool:
        """True if the window limited sending: growth is due."""
    @property
    def in_recovery(self) -> bool:
        """True in loss recovery."""
    @property
    def duplicate(self) -> bool:
        """True for a duplicate ACK."""
    @property
    def ecn_echo(self) -> bool:
        """True if it echoes a congestion mark."""

@final
class Loss:
    """Congestion, or a timeout."""

    @property
    def cause(self) -> str:
        """"loss", "lost_retransmission", "ecn" or "timeout"."""
    @property
    def flight_size_bytes(self) -> int:
        """Bytes sent and not acknowledged."""
    @property
    def first(self) -> bool:
        """Of a timeout: True if ssthresh is to be reduced (RFC 5681 section 3.1)."""

@final
class Learners:
    """Copies of an environment. `forebay.gym` is its interface."""

    NUMBERS: int
    def __init__(
        self,
        scenario: str | PathLike[str] | Mapping[str, Any],
        *,
        set: Mapping[str, Any] | None = None,
        action: str = "multiplier",
        interval_s: float = 0.03,
        duration_s: float = 30.0,
        copies: int = 1,
        threads: int | None = None,
    ) -> None: ...
    def reset(
        self, seeds: Sequence[int | None]
    ) -> tuple[bytes, list[bool], list[bool], list[float]]: ...
    def step(
        self, actions: Sequence[float], seeds: Sequence[int | None]
    ) -> tuple[bytes, list[bool], list[bool], list[float]]: ...

@final
class LearnerNetwork:
    """Several flows that learn in one network. `forebay.parallel` is its interface."""

    @property
    def flows(self) -> list[int]:
        """The flows that learn, by their number in results."""
    def __init__(
        self,
        scenario: str | PathLike[str] | Mapping[str, Any],
        *,
        set: Mapping[str, Any] | None = None,
        action: str = "multiplier",
        interval_s: float = 0.04,
        duration_s: float = 30.0,
    ) -> None: ...
    def reset(self, seed: int) -> tuple[bytes, list[bool], list[bool], bool, float]: ...
    def step(
        self, actions: Sequence[float | None]
    ) -> tuple[bytes, list[bool], list[bool], bool, float]: ...
