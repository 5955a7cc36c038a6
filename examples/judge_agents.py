"""Agents of other packages as policies: copy the function that fits yours, and judge what it returns.

    judge("3x3-512", sampled(model), symmetry="none")

A model of Stable-Baselines3 or sb3-contrib needs no function: its actions are those of
``deterministic=True``.  Each function here returns a policy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tilebase import Game
from tilebase.arrays import GameArrays
from tilebase.policies import ArrayPolicy, BatchPolicy, as_policy

NEEDS = {
    "sampled": ["sb3-contrib"],
    "best_logit": ["torch"],
    "softmax": ["jax"],
    "tabular": [],
    "afterstates": [],
}
"""What each function needs beside tilebase."""


def sampled(model: Any) -> BatchPolicy:
    """A MaskablePPO of sb3-contrib: the probabilities with which it samples, not the most probable action."""

    space = model.observation_space.shape  # of exponents, or one-hot with an axis more

    def policy(boards: Any, allowed: Any) -> Any:
        seen = boards if len(space) < boards.ndim else np.eye(space[-1], dtype=np.uint8)[boards]
        observation = model.policy.obs_to_tensor(seen)[0]
        return model.policy.get_distribution(observation, action_masks=allowed).distribution.probs

    return policy


def best_logit(network: Callable[[Any], Any], game: Game) -> ArrayPolicy:
    """A network of PyTorch, as CleanRL trains them: the allowed action with the largest logit or Q."""
    import torch

    def policy(boards: Any, _: Any) -> Any:
        return network(torch.as_tensor(boards, dtype=torch.float32))

    return as_policy(policy, game, output="scores", observation="one-hot")


def softmax(apply: Callable[[Any, Any], Any], params: Any, game: Game) -> ArrayPolicy:
    """A network of JAX that was trained with pgx: the probabilities of its logits."""
    import jax

    def policy(boards: Any, allowed: Any) -> Any:
        return jax.nn.softmax(apply(params, boards), where=allowed)

    return as_policy(policy, game, observation="pgx", actions="pgx")


def tabular(q: Mapping[bytes, Any], game: Game) -> ArrayPolicy:
    """A dictionary: the four Q-values of a board by its bytes; of an unknown board, all slides are equal."""

    def policy(boards: Any, _: Any) -> Any:
        return np.array([q.get(board.tobytes(), np.zeros(len(game.directions))) for board in boards])

    return as_policy(policy, game, output="scores")


def afterstates(value: Callable[[Any], Any], game: Game) -> ArrayPolicy:
    """Values of boards after a slide, as an n-tuple network has them: the largest reward and value."""
    rules = GameArrays(game)

    def policy(boards: Any, _: Any) -> Any:
        slid = rules.slide(rules.pack(boards))
        return slid.reward + value(rules.unpack(slid.after))  # of boards ``uint8[n, A, *shape]``

    return as_policy(policy, game, output="scores")
