"""Budgets of a trial: the same for every method that is trained by Adam."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """The settings that all methods of a sweep share.

    :param name: name of the budget in records; results of budgets with different names are never
        averaged.
    :param steps: number of steps of Adam; of a search for the most probable weights, at most.
    :param learning_rate: learning rate of Adam in the first half of the steps.
    :param last_learning_rate: the same, in the second half; with 0 it falls to it linearly, with
        Adam's beta_2 = 0.99.
    :param kl_warmup: steps over which the weight of the KL term rises to 1.
    :param batch_size: largest number of rows of a step.
    :param num_inducing: inducing points of every layer, and of the sparse GP.
    :param num_samples: samples of the layers below the last, in every step.
    :param num_test_samples: the same, for predictions.
    :param num_elbo_samples: the same, for the reported bound.
    """

    name: str
    steps: int
    learning_rate: float
    last_learning_rate: float
    kl_warmup: int
    batch_size: int
    num_inducing: int
    num_samples: int
    num_test_samples: int
    num_elbo_samples: int


QUICK = Budget(
    name="quick",
    steps=3000,
    learning_rate=0.02,
    last_learning_rate=0.002,
    kl_warmup=500,
    batch_size=250,
    num_inducing=50,
    num_samples=1,
    num_test_samples=100,
    num_elbo_samples=20,
)
"""Under a minute per trial on one core, except for exact GPs on more than a thousand rows, and for
Laplace approximations and ensembles, which take up to one and a half on small sets."""

STANDARD = Budget(
    name="standard",
    steps=10_000,
    learning_rate=0.03,
    last_learning_rate=0.0,
    kl_warmup=150,
    batch_size=500,
    num_inducing=100,
    num_samples=1,
    num_test_samples=100,
    num_elbo_samples=100,
)
"""The rate that won in docs/performance.md, "Fewer steps", with more inducing points and steps. A
long KL warm-up can end at worse bounds of two-layer deep GPs: see docs/results/five-layers.md."""

PAPER = Budget(
    name="paper",
    steps=20_000,
    learning_rate=0.01,
    last_learning_rate=0.001,
    kl_warmup=1000,
    batch_size=10_000,
    num_inducing=100,
    num_samples=10,
    num_test_samples=100,
    num_elbo_samples=100,
)
"""A budget of our own, similar to Ober & Aitchison (2021), section 3.3."""

BUDGETS = {budget.name: budget for budget in (QUICK, STANDARD, PAPER)}
