"""Runs, their results as tables, and bad input."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import forebay



def dumbbell(**arguments):
    """A short run of the built-in scenario."""
    return forebay.run("dumbbell", set={"until_s": 1.0}, **arguments)


@pytest.fixture(scope="module")
def result():
    return dumbbell(protocols=["newreno", "cubic"], seeds=2)


def test_a_run_is_a_row_and_has_the_hash_of_the_command(result):
    assert len(result) == 4
    runs = result.runs.to_pydict()
    assert runs["protocol"] == ["newreno", "newreno", "cubic", "cubic"]
    assert runs["seed"] == [1, 2, 1, 2]
    summary = result.to_dict()
    assert runs["trace_hash"] == [run["trace_hash"] for run in summary["runs"]]
    assert runs["goodput_bps"] == [run["metrics"]["goodput_bps"] for run in summary["runs"]]


def test_repeated_runs_are_equal(result):
    again = dumbbell(protocols=["newreno", "cubic"], seeds=[1, 2], series=False)
    assert again.runs["trace_hash"] == result.runs["trace_hash"]


def test_libraries_take_tables(result):
    duckdb = pytest.importorskip("duckdb")
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    expected = result.runs["goodput_bps"]
    table = pyarrow.table(result.runs)
    assert table.column("goodput_bps").to_pylist() == expected
    assert polars.DataFrame(result.runs)["goodput_bps"].to_list() == expected
    assert pandas.DataFrame.from_arrow(result.runs)["goodput_bps"].to_list() == expected
    # The result itself is its table of runs.
    assert pyarrow.table(result).equals(table)
    runs = table  # noqa: F841: the query names it
    mean = duckdb.sql("select avg(goodput_bps) from runs where protocol = 'cubic'").fetchall()
    assert mean[0][0] == pytest.approx(sum(expected[2:]) / 2)


def test_tables_are_not_copied(result):
    pyarrow = pytest.importorskip("pyarrow")
    runs = result.runs
    addresses = [
        pyarrow.table(runs).column("goodput_bps").chunk(0).buffers()[1].address for _ in range(2)
    ]
    assert addresses[0] == addresses[1]


def test_every_table_has_its_columns(result):
    assert {"protocol", "metric", "mean", "ci95_low", "ci95_high", "n"} <= set(
        result.means.column_names
    )
    assert result.flows.column_names[:3] == ["run_protocol", "seed", "id"]
    assert result.delays.column_names[2:] == ["class", "from_ms", "to_ms", "packets"]
    series = result.series
    assert series.num_rows > 100
    assert set(series["run_protocol"]) == {"newreno", "cubic"}
    assert all(number > 0 for number in result.delays["packets"])
    pyarrow = pytest.importorskip("pyarrow")
    for table in (result.means, result.flows, result.delays, series):
        assert pyarrow.table(table).num_rows == table.num_rows
        assert pyarrow.table(table).to_pydict() == table.to_pydict()


def test_a_notebook_shows_the_report(result):
    html = result._repr_html_()
    assert html.startswith("<iframe srcdoc=")
    assert "CUBIC" in html and "uPlot" in html
    # Nothing ends the attribute early.
    assert html.count('"') == 6
    assert "CUBIC" in dumbbell(protocols="cubic", series=False).report()
    assert "<td>newreno</td>" in result.runs._repr_html_()


def test_results_of_a_run_without_series_say_so():
    with pytest.raises(forebay.ResultsError, match="series=True"):
        dumbbell(protocols="cubic", series=False).series


def test_a_folder_is_written_once(tmp_path):
    out = tmp_path / "results"
    assert dumbbell(protocols="cubic", out=out).folder == out
    assert (out / "report.html").is_file() and (out / "flows.parquet").is_file()
    with pytest.raises(forebay.ResultsError, match="holds results"):
        dumbbell(protocols="cubic", out=out)


def test_temporary_results_are_removed():
    folders = set(Path(os.environ.get("TMPDIR", "/tmp")).glob("forebay-*"))
    dumbbell(protocols="cubic")
    assert set(Path(os.environ.get("TMPDIR", "/tmp")).glob("forebay-*")) <= folders


TEXT = """
until_s = 1
protocols = ["cubic"]
routers = ["r"]
hosts = [{ name = "a" }, { name = "b" }]
links = [
  { a = "a", b = "r", rate = "10Mbit/s", delay = "1ms", queue = "50packets" },
  { a = "r", b = "b", rate = "1Mbit/s", delay = "1ms", queue = "50packets" },
]
flows = [{ src = "a", dst = "b", endless = true }]
[protocol.cubic]
beta = 0.6
"""


LINK = {"delay": "1ms", "queue": "50packets"}
PAIR = {
    "until_s": 1,
    "protocols": ("cubic",),
    "routers": ["r"],
    "hosts": [{"name": "a"}, {"name": "b"}],
    "links": [
        {"a": "a", "b": "r", "rate": "10Mbit/s", **LINK},
        {"a": "r", "b": "b", "rate": "1Mbit/s", **LINK},
    ],
    "flows": [{"src": "a", "dst": "b", "endless": True}],
    "protocol": {"cubic": {"beta": 0.6}},
}


def test_a_dict_is_a_scenario(tmp_path):
    path = tmp_path / "pair.toml"
    path.write_text(TEXT)
    ours, theirs = forebay.run(PAIR), forebay.run(path)
    assert (ours.scenario, theirs.scenario) == ("<dict>", str(path))
    assert ours.runs["trace_hash"] == theirs.runs["trace_hash"]


@pytest.mark.parametrize(
    "value, text",
    [
        ("soon", '"soon"'),
        ([1], "[1]"),
        (True, "true"),
        ({"a": 1}, "{ a = 1 }"),
        (float("nan"), "nan"),
    ],
)
def test_a_wrong_type_in_a_dict_has_the_message_of_a_file(tmp_path, value, text):
    path = tmp_path / "wrong.toml"
    path.write_text(TEXT.replace("until_s = 1", f"until_s = {text}"))
    with pytest.raises(forebay.ScenarioError) as of_file:
        forebay.run(path)
    with pytest.raises(forebay.ScenarioError) as of_dict:
        forebay.run({**PAIR, "until_s": value})
    ours, theirs = of_dict.value, of_file.value
    assert (ours.file, ours.key) == ("<dict>", "until_s")
    assert (ours.problem, ours.key, ours.hint) == (theirs.problem, theirs.key, theirs.hint)
    assert "expected" in ours.problem
    assert str(ours).startswith(f"<dict>:{ours.line}:{ours.column}: until_s: ")


def test_a_dict_that_holds_itself_is_refused():
    links = [*PAIR["links"]]
    links.append(links)
    with pytest.raises(forebay.ScenarioError, match="does one hold itself"):
        forebay.run({**PAIR, "links": links})
    itself = {}
    itself["x"] = itself
    with pytest.raises(forebay.ScenarioError, match="does one hold itself"):
        forebay.run(itself)


@pytest.mark.parametrize("value", [None, {1, 2}, object(), 1 << 70, {"x": {3: 4}}])
def test_what_no_file_can_hold_is_refused_with_its_key(value):
    with pytest.raises(forebay.ScenarioError) as refused:
        forebay.run({"links": [{"rate": value}]})
    assert refused.value.key.startswith("links[0].rate")
    assert refused.value.file == "<dict>"


def test_keys_that_are_no_strings_are_refused():
    with pytest.raises(forebay.ScenarioError) as refused:
        forebay.run({3: 4})
    assert str(refused.value) == "<dict>: expected keys that are strings, found 3"


def test_mistakes_keep_their_places_and_hints():
    with pytest.raises(forebay.ScenarioError) as of_key:
        forebay.run("dumbbell", set={"untils_s": 1})
    error = of_key.value
    assert (error.file, error.line, error.key) == ("--set", 1, None)
    assert error.problem == "unknown key `untils_s`"
    assert "until_s" in error.hint
    assert error.mistakes[0].hint == error.hint and error.more == 0
    with pytest.raises(forebay.ScenarioError) as of_name:
        forebay.run("dumbel")
    assert of_name.value.file is None and "dumbbell" in of_name.value.hint
    with pytest.raises(forebay.ScenarioError) as of_protocol:
        forebay.run("dumbbell", protocols=["cubik"])
    assert "cubic" in of_protocol.value.hint
    assert isinstance(of_key.value, ValueError)


@pytest.mark.parametrize("seeds", [0, -1, 10_001, [], [1, 1], [-1], ["a"], 1 << 80, True, "3", 1.5])
def test_bad_seeds_are_refused(seeds):
    with pytest.raises(ValueError, match="seeds: "):
        dumbbell(seeds=seeds)


def test_seeds_may_be_an_array():
    import numpy

    of_array, of_list = dumbbell(seeds=numpy.arange(1, 3)), dumbbell(seeds=[1, 2])
    assert of_array.runs["trace_hash"] == of_list.runs["trace_hash"]


def test_other_arguments_are_checked():
    with pytest.raises(ValueError, match="jobs"):
        dumbbell(jobs=0)
    with pytest.raises(ValueError, match="baseline: `bbr`"):
        dumbbell(protocols=["newreno", "cubic"], baseline="bbr")
    with pytest.raises(TypeError, match="expected a name, a path or a dict, found int"):
        forebay.run(3)


def test_what_does_not_fit_into_memory_is_refused():
    with pytest.raises(forebay.MemoryNeeded, match="of memory are needed"):
        forebay.run("dumbbell", set={"flows.0.count": 16_000_000})


def test_the_interpreter_is_free_during_a_run():
    ticks = []
    done = threading.Event()

    def count():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    forebay.run("duel", protocols="cubic", set={"until_s": 300}, series=False)
    done.set()
    thread.join()
    assert len(ticks) > 10


INTERRUPTED = """
import forebay, sys
print("begins", flush=True)
forebay.run("duel", protocols="cubic", set={"until_s": 1e6}, series=False)
"""


def test_ctrl_c_ends_a_run():
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline() == b"begins\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert b"KeyboardInterrupt" in errors
    assert process.returncode != 0


def test_ctrl_c_comes_back_within_a_tenth_of_a_second():
    raised = []

    def interrupt(*_):
        raised.append(time.perf_counter())
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    took = []
    try:
        for _ in range(3):
            sent = time.perf_counter() + 0.3
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(KeyboardInterrupt):
                forebay.run("duel", protocols="cubic", set={"until_s": 1e6}, series=False)
            took.append(time.perf_counter() - sent)
    finally:
        signal.signal(signal.SIGALRM, before)
    # The best of three: the machine may be busy.
    assert min(took) < 0.1, took
    # And the interpreter goes on.
    assert len(dumbbell(protocols="cubic", series=False)) == 1
