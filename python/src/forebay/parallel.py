"""Several learners in one network, by PettingZoo's parallel API.

    env = forebay.parallel.ParallelEnv()              # two senders share a 20 Mbit/s link, 40 ms
    observations, infos = env.reset(seed=1)
    while env.agents:
        actions = {agent: policy(observations[agent]) for agent in env.agents}
        observations, rewards, terminated, truncated, infos = env.step(actions)

Observations, actions and rewards are those of `forebay.gym`. Needs pettingzoo: `pip install
forebay[parallel]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import gymnasium
import numpy as np
import pettingzoo

from ._learning import action_space, native_actions, observation_space, rows_of
from ._native import LearnerNetwork
from .errors import ActionError
from .gym import LINK, OBSERVATION, Reward, log_power

SHARED_LINK: dict[str, Any] = LINK | {
    "description": "Two flows that learn share 20 Mbit/s and 40 ms, with a buffer of 1 BDP",
    "hosts": [
        {"name": "s{}", "count": 2, "attach": "left"},
        {"name": "d{}", "count": 2, "attach": "right"},
    ],
    "flows": [{"src": "s{}", "dst": "d{}", "count": 2, "endless": True}],
}
"""The scenario of an environment that is given none."""


class ParallelEnv(pettingzoo.ParallelEnv[str, np.ndarray, np.ndarray]):
    """The senders of a network that learn: all flows without a protocol, or with "learner".

    The arguments are those of `forebay.gym.Env`. `reward` is given a row for each agent that acts
    or has just begun, in the order of `agents`, and returns a reward for each: it may look at all.

    An agent is "flow_N", N the number of its flow in results. It is there from the first interval
    after its handshake on; it is terminated when its flow ends, and truncated after `duration_s`.
    The same seed and the same actions give the same episode.
    """

    metadata: dict[str, Any] = {"name": "forebay", "render_modes": []}

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
        self._action = action
        self._network = LearnerNetwork(
            SHARED_LINK if scenario is None else scenario,
            set=set,
            action=action,
            interval_s=interval_s,
            duration_s=duration_s,
        )
        self.possible_agents = [f"flow_{number}" for number in self._network.flows]
        self.action_spaces = {agent: action_space(action) for agent in self.possible_agents}
        self.observation_spaces = {agent: observation_space() for agent in self.possible_agents}
        self.agents: list[str] = []
        self._over: frozenset[str] = frozenset(self.possible_agents)
        self._reward = reward
        self._random = np.random.default_rng()

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[np.ndarray]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Space[np.ndarray]:
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, dict[str, Any]]]:
        # Without a seed, the next one of the generator that the last seed began.
        if seed is not None:
            self._random = np.random.default_rng(seed)
        run_seed = int(self._random.integers(1 << 32)) if seed is None else seed
        self._over = frozenset()
        observations, *_, infos = self._unpack(self._network.reset(run_seed))
        return observations, {agent: info | {"seed": run_seed} for agent, info in infos.items()}

    def step(
        self, actions: Mapping[str, np.ndarray]
    ) -> tuple[
        dict[str, np.ndarray],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        missing = [agent for agent in self.agents if agent not in actions]
        unknown = [agent for agent in actions if agent not in self.agents]
        if missing or unknown:
            expected, found = (", ".join(of) or "none" for of in (self.agents, actions))
            raise ActionError(f"actions: expected those of {expected}, found {found}")
        values: dict[str, float] = {}
        for agent in self.agents:
            [values[agent]] = native_actions(self._action, actions[agent], [agent])
        order = [values.get(agent) for agent in self.possible_agents]
        return self._unpack(self._network.step(order))

    def _unpack(self, step: Any) -> tuple[Any, Any, Any, Any, Any]:
        raw, established, ended, cut, now_s = step
        rows = dict(zip(self.possible_agents, rows_of(raw)))
        begun = zip(self.possible_agents, established)
        there = [agent for agent, is_there in begun if is_there and agent not in self._over]
        done = dict(zip(self.possible_agents, ended))
        observations = {agent: rows[agent] for agent in there}
        seen = np.array([rows[agent] for agent in there], dtype=np.float32)
        rewards = self._reward(seen.reshape(len(there), len(OBSERVATION)))
        terminated = {agent: bool(done[agent]) for agent in there}
        self.agents = [agent for agent in there if not (terminated[agent] or cut)]
        self._over |= {agent for agent in there if agent not in self.agents}
        return (
            observations,
            {agent: float(reward) for agent, reward in zip(there, rewards)},
            terminated,
            {agent: bool(cut) for agent in there},
            {agent: {"now_s": float(now_s)} for agent in there},
        )
