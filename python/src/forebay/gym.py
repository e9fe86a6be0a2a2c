"""Learning environments: the window or the rate of one sender, decided at each monitor interval.

    env = forebay.gym.Env()                           # a 20 Mbit/s link, 40 ms
    env = forebay.gym.Env("my.toml", action="rate")
    envs = forebay.gym.VectorEnv(num_envs=16)         # 16 simulations, in threads of Rust

Needs gymnasium and numpy: `pip install forebay[gym]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from ._learning import action_space, native_actions, observation_space, rows_of
from ._native import Learners

LINK: dict[str, Any] = {
    "description": "One flow that learns, over 20 Mbit/s and 40 ms with a buffer of 1 BDP",
    "protocols": ["learner"],
    "until_s": 30,
    "routers": ["left", "right"],
    "link_defaults": {"rate": "1Gbit/s", "delay": "1ms", "queue": "1000packets"},
    "links": [
        {
            "name": "bottleneck",
            "a": "left",
            "b": "right",
            "rate": "20Mbit/s",
            "delay": "18ms",
            "queue": {"limit": "1BDP", "rtt": "40ms"},
        }
    ],
    "hosts": [{"name": "s", "attach": "left"}, {"name": "d", "attach": "right"}],
    "flows": [{"src": "s", "dst": "d", "endless": True}],
}
"""The scenario of an environment that is given none."""

OBSERVATION = (
    "throughput_mbps",
    "sent_mbps",
    "loss_share",
    "rtt_ms",
    "min_rtt_ms",
    "cwnd_segments",
    "in_flight_segments",
    "pacing_mbps",
    "acks",
    "timeouts",
)
"""The numbers of an observation, in their order, each of the last interval:

- `throughput_mbps`: payload known to have arrived, in Mbit/s.
- `sent_mbps`: payload sent, retransmissions included, in Mbit/s.
- `loss_share`: packets declared lost by packets sent, 0 to 1.
- `rtt_ms`: mean of the RTT samples, in ms; the smoothed RTT if there was none.
- `min_rtt_ms`: smallest RTT sample of the episode, in ms.
- `cwnd_segments`: window at the end, in segments of full size.
- `in_flight_segments`: bytes in flight at the end, in segments.
- `pacing_mbps`: pacing rate at the end, in Mbit/s; 0 if there is none.
- `acks`: ACKs that came.
- `timeouts`: retransmission timeouts.
"""

Reward = Callable[[np.ndarray], np.ndarray]
"""From observations, of which the last axis has the numbers of `OBSERVATION`, to rewards."""

def log_power(observation: np.ndarray) -> np.ndarray:
    """The default reward: log2 of throughput (Mbit/s, at least 0.01) less log2 of RTT by smallest
    RTT, less 10 times the share of lost packets.

    It is the objective of Winstein and Balakrishnan, "TCP ex Machina", 2013
    (doi:10.1145/2486001.2486020), with alpha = beta = 1 and delta = 1, per interval, and a price
    of loss besides.
    """
    throughput = np.maximum(observation[..., 0], 0.01)
    rtt = np.maximum(observation[..., 3], 1e-3)
    min_rtt = np.maximum(observation[..., 4], 1e-3)
    delay = np.log2(np.maximum(rtt / min_rtt, 1.0))
    return np.asarray(np.log2(throughput) - delay - 10 * observation[..., 2])


class _Copies:
    """Copies of a scenario, and what actions and rewards mean in them."""

    def __init__(
        self,
        scenario: str | PathLike[str] | Mapping[str, Any] | None,
        set: Mapping[str, Any] | None,
        action: str,
        interval_s: float,
        duration_s: float,
        copies: int,
        threads: int | None,
    ) -> None:
        self.action = action
        self.space = action_space(action)
        self.copies = copies
        self.learners = Learners(
            LINK if scenario is None else scenario,
            set=set,
            action=action,
            interval_s=interval_s,
            duration_s=duration_s,
            copies=copies,
            threads=threads,
        )

    def values(self, actions: np.ndarray) -> list[float]:
        """What the simulation takes."""
        return native_actions(self.action, actions, [f"copy {of}" for of in range(self.copies)])

    def unpack(self, steps: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        raw, terminated, truncated, now_s = steps
        return (
            rows_of(raw),
            np.array(terminated, dtype=bool),
            np.array(truncated, dtype=bool),
            np.array(now_s),
        )


class Env(gymnasium.Env[np.ndarray, np.ndarray]):
    """One sender of a scenario.

    scenario: a name, a path or a dict, in which exactly one flow names no protocol, or "learner";
    `LINK` by default. The other flows have the protocols that they name.
    set: changes of it by key.
    action: what is decided. "multiplier": the window is multiplied by 2^a, a from -1 to 1.
    "window": the window in segments, 1 to 10 000. "rate": the pacing rate in Mbit/s, 0.01 to
    10 000.
    interval_s: length of a step in simulated seconds. duration_s: of an episode.
    reward: from observations to rewards.

    An episode is terminated when its flow ends, and truncated after `duration_s`. The same seed and
    the same actions give the same episode.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        scenario: str | PathLike[str] | Mapping[str, Any] | None = None,
        *,
        set: Mapping[str, Any] | None = None,
        action: str = "multiplier",
        interval_s: float = 0.04,
        duration_s: float = 30.0,
        reward: Reward = log_power,
    ) -> None:
        self._copies = _Copies(scenario, set, action, interval_s, duration_s, 1, 1)
        self._reward = reward
        self.action_space = self._copies.space
        self.observation_space = observation_space()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        # Without a seed, the next one of the generator that the last seed began.
        run_seed = int(self.np_random.integers(1 << 32)) if seed is None else seed
        steps = self._copies.learners.reset([run_seed])
        observation, _, _, now_s = self._copies.unpack(steps)
        return observation[0], {"seed": run_seed, "now_s": float(now_s[0])}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        steps = self._copies.learners.step(self._copies.values(action), [None])
        observation, terminated, truncated, now_s = self._copies.unpack(steps)
        reward = float(self._reward(observation[0]))
        info = {"now_s": float(now_s[0])}
        return observation[0], reward, bool(terminated[0]), bool(truncated[0]), info


class VectorEnv(gymnasium.vector.VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """`num_envs` copies of `Env`, stepped in threads of Rust with the interpreter free.

    The arguments are those of `Env`. threads: one for each core by default. Copies do not depend on
    it. A copy whose episode is over begins a new one in the next step, whose action it ignores and
    whose reward is 0 (`AutoresetMode.NEXT_STEP`).
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}

    def __init__(
        self,
        scenario: str | PathLike[str] | Mapping[str, Any] | None = None,
        *,
        num_envs: int,
        set: Mapping[str, Any] | None = None,
        action: str = "multiplier",
        interval_s: float = 0.04,
        duration_s: float = 30.0,
        reward: Reward = log_power,
        threads: int | None = None,
    ) -> None:
        self._copies = _Copies(scenario, set, action, interval_s, duration_s, num_envs, threads)
        self._reward = reward
        self.num_envs = num_envs
        self.single_action_space = self._copies.space
        self.single_observation_space = observation_space()
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._over = np.zeros(num_envs, dtype=bool)

    def _drawn(self) -> int:
        return int(self.np_random.integers(1 << 32))

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        if isinstance(seed, list):
            given: list[int | None] = list(seed)
            first = next((of for of in given if of is not None), None)
        else:
            given = [None if seed is None else seed + copy for copy in range(self.num_envs)]
            first = seed
        super().reset(seed=first)
        seeds = [self._drawn() if of is None else of for of in given]
        observation, _, _, now_s = self._copies.unpack(self._copies.learners.reset(seeds))
        self._over = np.zeros(self.num_envs, dtype=bool)
        return observation, {"seed": np.array(seeds, dtype=np.uint64), "now_s": now_s}

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        seeds = [self._drawn() if over else None for over in self._over]
        steps = self._copies.learners.step(self._copies.values(actions), seeds)
        observation, terminated, truncated, now_s = self._copies.unpack(steps)
        reward = np.where(self._over, 0.0, self._reward(observation))
        self._over = terminated | truncated
        return observation, reward, terminated, truncated, {"now_s": now_s}
