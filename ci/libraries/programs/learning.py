"""stable-baselines3 and gymnasium: agents."""

import io

import gymnasium
import numpy as np
import stable_baselines3
import torch
from common import fill
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.distributions import DiagGaussianDistribution
from stable_baselines3.common.policies import ActorCriticPolicy

DISTRIBUTIONS = ("stable-baselines3", "gymnasium")


class _Walk(gymnasium.Env):
    """Steps on a line; the goal is its right end."""

    observation_space = gymnasium.spaces.Box(-5.0, 5.0, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.count = 0.0, 0
        return np.array([self.place], np.float32), {}

    def step(self, action):
        self.place += 1.0 if action else -1.0
        self.count += 1
        return np.array([self.place], np.float32), self.place, abs(self.place) >= 5, self.count >= 20, {}


def policy():
    made = fill(ActorCriticPolicy(_Walk.observation_space, _Walk.action_space, lambda _: 0.01))
    values, log_prob, entropy = made.evaluate_actions(torch.tensor([[0.5], [-2.0]]), torch.tensor([0, 1]))
    return values, log_prob, entropy, made.predict(np.array([[1.0]], np.float32), deterministic=True)[0]


def agents_learn():
    found = []
    for kind in (stable_baselines3.PPO, stable_baselines3.A2C, stable_baselines3.DQN):
        more = {"n_steps": 32} if kind is not stable_baselines3.DQN else {"learning_starts": 10}
        agent = kind("MlpPolicy", _Walk(), seed=0, device="cpu", **more).learn(128)
        found.append(bool(all(torch.isfinite(p).all() for p in agent.policy.parameters())))
    return found


def densities():
    made = DiagGaussianDistribution(2)
    made.proba_distribution(torch.zeros(3, 2), torch.zeros(2))
    return made.log_prob(torch.ones(3, 2)), made.entropy()


def memory():
    buffer = ReplayBuffer(10, _Walk.observation_space, _Walk.action_space, device="cpu")
    for i in range(5):
        buffer.add(
            np.array([i], np.float32),
            np.array([i + 1], np.float32),
            np.array([i % 2]),
            np.array([1.0]),
            np.array([False]),
            [{}],
        )
    return buffer._get_samples(np.array([0, 3]))._asdict()


def saved_and_loaded():
    agent = stable_baselines3.PPO("MlpPolicy", _Walk(), n_steps=16, device="cpu")
    fill(agent.policy)
    file = io.BytesIO()
    agent.save(file)
    file.seek(0)
    return stable_baselines3.PPO.load(file, device="cpu").policy.state_dict()
