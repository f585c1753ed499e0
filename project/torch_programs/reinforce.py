"""REINFORCE on a corridor: the agent learns to walk to its end."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from seeded import fill_parameters


class Corridor:
    """Cells in a row; the episode ends in the last cell with a reward, or after some steps; each step costs a little.

    Args:
        length: Number of cells.
        max_steps: Longest episode.
    """

    def __init__(self, length: int = 6, max_steps: int = 12) -> None:
        self.length, self.max_steps = length, max_steps
        self.position = self.steps = 0

    def reset(self) -> list[float]:
        """Begin an episode in the first cell and return the state."""
        self.position = self.steps = 0
        return self.state()

    def state(self) -> list[float]:
        """A one in the position's cell."""
        return [float(i == self.position) for i in range(self.length)]

    def step(self, action: int) -> tuple[list[float], float, bool]:
        """Walk left (0) or right (1); return the state, the reward, and whether the episode has ended."""
        self.steps += 1
        self.position = max(0, self.position + (1 if action == 1 else -1))
        goal = self.position == self.length - 1
        return self.state(), 1.0 if goal else -0.1, goal or self.steps == self.max_steps


class Policy(nn.Module):
    """State to logits of the actions.

    Args:
        states: Size of the state.
        actions: Number of actions.
    """

    def __init__(self, states: int, actions: int = 2) -> None:
        super().__init__()
        self.affine1 = nn.Linear(states, 16)
        self.affine2 = nn.Linear(16, actions)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """States (B, states) to logits (B, actions)."""
        return self.affine2(torch.tanh(self.affine1(x)))


def run_episode(env: Corridor, policy: Policy, rng: np.random.Generator) -> tuple[list[list[float]], list[int], list[float]]:
    """States, actions and rewards of an episode; actions are drawn with NumPy's generator."""
    states, actions, rewards = [], [], []
    state, done = env.reset(), False
    while not done:
        with torch.no_grad():
            probs = F.softmax(policy(torch.tensor(state).unsqueeze(0)), dim=1)
        action = int(rng.random() < probs[0, 1].item())
        states.append(state)
        actions.append(action)
        state, reward, done = env.step(action)
        rewards.append(reward)
    return states, actions, rewards


def discounted(rewards: list[float], gamma: float = 0.95) -> list[float]:
    """The return from each step on."""
    returns: list[float] = []
    R = 0.0
    for r in reversed(rewards):
        R = r + gamma * R
        returns.insert(0, R)
    return returns


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each episode."""
    rng = np.random.default_rng(seed)
    env = Corridor()
    policy = Policy(env.length)
    fill_parameters(policy, rng)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    eps = np.finfo(np.float32).eps.item()

    losses, running_reward = [], 0.0
    for episode in range(steps):
        states, actions, rewards = run_episode(env, policy, rng)
        returns = torch.tensor(discounted(rewards))
        returns = (returns - returns.mean()) / (returns.std() + eps)

        log_probs = F.log_softmax(policy(torch.tensor(states)), dim=-1)
        chosen = log_probs.gather(1, torch.tensor(actions).unsqueeze(-1)).squeeze(-1)
        entropy = -(log_probs.exp() * log_probs).sum(dim=-1).mean()
        policy_loss = (-chosen * returns).sum() - 0.01 * entropy
        optimizer.zero_grad()
        policy_loss.backward()
        optimizer.step()

        losses.append(policy_loss.item())
        running_reward = 0.9 * running_reward + 0.1 * sum(rewards)
        if episode % 10 == 0:
            print(f"episode {episode:4d}  loss {losses[-1]:8.4f}  steps {len(rewards):2d}  running reward {running_reward:.2f}")
    return losses


if __name__ == "__main__":
    train(steps=300)
