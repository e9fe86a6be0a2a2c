"""Controllers that are classes of Python."""

import pytest

import forebay


class Aimd(forebay.Controller):
    """Adds a segments a round trip, keeps the share b on congestion."""

    params = {"add": 1.0, "keep": 0.5}

    def __init__(self, init, add, keep):
        super().__init__(init)
        self.add, self.keep = add, keep
        self.ssthresh = init.initial_ssthresh_bytes or float("inf")

    def on_ack(self, now_s, ack):
        if not ack.cwnd_limited or ack.in_recovery:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd += ack.acked_bytes
        else:
            self.cwnd += self.add * self.mss_bytes * ack.acked_bytes / self.cwnd

    def on_loss(self, now_s, loss):
        self.cwnd = self.ssthresh = max(self.keep * self.cwnd, 2 * self.mss_bytes)

    def on_timeout(self, now_s, loss):
        if loss.first:
            self.ssthresh = max(self.keep * self.cwnd, 2 * self.mss_bytes)
        self.cwnd = self.mss_bytes


class Plain:
    """Derives from nothing."""

    def __init__(self, init):
        self.cwnd = 50_000

    def on_ack(self, now_s, ack):
        pass

    def on_loss(self, now_s, loss):
        pass


class Paced(Plain):
    def __init__(self, init):
        self.cwnd = 1e9
        self.pacing_rate = 2e6
        self.owns_recovery = True


def duel(controllers, protocols, **arguments):
    arguments.setdefault("set", {"until_s": 15, "measure_from_s": 5})
    return forebay.run("duel", protocols=protocols, controllers=controllers, **arguments)


def test_a_class_runs_beside_built_in_controllers():
    result = duel({"aimd": Aimd}, ["aimd", "newreno"], series=False)
    runs = result.runs.to_pydict()
    assert runs["protocol"] == ["aimd", "newreno"]
    # AIMD(1, 1/2) is NewReno: the same share of the link beside CUBIC, within a tenth of it.
    goodput = runs["goodput_bps"]
    assert goodput[0] == pytest.approx(goodput[1], rel=0.1)
    flows = result.flows.to_pydict()
    own = [(run, flow) for run, flow in zip(flows["run_protocol"], flows["protocol"])]
    assert ("aimd", "aimd") in own and ("aimd", "cubic") in own


def test_runs_with_a_class_are_repeated_exactly():
    first, again = (duel({"aimd": Aimd}, "aimd", series=False) for _ in range(2))
    assert first.runs["trace_hash"] == again.runs["trace_hash"]


def test_an_object_is_made_for_each_end_of_a_flow_and_no_more():
    made = []

    class Counted(Plain):
        def __init__(self, init):
            super().__init__(init)
            made.append(init)

    result = duel({"counted": Counted}, "counted", series=False)
    own = result.flows.to_pydict()["protocol"].count("counted")
    assert own > 0 and len(made) == 2 * own


def test_parameters_are_given_in_scenarios():
    def hashes(changes):
        changes = {"until_s": 5, "measure_from_s": 1, **changes}
        result = duel({"aimd": Aimd}, "aimd", set=changes, series=False)
        return result.runs["trace_hash"]

    assert hashes({}) == hashes({"protocol.aimd.keep": 0.5})
    assert hashes({}) != hashes({"protocol.aimd.keep": 0.9})
    # An integer stands for a number.
    assert hashes({"protocol.aimd.add": 2}) == hashes({"protocol.aimd.add": 2.0})
    with pytest.raises(forebay.ScenarioError) as unknown:
        hashes({"protocol.aimd.kept": 0.9})
    assert "keep" in unknown.value.hint
    with pytest.raises(forebay.ScenarioError) as wrong:
        hashes({"protocol.aimd.keep": "much"})
    assert wrong.value.key == "protocol.aimd.keep"


def test_a_class_needs_no_base():
    runs = duel({"plain": Plain}, "plain", series=False).runs
    assert runs["goodput_bps"][0] > 0


def test_a_pacing_rate_holds():
    quiet = {"until_s": 10, "measure_from_s": 2, "flows.1.start": "9.5s"}
    flows = duel({"paced": Paced}, "paced", set=quiet, series=False).flows.to_pydict()
    goodput = flows["goodput_bps"][flows["protocol"].index("paced")]
    # The rate counts headers of 40 to 52 bytes in packets of 1500.
    assert 1.9e6 < goodput < 2e6


class Raises(Plain):
    def on_ack(self, now_s, ack):
        if now_s > 1:
            self.break_down()

    def break_down(self):
        raise KeyError("on purpose")


@pytest.mark.parametrize("series", [True, False])
def test_what_a_controller_raises_reaches_the_caller(series):
    with pytest.raises(KeyError, match="on purpose") as raised:
        duel({"raises": Raises}, ["raises", "cubic"], series=series, set={"until_s": 1e6})
    names = [entry.name for entry in raised.traceback]
    assert names[-2:] == ["on_ack", "break_down"]


class RaisesAtOnce(Plain):
    def __init__(self, init):
        raise RuntimeError("no start")


class NotANumber(Plain):
    def on_ack(self, now_s, ack):
        self.cwnd = float("nan")


class NoNumber(Plain):
    def on_ack(self, now_s, ack):
        self.cwnd = "wide"


class NoWindow(Plain):
    def __init__(self, init):
        pass


@pytest.mark.parametrize(
    "controller, error, text",
    [
        (RaisesAtOnce, RuntimeError, "no start"),
        (NotANumber, ValueError, "`cwnd` of the controller `bad`: expected a finite number"),
        (NoNumber, TypeError, "`cwnd` of the controller `bad`: .* not negative, found 'wide'"),
        (NoWindow, ValueError, "`cwnd` of the controller `bad` is None"),
    ],
)
def test_bad_controllers_end_the_run(controller, error, text):
    with pytest.raises(error, match=text):
        duel({"bad": controller}, "bad", set={"until_s": 1e6}, series=False)


def test_classes_and_names_are_checked():
    with pytest.raises(TypeError, match="has no method `on_ack`"):
        duel({"x": object}, "x")
    with pytest.raises(ValueError, match="cubic"):
        duel({"cubic": Plain}, "cubic")
    with pytest.raises(ValueError, match="is no name"):
        duel({"No Name": Plain}, "cubic")
    with pytest.raises(forebay.ScenarioError) as unknown:
        duel({"plain": Plain}, "plane")
    assert "plain" in unknown.value.hint
