"""The deep GPs that are compared, ours and GPflux's, from the same start where they can."""

import gpflow
import gpflux
import numpy as np
import tensorflow as tf

import gpflow_gi as gi

from .interleaved import Program
from .programs import adam

NUM_INDUCING = 100


def toy_data(num_rows: int, input_dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Standardised rows, of GPflow's default type."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(num_rows, input_dim))
    f = np.sin(X @ rng.normal(size=(input_dim, 1))) + 0.5 * X[:, :1] * X[:, 1:2]
    Y = f + 0.2 * rng.normal(size=(num_rows, 1))
    dtype = gpflow.default_float()
    return X.astype(dtype), ((Y - Y.mean()) / Y.std()).astype(dtype)


def gpflux_deep_gp(
    X: np.ndarray, num_layers: int = 2, num_samples: int = 1
) -> gpflux.models.DeepGP:
    """Salimbeni & Deisenroth's (2017) architecture.

    :param num_samples: draws of the first hidden layer, which those above keep apart.
    """
    # As build_deep_gp starts, but for q(z).
    rng = np.random.default_rng(1)
    start = gi.architectures.build_deep_gp(
        X, X[:, :1], num_inducing=NUM_INDUCING, num_layers=num_layers, inference="local"
    )
    layers = []
    for i, layer in enumerate(start.layers):
        last = i + 1 == num_layers
        gp_layer = gpflux.layers.GPLayer(
            gpflux.helpers.construct_basic_kernel(
                gpflow.utilities.deepcopy(layer.kernel), layer.output_dim, share_hyperparams=True
            ),
            gpflux.helpers.construct_basic_inducing_variables(
                NUM_INDUCING,
                X.shape[1],
                share_variables=True,
                z_init=layer.posterior.inducing_inputs.numpy(),
            ),
            len(X),
            mean_function=gpflow.functions.Zero() if last else gpflow.functions.Identity(),
            num_samples=num_samples if i == 0 and num_samples > 1 else None,
        )
        gp_layer.q_mu.assign(rng.normal(size=gp_layer.q_mu.shape))  # else no draw would matter
        layers.append(gp_layer)
    return gpflux.models.DeepGP(layers, gpflow.likelihoods.Gaussian(0.1))


def keras_fit(model: gpflux.models.DeepGP, data: tuple[np.ndarray, np.ndarray]) -> Program:
    """GPflux's own way to train: Keras, one step on all rows per batch.

    The rows are a data set that repeats itself, and a call is one epoch: with an epoch for each
    step, Keras would spend longer between the steps than in them.
    """
    X, Y = (tf.constant(array) for array in data)
    rows = tf.data.Dataset.from_tensors({"inputs": X, "targets": Y}).repeat()
    keras_model = model.as_training_model()
    keras_model.compile(adam())

    def run(steps: int) -> None:
        history = keras_model.fit(rows, steps_per_epoch=steps, epochs=1, verbose=0).history
        if not np.isfinite(history["loss"][-1]):
            raise RuntimeError("GPflux's bound is not finite.")

    run(3)
    return run


def global_deep_gp(
    data: tuple[np.ndarray, np.ndarray],
    precision: str = "diagonal",
    *,
    num_layers: int = 2,
    num_inducing: int = NUM_INDUCING,
) -> gi.models.DeepGP:
    """:param precision: of all layers; they start with the same, diagonal one."""
    model = gi.architectures.build_deep_gp(*data, num_layers=num_layers, num_inducing=num_inducing)
    for layer in model.layers:
        start = layer.posterior
        Lambda = start.pseudo_precision.numpy()
        layer.posterior = gi.posteriors.GlobalInducing(
            num_inducing,
            layer.output_dim,
            pseudo_outputs=start.pseudo_outputs.numpy(),
            pseudo_precision=np.diag(Lambda) if Lambda.ndim == 2 else Lambda,
            precision=precision,
        )
    return model
