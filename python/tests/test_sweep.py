"""Sweeps, here and in processes that may be lost."""

import os
import signal
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import forebay

SHORT = {"until_s": 3, "measure_from_s": 1}
GRID = {
    "links.bottleneck.rate": ["5Mbit/s", "10Mbit/s", "20Mbit/s"],
    "tcp.initial_window_segments": [4, 10],
}
TIMES = {"wall_s", "cpu_s"}


def swept(**arguments):
    arguments.setdefault("grid", GRID)
    return forebay.sweep("duel", protocols="newreno,cubic", seeds=2, set=SHORT, **arguments)


def same(one, other):
    columns = [name for name in one.column_names if name not in TIMES]
    assert one.column_names == other.column_names
    assert {name: one[name] for name in columns} == {name: other[name] for name in columns}


@pytest.fixture(scope="module")
def here():
    return swept()


def test_every_point_protocol_and_seed_is_a_row(here):
    assert len(here) == 3 * 2 * 2 * 2
    assert sorted(set(here["point"])) == list(range(6))
    assert here["links.bottleneck.rate"][0] == 5e6
    assert set(here["tcp.initial_window_segments"]) == {4, 10}
    assert here["error"] == [None] * 24
    # More rate, more goodput, under either protocol and seed.
    rows = zip(here["links.bottleneck.rate"], here["goodput_bps"])
    assert all(0.8 * rate < goodput < rate for rate, goodput in rows)


def test_a_row_has_the_hash_of_the_run(here):
    changes = {**SHORT, "links.bottleneck.rate": "20Mbit/s", "tcp.initial_window_segments": 10}
    alone = forebay.run("duel", protocols="cubic", seeds=[2], set=changes, series=False)
    assert here["trace_hash"][-1] == alone.runs["trace_hash"][0]
    assert (here["run_protocol"][-1], here["seed"][-1]) == ("cubic", 2)


@pytest.mark.parametrize("jobs", [1, 3])
def test_rows_do_not_depend_on_jobs(here, jobs):
    same(here, swept(jobs=jobs))


def test_points_and_keys_that_change_together():
    table = forebay.sweep(
        "duel",
        together={"until_s": [2, 3], "measure_from_s": [1, 2]},
        points=[("thin", {"links.bottleneck.rate": "1Mbit/s"}), {"tcp.initial_window_segments": 4}],
        protocols="cubic",
    )
    assert table["point_name"] == ["thin", None, "thin", None]
    assert table["until_s"] == [2, 2, 3, 3]
    assert table["tcp.initial_window_segments"] == [None, 4, None, 4]


def test_ranges_are_those_of_the_command():
    table = swept(grid={"links.bottleneck.delay": "10ms..40ms log 3"}, together=None)
    delays = sorted(set(table["links.bottleneck.delay"]))
    assert delays == pytest.approx([0.01, 0.02, 0.04])


@pytest.mark.parametrize("make", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_gives_the_same_table(here, make):
    with make(2) as executor:
        same(here, swept(executor=executor))


def test_paths_of_a_scenario_hold_in_other_folders(tmp_path, monkeypatch):
    trace = tmp_path / "link.trace"
    trace.write_text("\n".join(str(ms) for ms in range(1, 100)))
    scenario = tmp_path / "traced.toml"
    scenario.write_text(
        """
        until_s = 1
        protocols = ["cubic"]
        routers = ["r"]
        hosts = [{ name = "a" }, { name = "b" }]
        links = [
          { a = "a", b = "r", rate = "10Mbit/s", delay = "1ms", queue = "50packets" },
          { a = "r", b = "b", trace = "link.trace", delay = "1ms", queue = "50packets" },
        ]
        flows = [{ src = "a", dst = "b", endless = true }]
        """
    )
    monkeypatch.chdir(tmp_path.parent)
    named = scenario.relative_to(tmp_path.parent)
    with ProcessPoolExecutor(1, initializer=os.chdir, initargs=("/",)) as executor:
        table = forebay.sweep(named, {"tcp.initial_window_segments": [4, 10]}, executor=executor)
    assert table["error"] == [None, None]
    same(table, forebay.sweep(named, {"tcp.initial_window_segments": [4, 10]}))


class Dies(Exception):
    """A worker that is gone."""


class Unsteady:
    """An executor that loses points."""

    def __init__(self, losses):
        self.losses, self.submitted, self.numbers = losses, [], {}

    def submit(self, call, point, *arguments):
        future = Future()
        number = self.numbers.setdefault(point, len(self.numbers))
        attempt = self.submitted.count(point)
        self.submitted.append(point)
        if attempt < self.losses.get(number, 0):
            future.set_exception(Dies("gone"))
        else:
            future.set_result(call(point, *arguments))
        return future


def test_lost_points_are_submitted_again_and_not_for_ever(here):
    executor = Unsteady({1: 2, 4: 1})
    same(here, swept(executor=executor))
    assert len(executor.submitted) == 6 + 3
    executor = Unsteady({3: 99})
    table = swept(executor=executor)
    assert len(executor.submitted) == 6 + 2
    lost = [why for why in table["error"] if why is not None]
    assert lost == ["lost after 3 attempts: Dies: gone"] * 4
    assert [point for point, why in zip(table["point"], table["error"]) if why] == [3] * 4


def die_once(flag):
    """In a worker: the first process that comes here kills itself in the middle of its work."""
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    signal.setitimer(signal.ITIMER_REAL, 0.01)


def test_a_pool_whose_worker_is_killed_is_made_again(here, tmp_path):
    made = []

    def make():
        made.append(1)
        flag = str(tmp_path / "died")
        return ProcessPoolExecutor(2, initializer=die_once, initargs=(flag,))

    same(here, swept(executor=make))
    assert len(made) == 2


def test_a_dask_cluster_that_loses_a_worker_gives_the_whole_table(here):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster, distributed.Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))
        killed = []

        class Killing:
            """Kills a worker once half of the points are submitted."""

            def submit(self, *arguments):
                future = client.submit(*arguments)
                killed.append(1)
                if len(killed) == 3:
                    os.kill(victim, signal.SIGKILL)
                return future

        same(here, swept(executor=Killing()))
        assert len(killed) >= 6


class Raises:
    def __init__(self, init):
        self.cwnd = 20_000

    def on_ack(self, now_s, ack):
        if now_s > 1:
            raise KeyError("on purpose")

    def on_loss(self, now_s, loss):
        pass


@pytest.mark.parametrize("pool", [False, True])
def test_what_a_controller_raises_is_the_error_of_its_row(pool):
    executor = ProcessPoolExecutor(1) if pool else None
    table = forebay.sweep(
        "duel",
        {"tcp.initial_window_segments": [4, 10]},
        protocols=["raises", "cubic"],
        set=SHORT,
        controllers={"raises": Raises},
        executor=executor,
    )
    if executor is not None:
        executor.shutdown()
    assert table["run_protocol"] == ["raises", "cubic"] * 2
    errors = table["error"]
    assert errors[1] is None and errors[3] is None
    assert errors[0].endswith("KeyError: 'on purpose'") and "in on_ack" in errors[0]
    assert table["goodput_bps"][0] is None and table["goodput_bps"][1] > 0


def test_a_point_that_fails_is_a_row():
    mtus = {"links.bottleneck.mtu_bytes": [1500, 100]}
    table = forebay.sweep("duel", mtus, set=SHORT, protocols="cubic")
    assert table["error"][0] is None
    assert table["error"][1] is not None and table["goodput_bps"][1] is None


def test_bad_sweeps_are_refused():
    with pytest.raises(forebay.ScenarioError) as unknown:
        forebay.sweep("duel", {"links.bottleneck.rates": ["1Mbit/s"]})
    assert "rate" in str(unknown.value)
    with pytest.raises(forebay.ScenarioError):
        forebay.sweep("duel", {"until_s": ["soon"]})
    with pytest.raises(ValueError, match="nothing is swept"):
        forebay.sweep("duel", {})
    with pytest.raises(ValueError) as many:
        forebay.sweep("duel", {"until_s": list(range(1, 11))}, seeds=[1], protocols="cubic",
                      points=[{"measure_from_s": i * 1e-6} for i in range(1000)],
                      together={"start_jitter": [f"{i}us" for i in range(1000)]})
    # The sentence of the command, with the hint of Python.
    text = str(many.value)
    assert text.startswith("10000000 points x 1 protocols x 1 seeds are 10000000 runs: about ")
    assert " at a time, a table of about 3.0 GB and 12.0 GB on the way to it\n" in text
    assert text.endswith("hint: yes=True begins all the same")
    with pytest.raises(ValueError, match="jobs"):
        forebay.sweep("duel", {"until_s": [20]}, jobs=0)


def test_ctrl_c_ends_a_sweep():
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        begun = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            forebay.sweep("duel", {"until_s": [1e6, 2e6]})
        assert time.perf_counter() - begun < 2
    finally:
        signal.signal(signal.SIGALRM, before)


def test_ctrl_c_ends_the_processes_of_a_pool_that_the_sweep_made():
    pools, workers = [], []

    def make():
        pools.append(ProcessPoolExecutor(2))
        return pools[-1]

    def interrupt(*_):
        workers.extend(pools[0]._processes.values())
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        with pytest.raises(KeyboardInterrupt):
            # Minutes of work in each point.
            forebay.sweep("s2", {"until_s": [3000, 3001]}, executor=make)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(workers) == 2
    # The pool waits for them, too: which of the two learns of the end first is open.
    deadline = time.monotonic() + 60
    while any(worker.is_alive() for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(worker.is_alive() for worker in workers)
