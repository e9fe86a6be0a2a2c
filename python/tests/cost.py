"""What a controller and an environment in Python cost: the tables of docs/how-to/python.md.

    python python/tests/cost.py
"""

import time

import numpy as np

import forebay
from forebay import gym

LONG = {"until_s": 60, "measure_from_s": 1, "flows.1.start": "59s"}


class Fixed(forebay.Controller):
    """A window that stays: what is left is the cost of the calls."""

    def __init__(self, init):
        self.cwnd = 100_000

    def on_ack(self, now_s, ack):
        pass

    def on_loss(self, now_s, loss):
        pass


class Counting(Fixed):
    acks = 0

    def on_ack(self, now_s, ack):
        Counting.acks += 1


def cpu_s(protocol, controllers=None):
    """The CPU of a run, best of three."""
    result = [
        forebay.run("duel", protocols=protocol, controllers=controllers, set=LONG, series=False)
        for _ in range(3)
    ]
    return min(of.runs["cpu_s"][0] for of in result)


def controllers():
    forebay.run("duel", protocols="counting", controllers={"counting": Counting}, set=LONG)
    acks = Counting.acks
    bare, python = cpu_s("newreno"), cpu_s("fixed", {"fixed": Fixed})
    print(f"{acks} ACKs: built in {bare:.3f} s, in Python {python:.3f} s,", end=" ")
    print(f"{(python - bare) / acks * 1e6:.2f} us per ACK")


def steps_per_s(env, actions, steps):
    env.reset(seed=1)
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(steps):
        env.step(actions)
    return time.perf_counter() - wall, time.process_time() - cpu


def environments():
    steps, copies = 500, 16
    rate_mbps = 19.0
    one = gym.Env(action="rate")
    _, cpu = steps_per_s(one, np.array([rate_mbps], np.float32), steps)
    print(f"Env: {steps / cpu:.0f} steps per second of CPU")
    for threads in (1, 2):
        many = gym.VectorEnv(num_envs=copies, action="rate", threads=threads)
        actions = np.full((copies, 1), rate_mbps, np.float32)
        wall, cpu = steps_per_s(many, actions, steps)
        print(
            f"VectorEnv of {copies}, {threads} threads: {copies * steps / cpu:.0f} steps per"
            f" second of CPU, {copies * steps / wall:.0f} per second"
        )
    bare = {**gym.LINK, "until_s": 0.04 * steps, "protocols": ["newreno"]}
    cpu = min(forebay.run(bare, series=False).runs["cpu_s"][0] for _ in range(5))
    print(f"bare simulation under NewReno: {steps / cpu:.0f} intervals per second of CPU")


if __name__ == "__main__":
    controllers()
    environments()
