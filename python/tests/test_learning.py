"""A short training improves on its start. Optional: it needs stable-baselines3 and torch.

    pip install stable-baselines3 --extra-index-url https://download.pytorch.org/whl/cpu

With torch as PyPI has it, which brings CUDA, the environment takes 5.4 GB.
"""

import numpy as np
import pytest

stable_baselines3 = pytest.importorskip("stable_baselines3")
import torch  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize  # noqa: E402

from forebay import gym  # noqa: E402


def mean_reward(model, envs, episodes=3):
    """Mean reward of a step, without noise in the actions and with the rewards as they are."""
    envs.training, envs.norm_reward = False, False
    rewards, observation = [], envs.reset()
    for _ in range(episodes * 250):
        action, _ = model.predict(observation, deterministic=True)
        observation, reward, _, _ = envs.step(action)
        rewards.append(reward)
    return float(np.mean(rewards))


def test_ppo_improves_on_its_start():
    # The networks are too small for more: threads only wait for each other.
    torch.set_num_threads(1)

    def make():
        return gym.Env(duration_s=10.0)

    envs = VecNormalize(DummyVecEnv([make] * 4))
    model = stable_baselines3.PPO("MlpPolicy", envs, n_steps=250, batch_size=250, seed=1)
    before = mean_reward(model, envs)
    envs.training, envs.norm_reward = True, True
    model.learn(20_000)
    after = mean_reward(model, envs)
    assert after > before + 0.1, (before, after)
