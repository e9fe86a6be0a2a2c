"""Several learners in one network."""

import numpy as np
import pytest

pytest.importorskip("pettingzoo")
from pettingzoo.test import parallel_api_test, parallel_seed_test  # noqa: E402

import forebay  # noqa: E402
from forebay import gym, parallel  # noqa: E402

THROUGHPUT, RTT, CWND = 0, 3, 5
BOTH = ["flow_1", "flow_2"]


def towards(observation, segments):
    """The action that brings the window near a number of segments."""
    return np.clip(np.log2(segments / np.maximum(observation[CWND : CWND + 1], 1)), -1, 1)


def episode(env, seed, windows, steps=150):
    """Rows by step, agent and number."""
    observations, _ = env.reset(seed=seed)
    rows = []
    for _ in range(steps):
        actions = {agent: towards(of, windows[agent]) for agent, of in observations.items()}
        observations, *_ = env.step(actions)
        rows.append([observations[agent] for agent in env.agents])
    return np.array(rows)


@pytest.mark.parametrize("action", ["multiplier", "window", "rate"])
@pytest.mark.filterwarnings("error")
def test_pettingzoo_accepts_the_environment(action):
    parallel_api_test(parallel.ParallelEnv(action=action, duration_s=2.0), num_cycles=100)


@pytest.mark.filterwarnings("error")
def test_pettingzoo_accepts_flows_that_begin_and_end_apart():
    # The first takes 0.4 s at least, at the rate of the link.
    first = {"src": "s0", "dst": "d0", "bytes": "1MB"}
    second = {"src": "s1", "dst": "d1", "start": "200ms", "endless": True}
    scenario = parallel.SHARED_LINK | {"flows": [first, second]}
    env = parallel.ParallelEnv(scenario, duration_s=4.0)
    for agent in env.possible_agents:
        env.action_space(agent).seed(1)
    parallel_api_test(env, num_cycles=200)


def test_a_seed_decides_an_episode():
    parallel_seed_test(lambda: parallel.ParallelEnv(duration_s=2.0))


def test_windows_share_the_link_as_their_sizes():
    windows = {"flow_1": 60.0, "flow_2": 20.0}
    rows = episode(parallel.ParallelEnv(), 1, windows)[-50:]
    first, second = rows[:, 0, THROUGHPUT].mean(), rows[:, 1, THROUGHPUT].mean()
    # 80 segments of 1448 bytes in packets of 1500 keep the link full, and wait in one queue.
    assert first + second == pytest.approx(20 * 1448 / 1500, abs=0.05)
    assert first / second == pytest.approx(3, rel=0.05)
    assert rows[:, 0, CWND] == pytest.approx(60, abs=0.01)
    assert rows[:, 0, RTT].mean() == pytest.approx(rows[:, 1, RTT].mean(), rel=0.05)


def test_one_learner_sees_what_it_sees_alone_in_an_environment_of_one():
    env = parallel.ParallelEnv(gym.LINK)
    assert env.possible_agents == ["flow_1"]
    single = gym.Env()
    alone, _ = single.reset(seed=3)
    together, infos = env.reset(seed=3)
    assert infos["flow_1"]["seed"] == 3
    for _ in range(100):
        assert (alone == together["flow_1"]).all()
        action = towards(alone, 70)
        alone, reward, *_ = single.step(action)
        together, rewards, *_ = env.step({"flow_1": action})
        assert rewards["flow_1"] == reward


def test_an_agent_comes_with_its_connection_and_goes_with_its_flow():
    flows = [
        {"src": "s0", "dst": "d0", "bytes": "400kB"},
        {"src": "s1", "dst": "d1", "start": "1s", "endless": True},
        {"src": "s1", "dst": "d1", "endless": True, "protocol": "cubic"},
    ]
    env = parallel.ParallelEnv(parallel.SHARED_LINK | {"flows": flows}, duration_s=4.0)
    observations, _ = env.reset(seed=1)
    assert env.possible_agents == BOTH and env.agents == ["flow_1"]
    came = went = None
    while env.agents:
        actions = {agent: np.zeros(1) for agent in env.agents}
        observations, rewards, terminated, truncated, infos = env.step(actions)
        assert set(observations) == set(rewards) == set(terminated) == set(infos)
        now_s = max(info["now_s"] for info in infos.values())
        if came is None and "flow_2" in observations:
            came = now_s
        if terminated.get("flow_1"):
            went = now_s
            assert "flow_1" not in env.agents
    assert came == pytest.approx(1.08, abs=0.05), "after the handshake"
    assert went is not None and came < went < 4
    assert truncated == {"flow_2": True}
    with pytest.raises(forebay.EpisodeOver):
        env.step({})


def test_a_reward_may_look_at_all_agents():
    def worst(observations):
        return np.full(len(observations), observations[:, THROUGHPUT].min())

    env = parallel.ParallelEnv(reward=worst)
    env.reset(seed=1)
    observations, rewards, *_ = env.step({agent: np.zeros(1) for agent in env.agents})
    assert rewards["flow_1"] == rewards["flow_2"]
    assert rewards["flow_1"] == min(of[THROUGHPUT] for of in observations.values())


def test_bad_actions_are_errors_and_move_nothing():
    env = parallel.ParallelEnv()
    with pytest.raises(forebay.EpisodeOver):
        env.step({})
    env.reset(seed=1)
    zero = np.zeros(1)
    with pytest.raises(forebay.ActionError, match="of flow_2: expected -1 to 1, found nan"):
        env.step({"flow_1": zero, "flow_2": np.array([np.nan])})
    with pytest.raises(forebay.ActionError, match="expected those of flow_1, flow_2, found flow_1"):
        env.step({"flow_1": zero})
    with pytest.raises(forebay.ActionError, match="found flow_1, flow_2, flow_3"):
        env.step({"flow_1": zero, "flow_2": zero, "flow_3": zero})
    with pytest.raises(forebay.ActionError, match="expected 1 actions, found 2"):
        env.step({"flow_1": np.zeros(2), "flow_2": zero})
    first, *_ = env.step({"flow_1": zero, "flow_2": zero})
    env.reset(seed=1)
    again, *_ = env.step({"flow_1": zero, "flow_2": zero})
    assert all((first[agent] == again[agent]).all() for agent in BOTH)


def test_scenarios_in_which_nothing_learns_are_refused():
    with pytest.raises(ValueError, match="no flow learns"):
        parallel.ParallelEnv("dumbbell", set={"flows.0.protocol": "cubic"})
    with pytest.raises(ValueError, match="action: expected"):
        parallel.ParallelEnv(action="power")
    with pytest.raises(ValueError, match="forebay.parallel"):
        gym.Env(parallel.SHARED_LINK)
