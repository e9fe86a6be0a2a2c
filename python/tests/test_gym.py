"""Learning environments."""

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

import forebay  # noqa: E402
from forebay import gym  # noqa: E402

CWND, THROUGHPUT, RTT, MIN_RTT = 5, 0, 3, 4


def policy(observation):
    """Towards 70 segments, which 20 Mbit/s carry in 42 ms."""
    return np.clip(np.log2(70 / np.maximum(observation[..., CWND : CWND + 1], 1)), -1, 1).astype(
        np.float32
    )


def episode(env, seed, steps=100):
    observation, _ = env.reset(seed=seed)
    rows = [observation]
    for _ in range(steps):
        observation, *_ = env.step(policy(observation))
        rows.append(observation)
    return np.array(rows)


@pytest.mark.parametrize("action", ["multiplier", "window", "rate"])
@pytest.mark.filterwarnings("ignore:.*Box.*")
def test_gymnasium_accepts_the_environment(action):
    check_env(gym.Env(action=action, duration_s=2.0), skip_render_check=True)


def test_an_episode_is_what_the_actions_make_of_it():
    rows = episode(gym.Env(), seed=1)
    last = rows[-50:]
    # 70 segments of 1448 bytes keep the link full: 20 Mbit/s by 1448 / 1514 with every header.
    assert last[:, THROUGHPUT].mean() == pytest.approx(19.2, abs=0.3)
    assert last[:, CWND] == pytest.approx(70, abs=0.01)
    assert 40 <= last[:, MIN_RTT].min() <= last[:, RTT].max() < 90
    assert not last[:, 2].any(), "no loss"


def test_the_same_seed_and_actions_give_the_same_episode():
    env = gym.Env()
    first, again, fresh = episode(env, 7), episode(env, 7), episode(gym.Env(), 7)
    assert (first == again).all() and (first == fresh).all()
    assert (first != episode(env, 8)).any()


def test_a_rate_is_kept():
    env = gym.Env(action="rate")
    env.reset(seed=1)
    rows = [env.step(np.array([5.0], dtype=np.float32))[0] for _ in range(100)]
    # A pacing rate counts headers: 52 bytes in 1500.
    assert np.mean([row[1] for row in rows[20:]]) == pytest.approx(5 * 1448 / 1500, rel=0.02)
    assert rows[-1][7] == pytest.approx(5)


def test_actions_act_on_the_next_interval():
    env = gym.Env(action="window")
    env.reset(seed=1)
    for window in (10.0, 20.0, 5.0):
        observation, *_ = env.step(np.array([window], dtype=np.float32))
        assert observation[CWND] == pytest.approx(window, abs=0.01)


def test_the_reward_is_the_users():
    env = gym.Env(reward=lambda observation: observation[..., THROUGHPUT])
    env.reset(seed=1)
    observation, reward, *_ = env.step(np.zeros(1, dtype=np.float32))
    assert reward == observation[THROUGHPUT]
    link = np.array([16, 16, 0.0, 80, 40, 0, 0, 0, 0, 0])
    assert gym.log_power(link) == pytest.approx(4 - 1)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1.5, -1.5])
def test_an_action_that_is_none_is_an_error_and_moves_nothing(value):
    env = gym.Env()
    env.reset(seed=1)
    with pytest.raises(forebay.errors.ActionError, match="expected -1 to 1"):
        env.step(np.array([value]))
    with pytest.raises(forebay.errors.ActionError, match="expected 1 actions, found 2"):
        env.step(np.zeros(2))
    with pytest.raises(forebay.errors.ActionError, match="expected numbers as actions, found 'up'"):
        env.step("up")
    first = env.step(np.zeros(1))[0]
    env.reset(seed=1)
    assert (env.step(np.zeros(1))[0] == first).all()


def test_a_step_without_an_episode_is_an_error():
    env = gym.Env(duration_s=0.5)
    with pytest.raises(forebay.errors.EpisodeOver):
        env.step(np.zeros(1))
    env.reset(seed=1)
    truncated = False
    while not truncated:
        *_, terminated, truncated, info = env.step(np.zeros(1))
        assert not terminated
    assert info["now_s"] == pytest.approx(0.52)
    with pytest.raises(forebay.errors.EpisodeOver):
        env.step(np.zeros(1))
    env.reset()
    env.step(np.zeros(1))


def test_an_episode_ends_with_its_flow():
    env = gym.Env(set={"flows.0.endless": False, "flows.0.bytes": "1MB"})
    env.reset(seed=1)
    terminated = truncated = False
    while not terminated:
        *_, terminated, truncated, _ = env.step(np.zeros(1))
        assert not truncated
    with pytest.raises(forebay.errors.EpisodeOver):
        env.step(np.zeros(1))


def test_other_flows_have_their_protocols():
    env = gym.Env("duel", duration_s=60.0)
    rows = episode(env, 1, steps=500)
    # Beside CUBIC, in 10 Mbit/s, a window of 70 segments has most of the link.
    assert 3 < rows[-100:, THROUGHPUT].mean() < 9.6


def test_scenarios_without_one_learner_are_refused():
    with pytest.raises(ValueError, match="one flow learns.*3 would"):
        gym.Env("dumbbell")
    with pytest.raises(ValueError, match="action: expected"):
        gym.Env(action="power")
    with pytest.raises(ValueError, match="interval_s: expected"):
        gym.Env(interval_s=float("nan"))
    with pytest.raises(ValueError, match=r"interval_s: expected at most duration_s \(1\), found 2"):
        gym.Env(interval_s=2.0, duration_s=1.0)
    with pytest.raises(forebay.ScenarioError):
        gym.Env(set={"links.bottleneck.rate": 3})


@pytest.mark.parametrize("threads", [1, 3])
def test_copies_do_not_depend_on_threads_or_on_each_other(threads):
    envs = gym.VectorEnv(num_envs=4, threads=threads)
    observation, info = envs.reset(seed=5)
    assert info["seed"].tolist() == [5, 6, 7, 8]
    rows = [observation]
    for _ in range(100):
        observation, *_ = envs.step(policy(observation))
        rows.append(observation)
    together = np.array(rows)
    for copy in range(4):
        assert (together[:, copy] == episode(gym.Env(), 5 + copy)).all()


def test_copies_begin_anew_in_the_step_after_their_end():
    envs = gym.VectorEnv(num_envs=2, duration_s=0.4)
    envs.reset(seed=1)
    for _ in range(100):
        _, reward, terminated, truncated, info = envs.step(np.zeros((2, 1), dtype=np.float32))
        if truncated.any():
            break
    assert truncated.all() and not terminated.any()
    observation, reward, terminated, truncated, info = envs.step(np.ones((2, 1), np.float32))
    assert (reward == 0).all() and not truncated.any()
    assert (info["now_s"] < 0.3).all()
    assert (observation[:, CWND] == 10).all(), "the initial window"


def test_a_bad_action_of_one_copy_moves_none():
    envs = gym.VectorEnv(num_envs=3)
    envs.reset(seed=1)
    with pytest.raises(forebay.errors.ActionError, match="copy 1"):
        envs.step(np.array([[0.0], [np.nan], [0.0]]))
    first = envs.step(np.zeros((3, 1), np.float32))[0]
    envs.reset(seed=1)
    assert (envs.step(np.zeros((3, 1), np.float32))[0] == first).all()


def test_gymnasium_vector_wrappers_take_it():
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(
        gym.VectorEnv(num_envs=2, duration_s=0.4)
    )
    envs.reset(seed=1)
    seen = []
    for _ in range(30):
        *_, info = envs.step(envs.action_space.sample())
        if "episode" in info:
            seen.append(info["episode"]["l"].max())
    assert seen and seen[0] > 3
