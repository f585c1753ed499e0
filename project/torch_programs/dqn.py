"""Q-learning with a target network and a replay memory, on a grid with a hole."""

import random
from collections import deque, namedtuple

import numpy as np
import torch
from seeded import fill_parameters
from torch import nn, optim

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
SIZE, GOAL, HOLE = 4, (3, 3), (1, 1)
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


class DQN(nn.Module):
    """Position on the grid, one-hot, to the value of each action.

    Args:
        n_observations: Number of cells.
        n_actions: Number of actions.
    """

    def __init__(self, n_observations: int, n_actions: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_observations, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, n_actions, bias=True)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shape (B, n_observations) to (B, n_actions)."""
        return self.layers(x)


def observe(cell: tuple[int, int]) -> torch.Tensor:
    """A cell, one-hot, shape (1, cells)."""
    return torch.eye(SIZE * SIZE)[cell[0] * SIZE + cell[1]].unsqueeze(0)


def move(cell: tuple[int, int], action: int) -> tuple[tuple[int, int], float, bool]:
    """The next cell, the reward, and whether the episode has ended."""
    row, column = (min(SIZE - 1, max(0, old + by)) for old, by in zip(cell, MOVES[action], strict=True))
    if (row, column) == HOLE:
        return (row, column), -1.0, True
    return (row, column), (1.0 if (row, column) == GOAL else -0.05), (row, column) == GOAL


def optimize(policy_net: DQN, target_net: DQN, optimizer: optim.Optimizer, transitions: list[Transition], gamma: float = 0.9) -> float:
    """One step on a batch of transitions; returns its loss."""
    batch = Transition(*zip(*transitions, strict=True))
    non_final_mask = torch.tensor([state is not None for state in batch.next_state], dtype=torch.bool)
    state_batch = torch.cat(batch.state)
    action_batch = torch.cat(batch.action)
    reward_batch = torch.cat(batch.reward)

    state_action_values = policy_net(state_batch).gather(1, action_batch)
    next_state_values = torch.zeros(len(transitions))
    if non_final_mask.any():
        non_final_next_states = torch.cat([state for state in batch.next_state if state is not None])
        with torch.no_grad():
            next_state_values[non_final_mask] = target_net(non_final_next_states).max(1).values
    expected = reward_batch + gamma * next_state_values

    criterion = nn.SmoothL1Loss()
    loss = criterion(state_action_values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    return loss.item()


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng, chooser = np.random.default_rng(seed), random.Random(seed)
    policy_net, target_net = DQN(SIZE * SIZE, 4), DQN(SIZE * SIZE, 4)
    fill_parameters(policy_net, rng)
    target_net.load_state_dict(policy_net.state_dict())
    optimizer = optim.AdamW(policy_net.parameters(), lr=1e-2, amsgrad=True)
    memory: deque[Transition] = deque(maxlen=500)

    losses: list[float] = []
    cell = (0, 0)
    while len(losses) < steps:
        state = observe(cell)
        if chooser.random() < 0.3:
            action = torch.tensor([[chooser.randrange(4)]], dtype=torch.long)
        else:
            with torch.no_grad():
                action = policy_net(state).max(1).indices.view(1, 1)
        cell, reward, done = move(cell, action.item())
        memory.append(Transition(state, action, None if done else observe(cell), torch.tensor([reward])))
        cell = (0, 0) if done else cell
        if len(memory) < 16:
            continue

        losses.append(optimize(policy_net, target_net, optimizer, chooser.sample(list(memory), 16)))
        target_state, policy_state = target_net.state_dict(), policy_net.state_dict()
        for key in policy_state:
            target_state[key] = policy_state[key] * 0.05 + target_state[key] * 0.95
        target_net.load_state_dict(target_state)
        if len(losses) % 10 == 0:
            print(f"step {len(losses):4d}  loss {losses[-1]:.4f}  value of the start {policy_net(observe((0, 0))).max().item():.3f}")
    return losses


if __name__ == "__main__":
    train(steps=400)
