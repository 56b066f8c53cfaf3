"""The bound whose rows have weights."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.objectives import Elbo, WeightedBound

from ..training.models import LinearModel, assert_same, linear_data, svgp, train

pytestmark = pytest.mark.compiled
N = 6
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(N, 2)), RNG.normal(size=(N, 1))
TIMES = np.array([1, 3, 0, 2, 1, 1])


def network(num_data):
    model = gi.architectures.build_bnn(X, Y, widths=(4,), num_inducing=3, seed=0)
    model.num_data = num_data
    return model


def terms(model, objective, rows, weights=()):
    batch = tuple(map(tf.constant, (X[rows], Y[rows], *weights)))
    return [float(term) for term in objective.terms(model, batch, 4, as_seed(3))]


def test_whole_weights_are_repeated_rows():
    repeated = np.repeat(np.arange(N), TIMES)
    expected = terms(network(len(repeated)), Elbo(), repeated)
    weighted = WeightedBound(TIMES)
    actual = terms(network(N), weighted, np.arange(N), [weighted.weights])
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_batches_have_the_mean_of_all_rows():
    """N / B times a batch's weighted sum is unbiased: the mean over disjoint batches is exact."""
    weighted = WeightedBound(RNG.uniform(0.1, 2.0, N))
    expected = terms(network(N), weighted, np.arange(N), [weighted.weights])
    halves = [
        terms(network(N), weighted, rows, [weighted.weights.numpy()[rows]])
        for rows in (np.array([4, 0, 1]), np.array([2, 5, 3]))
    ]
    np.testing.assert_allclose(np.mean(halves, axis=0), expected, rtol=1e-12)


def test_of_a_sparse_gp():
    model = svgp(N)
    repeated = np.repeat(np.arange(N), TIMES)
    first, kl = terms(model, WeightedBound(TIMES), np.arange(N), [TIMES.astype(float)])
    batch = tuple(map(tf.constant, (X[repeated], Y[repeated])))
    model.num_data = len(repeated)
    np.testing.assert_allclose(first - kl, model.elbo(batch), rtol=1e-12)


@pytest.mark.slow
def test_weights_of_one_change_nothing(tmp_path):
    settings = {"steps": 7, "batch_size": 2, "kl_warmup": 3, "seed": 4}
    one, other = network(N), network(N)
    train(one, (X, Y), **settings)
    objective = WeightedBound(np.ones(N))
    record = train(other, (X, Y), **settings, objective=objective, checkpoint_dir=tmp_path)
    assert_same(one, other, 1e-9)
    report = record.reports[-1]
    assert report.name == "weighted bound" and report.bound == report.objective
    with pytest.raises(ValueError, match=r"holds another run: objective\.weights"):
        train(network(N), (X, Y), **settings, objective=WeightedBound(TIMES + 1),
              checkpoint_dir=tmp_path)  # fmt: skip


@pytest.mark.slow
def test_each_row_keeps_its_weight_in_minibatches():
    """Rows of weight zero leave no trace, wherever a permutation puts them."""
    weights = np.array([1.0, 1, 0, 0, 1, 0])
    wrong = np.where(weights[:, None] > 0, Y, 1e6)
    one, other = network(N), network(N)
    for model, targets in ((one, Y), (other, wrong)):
        train(model, (X, targets), steps=7, batch_size=2, objective=WeightedBound(weights), seed=4)
    assert_same(one, other)
    assert not np.allclose(one.trainable_variables[0], network(N).trainable_variables[0])


def test_rows_of_replicas_keep_theirs():
    from gpflow_gi.training.replicas import Replicas

    replicas = Replicas()
    replicas.num = 2
    batch = tuple(map(tf.constant, (X, Y, TIMES)))
    parts = replicas.parts(batch, [as_seed(0), as_seed(1)])
    for i, given in enumerate(batch):
        np.testing.assert_array_equal(tf.concat([part.batch[i] for part in parts], 0), given)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1.0, -1.0], "at least 0 and not all 0, but lie between -1 and 1"),
        ([0.0, 0.0], "not all 0"),
        ([[1.0]], r"must have shape \[N\]"),
        ([1.0, np.nan], "weights must be finite"),
    ],
)
def test_what_is_no_weights(weights, said):
    with pytest.raises(ValueError, match=said):
        WeightedBound(weights)


def test_weights_of_other_rows_and_models():
    with pytest.raises(ValueError, match="weights of 5 rows, but the data has 6"):
        train(network(N), (X, Y), steps=1, objective=WeightedBound(np.ones(5)))
    with pytest.raises(TypeError, match=r"needs a model with row_terms.*got LinearModel"):
        train(LinearModel(20), linear_data(), steps=1, objective=WeightedBound(np.ones(20)))
    prior = gpflow.models.GPR((X, Y), gpflow.kernels.Linear())
    with pytest.raises(TypeError, match="fit needs a model with bound_terms"):
        train(prior, (X, Y), steps=1, objective=WeightedBound(np.ones(N)))


def updated_model():
    model = gi.models.DeepGP(
        [
            gi.layers.GPLayer(
                gpflow.kernels.Matern52(),
                1,
                gi.posteriors.GlobalInducing(4, 1, pseudo_outputs=Y[:4], pseudo_precision=10.0),
            )
        ],
        gpflow.likelihoods.Gaussian(0.1),
        num_data=N,
        inducing_inputs=X[:4],
    )
    return model.update((X + 0.3, Y), num_inducing=3)


def test_weights_of_new_rows_do_not_forget_earlier_ones():
    model, seed, data = updated_model(), as_seed(0), (X + 0.3, Y)
    objective = WeightedBound(np.ones(N))
    objective.check(model, None)
    batch = tuple(map(tf.constant, (*data, np.ones(N))))
    terms, expected = objective.terms(model, batch, 1, seed), model.bound_terms(data, 1, seed)
    np.testing.assert_allclose(terms, expected)
    without = model.memory.expected_log_ratio(model, 1, gi.core.random.fold_in(seed, 3))
    assert abs(without) > 0.1
    double = WeightedBound(np.full(N, 2.0))
    batch = tuple(map(tf.constant, (*data, np.full(N, 2.0))))
    first, _ = double.terms(model, batch, 1, seed)
    np.testing.assert_allclose(first, 2 * (terms[0] - without) + without)


@pytest.mark.parametrize(
    "objective",
    [gi.objectives.AlphaEnergy(0.5), gi.objectives.FunctionalKL(), gi.objectives.DensityRatioKL()],
)
def test_objectives_without_a_term_of_earlier_rows_are_refused(objective):
    with pytest.raises(ValueError, match="cannot train a model that was updated"):
        gi.fit(updated_model(), (X, Y), steps=1, objective=objective)


def test_gpflows_softmax_takes_weighted_rows():
    labels = np.arange(N)[:, None] % 3 * 1.0
    model = gpflow.models.SVGP(
        gpflow.kernels.Matern52(), gpflow.likelihoods.Softmax(3), X[:4], num_latent_gps=3
    )
    record = train(model, (X, labels), steps=2, objective=WeightedBound(np.ones(N)))
    assert -100.0 < record.reports[-1].bound < 0.0


def test_terms_of_a_class_of_ones_own_are_not_those_of_the_bound():
    class Lower(WeightedBound):
        name = "lower"

        def terms(self, *arguments):
            first, kl = super().terms(*arguments)
            return first - 1000.0, kl

    report = train(network(N), (X, Y), steps=1, objective=Lower(np.ones(N))).reports[-1]
    assert np.isnan(report.bound) and report.value < -1000.0
