"""Saved models: bitwise the same predictions, of every part that a model can have."""

import json
import os
import pickle
import subprocess
import sys
import zipfile

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.keras import tf_keras

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.persistence import LoadError, SaveError, archive, replacing
from gpflow_gi.persistence.decoding import Decoder
from gpflow_gi.persistence.encoding import Encoder
from gpflow_gi.persistence.names import Names

from ..builders import NUM_INDUCING, random_conv_layer
from ..kernels.test_every_kernel import TESTED as KERNELS
from ..models.test_every_likelihood import TESTED as LIKELIHOODS
from ..models.test_every_likelihood import log_normal
from .fixtures import own_code

D = 2
INFERENCE = gi.architectures.networks.INFERENCE


def inputs(rng, input_dim, last_is_category=False, N=6):
    X = rng.normal(size=(N, input_dim))
    if last_is_category:
        X[:, -1] = np.arange(N) % 2
    return X


def shaken(model, seed=0):
    """The model away from its start, where unconstrained values are no round numbers."""
    rng = np.random.default_rng(seed)
    for variable in model.trainable_variables:
        noise = rng.normal(size=variable.shape)
        variable.assign_add(0.1 * noise.astype(variable.dtype.as_numpy_dtype))
    return model


def assert_same(model, read, X):
    """Bitwise the same predictions, and the same to train."""
    for mine, its in zip(predictions(model, X), predictions(read, X), strict=True):
        np.testing.assert_array_equal(mine, its)
    mine, its = (gpflow.utilities.parameter_dict(one) for one in (model, read))
    assert mine.keys() == its.keys()
    for place, parameter in mine.items():
        assert parameter.trainable == its[place].trainable, place
        if isinstance(parameter, gpflow.Parameter):
            assert (parameter.prior is None) == (its[place].prior is None)
    for one, other in zip(model.variables, read.variables, strict=True):
        np.testing.assert_array_equal(one, other)
    shapes = [[variable.shape for variable in one.trainable_variables] for one in (model, read)]
    assert shapes[0] == shapes[1]


def predictions(model, X):
    f = model.predict_f(X, num_samples=3, seed=1)
    return [*f, model.predict_f_samples(X, 2, seed=2)]


def there_and_back(model, tmp_path, **arguments):
    gi.save(model, tmp_path / "model")
    return gi.load(tmp_path / "model", **arguments)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel_class", "i"),
    [(cls, i) for cls in KERNELS for i in range(len(KERNELS[cls]))],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_every_kernel(kernel_class, i, rng, tmp_path):
    case = KERNELS[kernel_class][i]
    Z = inputs(rng, case.input_dim, case.last_is_category, 4)
    layer = gi.layers.GPLayer(
        case.make(), case.output_dim, gi.posteriors.GlobalInducing(4, case.output_dim)
    )
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(), num_data=10, inducing_inputs=Z)
    X = inputs(rng, case.input_dim, case.last_is_category)
    assert_same(model, there_and_back(model, tmp_path), X)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("likelihood_class", "i"),
    [(cls, i) for cls in LIKELIHOODS for i in range(len(LIKELIHOODS[cls]))],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_every_likelihood(likelihood_class, i, rng, tmp_path):
    case = LIKELIHOODS[likelihood_class][i]
    P = case.output_dim
    kernel = gpflow.kernels.Matern32()
    layers = [
        gi.layers.GPLayer(kernel, D, gi.posteriors.GlobalInducing(4, D)),
        gi.layers.GPLayer(kernel, P, gi.posteriors.GlobalInducing(4, P)),
    ]
    model = gi.models.DeepGP(
        layers, case.make(), num_data=10, inducing_inputs=rng.normal(size=(4, D))
    )
    ours = {"log_normal": log_normal}
    read = there_and_back(shaken(model), tmp_path, custom_objects=ours)
    assert read.layers[0].kernel is read.layers[1].kernel
    X, Y = rng.normal(size=(4, D)), case.targets(rng, case.target_columns)
    assert_same(model, read, X)
    for method in ("predict_log_density", "elbo"):
        mine, its = (getattr(one, method)((X, Y), num_samples=2, seed=3) for one in (model, read))
        np.testing.assert_array_equal(mine, its)


@pytest.mark.slow
@pytest.mark.parametrize("inference", ["global", "local", "full", "prior", ["local", "global"]])
@pytest.mark.parametrize(
    "mean_function",
    [
        lambda: None,
        lambda: gpflow.functions.Linear(np.eye(D), np.ones(D)),
        gpflow.functions.Constant,
    ],
    ids=["its own", "linear", "constant"],
)
def test_deep_gps(inference, mean_function, rng, tmp_path):
    X = rng.normal(size=(20, D))
    model = gi.architectures.build_deep_gp(
        X, rng.normal(size=(20, 1)), inference=inference, num_inducing=5
    )
    if mean_function() is not None:
        model.layers[0].mean_function = mean_function()
    assert_same(model, there_and_back(shaken(model), tmp_path), X)


@pytest.mark.slow
@pytest.mark.parametrize(
    "inference, prior",
    [
        *zip(INFERENCE, ["scale", "neal", "standard"] * 2, strict=True),
        ("global", "neal"),
        ("factorised", "scale"),
    ],
)
def test_networks(inference, prior, rng, tmp_path):
    X = rng.normal(size=(20, D))
    model = gi.architectures.build_bnn(
        X, rng.normal(size=(20, 1)), inference=inference, prior=prior, widths=(4,), num_inducing=5
    )
    assert_same(model, there_and_back(shaken(model), tmp_path), X)


@pytest.mark.parametrize("precision", ["diagonal", "full"])
@pytest.mark.parametrize("shared", [True, False])
def test_every_precision(precision, shared, rng, tmp_path):
    posterior = gi.posteriors.GlobalInducing(4, 3, precision=precision, shared=shared)
    layer = gi.layers.DenseLayer(D, 3, posterior, prior=gi.priors.NealPrior(learn_scale=True))
    model = gi.models.DeepGP(
        [layer],
        gpflow.likelihoods.Softmax(3),
        num_data=9,
        inducing_inputs=rng.normal(size=(4, D)),
    )
    read = there_and_back(shaken(model), tmp_path)
    assert read.layers[0].prior.is_type_ii
    assert_same(model, read, rng.normal(size=(5, D)))


@pytest.mark.parametrize("kind", ["weights", "inducing outputs"])
def test_recorded_draws(kind, rng, tmp_path):
    if kind == "weights":
        draws = gi.posteriors.Recorded(rng.normal(size=(6, D + 1, 1)))
        layer = gi.layers.DenseLayer(D, 1, draws)
    else:
        Z, z = rng.normal(size=(4, D)), rng.normal(size=(6, 4, 1))
        outputs = gi.posteriors.RecordedInducing(Z, z)
        layer = gi.layers.GPLayer(gpflow.kernels.SquaredExponential(), 1, outputs)
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(), num_data=9)
    X = rng.normal(size=(5, D))
    read = there_and_back(model, tmp_path)
    for mine, its in zip(
        model.predict_f(X, num_samples=6, seed=1),
        read.predict_f(X, num_samples=6, seed=1),
        strict=True,
    ):
        np.testing.assert_array_equal(mine, its)


def test_a_spatial_prior(rng):
    prior = gi.priors.SpatialIWPrior((1, 2), nu=3.0, psi=np.diag([1.0, 2.0]))
    for variable in prior.trainable_variables:
        variable.assign_add(rng.normal(size=variable.shape))
    encoder = Encoder()
    described = json.loads(json.dumps(encoder.describe(prior, "prior")))
    read = Decoder(encoder.arrays, Names()).make(described)
    assert read.kernel_size == (1, 2) and len(read.trainable_variables) == 2
    mine, its = (one.draw(8, 3, as_seed(0)) for one in (prior, read))
    for field in ("standard_deviation", "kl", "log_p_minus_log_q", "spatial_sqrt"):
        np.testing.assert_array_equal(getattr(mine, field), getattr(its, field))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["global", "location", "local", "factorised", "prior"])
def test_convolutions_and_blocks(kind, rng, tmp_path):
    shape = (4, 4, 2)
    layers = [
        random_conv_layer(rng, kind, shape, 2, 3),
        gi.layers.Residual(
            [random_conv_layer(rng, kind, shape, 3, (2, 3)), gi.nonlinearities.relu],
            shortcut=random_conv_layer(rng, "global", shape, 3, 1),
        ),
        tf_keras.layers.AveragePooling2D(2, dtype=gpflow.default_float()),
        random_conv_layer(rng, kind, (2, 2, 3), 3, 2, padding="valid", strides=2),
    ]
    model = gi.models.DeepGP(
        layers,
        gpflow.likelihoods.Softmax(3),
        num_data=9,
        inducing_inputs=rng.normal(size=(NUM_INDUCING, *shape)),
    )
    X = rng.normal(size=(5, *shape))
    read = there_and_back(shaken(model), tmp_path)
    assert_same(model, read, X)
    assert read.input_shape == shape


@pytest.mark.parametrize("kind", ["free", "encoder", "uncertain"])
def test_latent_variables(kind, rng, tmp_path):
    dense = tf_keras.layers.Dense(2, dtype=gpflow.default_float())
    below = {
        "free": lambda: gi.layers.LatentVariableLayer(1, num_data=5),
        "encoder": lambda: gi.layers.LatentVariableLayer(1, encoder=dense),
        "uncertain": lambda: gi.layers.UncertainInputs([0.1] * D),
    }[kind]()
    layers = [
        below,
        gi.layers.GPLayer(
            gpflow.kernels.Matern52(), 1, gi.posteriors.GlobalInducing(NUM_INDUCING, 1)
        ),
    ]
    model = shaken(
        gi.models.DeepGP(
            layers,
            gpflow.likelihoods.Gaussian(),
            num_data=5,
            inducing_inputs=rng.normal(size=(NUM_INDUCING, D)),
        )
    )
    X, Y = rng.normal(size=(5, D)), rng.normal(size=(5, 1))
    read = there_and_back(model, tmp_path)
    assert_same(model, read, X)
    np.testing.assert_array_equal(model.iwbo((X, Y), 3, seed=0), read.iwbo((X, Y), 3, seed=0))
    assert read.layers[0].num_data == model.layers[0].num_data


def test_all_layers_posteriors_and_priors_are_tested():
    """Here, in test_implicit.py, in test_optimal.py or, of priors, in tests/priors/test_ard.py."""
    implicit = {"FullGaussian", "ImplicitInducing"}
    tested = {
        gi.layers: {
            "GPLayer",
            "DenseLayer",
            "Conv2DLayer",
            "ImplicitLayer",
            "Residual",
            "Deterministic",
            "LatentVariableLayer",
            "UncertainInputs",
        },
        gi.posteriors: {
            "GlobalInducing",
            "LocalInducing",
            "Factorised",
            "Optimal",
            "Prior",
            "Recorded",
            "RecordedInducing",
            *implicit,
        },
        gi.priors: {"ARDPrior", "NealPrior", "StandardPrior", "ScalePrior", "SpatialIWPrior"},
    }
    bases = (
        gi.layers.Layer,
        gi.layers.Deterministic,
        gi.posteriors.Posterior,
        gi.priors.WeightPrior,
    )
    for package, names in tested.items():
        found = {
            name
            for name, thing in vars(package).items()
            if isinstance(thing, type)
            and issubclass(thing, bases)
            and not getattr(thing, "__abstractmethods__", None)
        }
        assert found == names


def test_priors_on_parameters_and_what_is_not_trained(rng, tmp_path):
    X = rng.normal(size=(20, D))
    model = gi.architectures.build_deep_gp(X, rng.normal(size=(20, 1)), num_inducing=5)
    kernel = model.layers[0].kernel
    kernel.variance.prior = tfp.distributions.Gamma(
        np.float64(2.0), rate=tf.constant(3.0, tf.float64)
    )
    kernel.lengthscales.prior = tfp.distributions.LogNormal(np.float64(0.1), np.float64(1.0))
    kernel.lengthscales.prior_on = "unconstrained"
    gpflow.set_trainable(model.likelihood, False)
    read = there_and_back(model, tmp_path)
    assert_same(model, read, X)
    np.testing.assert_array_equal(model.log_prior_density(), read.log_prior_density())


def network_with(function, rng):
    layers = [
        gi.layers.DenseLayer(D, 3, gi.posteriors.GlobalInducing(4, 3)),
        function,
        gi.layers.DenseLayer(3, 1, gi.posteriors.GlobalInducing(4, 1)),
    ]
    return gi.models.DeepGP(
        layers,
        gpflow.likelihoods.Gaussian(),
        num_data=9,
        inducing_inputs=rng.normal(size=(4, D)),
    )


@pytest.mark.parametrize(
    "function", [own_code.doubled, own_code.Leaky()], ids=["function", "module"]
)
def test_code_of_ones_own_has_to_be_handed_over(function, rng, tmp_path):
    model = shaken(network_with(function, rng))
    name = getattr(function, "__name__", "Leaky")
    thing = getattr(own_code, name)
    X = rng.normal(size=(5, D))
    with pytest.warns(UserWarning, match=rf"own_code:{name}, .*trusted=\[{name}\]"):
        gi.save(model, tmp_path / "model")
    for given in ({"trusted": [thing]}, {"custom_objects": {name: thing}}):
        assert_same(model, gi.load(tmp_path / "model", **given), X)
    with pytest.raises(LoadError, match=rf"uses '{name}'.*trusted=\[{name}\]") as error:
        gi.load(tmp_path / "model")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("function", [tf.nn.relu, gi.nonlinearities.erf, tf.nn.gelu])
def test_functions_with_a_name(function, rng, tmp_path):
    model = network_with(function, rng)
    assert_same(model, there_and_back(model, tmp_path), rng.normal(size=(5, D)))


def test_keras_layers(rng, tmp_path):
    model = network_with(tf_keras.layers.Dense(3, activation="tanh", dtype=np.float64), rng)
    model.predict_f(rng.normal(size=(2, D)))
    read = there_and_back(shaken(model), tmp_path)
    assert_same(model, read, rng.normal(size=(5, D)))
    gi.fit(read, (rng.normal(size=(9, D)), rng.normal(size=(9, 1))), steps=2, progress=False)


@pytest.mark.slow
def test_float32(rng, tmp_path):
    with gpflow.config.as_context():
        gpflow.config.set_default_float(np.float32)
        gpflow.config.set_default_jitter(1e-4)
        X = rng.normal(size=(20, D)).astype(np.float32)
        model = gi.architectures.build_bnn(X, X[:, :1], widths=(4,), num_inducing=5)
        assert_same(model, there_and_back(shaken(model), tmp_path), X)
    with pytest.raises(LoadError, match=r"saved in float32.*set_default_float\(np.float32\)"):
        gi.load(tmp_path / "model")
    with gpflow.config.as_context():
        gpflow.config.set_default_float(np.float32)
        with pytest.warns(UserWarning, match="default jitter at 0.0001"):
            gi.load(tmp_path / "model")


def test_the_quadrature_of_a_heteroskedastic_likelihood(rng, tmp_path):
    rule = gpflow.quadrature.NDiagGHQuadrature(2, 3)
    likelihood = gpflow.likelihoods.HeteroskedasticTFPConditional(quadrature=rule)
    layer = gi.layers.GPLayer(
        gpflow.kernels.Matern32(), 2, gi.posteriors.LocalInducing(rng.normal(size=(4, 2)), 2)
    )
    model = shaken(gi.models.DeepGP([layer], likelihood, num_data=6))
    read = there_and_back(model, tmp_path)
    data = rng.normal(size=(6, 2)), rng.normal(size=(6, 1))
    assert read.likelihood.quadrature.n_gh_total == 9
    assert float(read.elbo(data, seed=0)) == float(model.elbo(data, seed=0))
    model.likelihood.quadrature = gpflow.quadrature.NDiagGHQuadrature(2, 20)
    assert float(read.elbo(data, seed=0)) != float(model.elbo(data, seed=0))


@pytest.mark.slow
def test_kernels_inside_may_take_other_columns_than_the_layer(rng, tmp_path):
    patches = gpflow.kernels.SquaredExponential(lengthscales=np.ones(4))
    inner = gi.architectures.build_deep_gp(
        rng.normal(size=(20, 2)), rng.normal(size=(20, 1)), num_inducing=4, hidden_dim=3
    )
    empirical, mean = gi.implicit.empirical_gp(gi.implicit.PriorProcess(inner), 20)
    wide = gpflow.kernels.SquaredExponential(lengthscales=np.ones(3))
    for kernel, columns, mean_function in (
        (gpflow.kernels.Convolutional(patches, [3, 3], [2, 2]), 9, None),
        (empirical, 2, mean),
    ):
        q = gi.posteriors.LocalInducing(rng.normal(size=(3, columns)), 1)
        layer = gi.layers.GPLayer(kernel, 1, q, mean_function=mean_function)
        model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(), num_data=12)
        assert_same(model, there_and_back(model, tmp_path), rng.normal(size=(4, columns)))
    # One column is stretched to any number of lengthscales.
    q = gi.posteriors.LocalInducing(rng.normal(size=(3, 1)), 1)
    plain = gpflow.kernels.SquaredExponential()
    for kernel in (wide, plain + wide, gpflow.kernels.Periodic(wide) * plain):
        layer = gi.layers.GPLayer(kernel, 1, q)
        model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(), num_data=12)
        gi.save(model, tmp_path / "model")
        with pytest.raises(LoadError, match="a kernel has 3 lengthscales, but gets 1 columns"):
            gi.load(tmp_path / "model")


@pytest.mark.slow
def test_what_was_read_goes_on_training_as_what_was_saved(rng, tmp_path):
    X = rng.normal(size=(20, D))
    data = X, np.sin(X[:, :1])
    model = gi.architectures.build_deep_gp(*data, num_inducing=5)
    read = there_and_back(model, tmp_path)
    for one in (model, read):
        gi.fit(one, data, steps=5, progress=False)
    assert_same(model, read, X)


@pytest.mark.slow
@pytest.mark.parametrize("build", ["deep_gp", "bnn"])
def test_fitted_models_can_be_pickled_and_checkpointed(build, rng, tmp_path):
    X = rng.normal(size=(20, D))
    data = X, np.sin(X[:, :1])
    make = getattr(gi.architectures, f"build_{build}")
    model, other = (make(*data, num_inducing=5, seed=seed) for seed in (0, 1))
    gi.fit(model, data, steps=3, progress=False)
    assert_same(model, pickle.loads(pickle.dumps(model)), X)
    prefix = tf.train.Checkpoint(model=model).save(str(tmp_path / "checkpoint"))
    tf.train.Checkpoint(model=other).restore(prefix).assert_consumed()
    assert_same(model, other, X)


@pytest.mark.slow
def test_another_process_has_the_same_predictions(rng, tmp_path):
    X = rng.normal(size=(7, D))
    Y = rng.normal(size=(7, 1))
    models = [
        gi.architectures.build_deep_gp(X, Y, inference=["local", "global"], num_inducing=5),
        gi.architectures.build_bnn(X, Y, inference="global", prior="scale", num_inducing=5),
    ]
    np.save(tmp_path / "X.npy", X)
    for i, model in enumerate(models):
        gi.save(shaken(model), tmp_path / f"{i}")
    script = (
        "import numpy as np, gpflow_gi as gi\n"
        f"X = np.load({str(tmp_path / 'X.npy')!r})\n"
        f"for i in range({len(models)}):\n"
        f"    model = gi.load({str(tmp_path)!r} + f'/{{i}}')\n"
        f"    f = model.predict_f(X, num_samples=3, seed=1)\n"
        f"    np.save({str(tmp_path)!r} + f'/{{i}}.npy', np.stack(f))\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    for i, model in enumerate(models):
        expected = np.stack(model.predict_f(X, num_samples=3, seed=1))
        np.testing.assert_array_equal(np.load(tmp_path / f"{i}.npy"), expected)


# Failures


@pytest.fixture
def model(rng):
    X = rng.normal(size=(9, D))
    return gi.architectures.build_bnn(X, X[:, :1], widths=(3,), num_inducing=4)


def test_what_has_no_name_cannot_be_saved(rng, tmp_path):
    model = network_with(lambda x: tf.nn.relu(x), rng)
    with pytest.raises(SaveError, match=r"model.layers\[1\].function is .*lambda.*Define it"):
        gi.save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())
    with pytest.raises(TypeError, match=r"model must be one of .*DeepGP, but is a Gaussian"):
        gi.save(gpflow.likelihoods.Gaussian(), tmp_path / "model")


def test_files_that_cannot_be_written_or_read(model, tmp_path):
    with pytest.raises(SaveError, match="cannot be written"):
        gi.save(model, tmp_path / "no" / "such" / "folder")
    with pytest.raises(LoadError, match="there is no such file"):
        gi.load(tmp_path / "nothing")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(LoadError, match="damaged, or is not a model"):
        gi.load(tmp_path / "text")


@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
def test_a_file_cut_short_is_damaged(share, model, tmp_path):
    path = tmp_path / "model"
    gi.save(model, path)
    os.truncate(path, int(share * path.stat().st_size))
    with pytest.raises(LoadError, match="damaged"):
        gi.load(path)


def test_a_changed_byte_is_damage(model, tmp_path):
    path = tmp_path / "model"
    gi.save(model, path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)
    with pytest.raises(LoadError, match="damaged"):
        gi.load(path)


def test_an_earlier_file_survives_a_failure(model, tmp_path, monkeypatch):
    path = tmp_path / "model"
    gi.save(model, path)
    before = path.read_bytes()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(replacing.os, "fsync", full)
    with pytest.raises(SaveError, match="No space left"):
        gi.save(model, path)
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1


def rewritten(path, change):
    """The file with another architecture."""
    with zipfile.ZipFile(path) as file:
        architecture = json.loads(file.read(archive.ARCHITECTURE))
        numbers = file.read(archive.PARAMETERS)
    change(architecture)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(archive.ARCHITECTURE, json.dumps(architecture))
        file.writestr(archive.PARAMETERS, numbers)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "one"},
        {"format": None},
        {"versions": None},
        {"config": None},
        {"config": {}},
        {"config": {"default_float": "float65", "default_jitter": 1e-6}},
        {"config": {"default_float": "float64", "default_jitter": None}},
    ],
    ids=str,
)
def test_an_architecture_that_lacks_something_is_damage(change, model, tmp_path):
    path = tmp_path / "model"
    gi.save(model, path)
    rewritten(path, lambda architecture: architecture.update(change))
    with pytest.raises(LoadError, match="is damaged"):
        gi.load(path)


def test_newer_files_and_strange_names_are_refused(model, tmp_path):
    path = tmp_path / "model"
    gi.save(model, path)

    def newer(architecture):
        architecture["format"] = archive.FORMAT + 1
        architecture["versions"]["gpflow_gi"] = "99.0"

    rewritten(path, newer)
    with pytest.raises(LoadError, match=r"written by gpflow_gi 99\.0.*pip install"):
        gi.load(path)
    # Before anything is asked of an architecture that may be of another shape
    rewritten(path, lambda architecture: architecture.pop("config"))
    with pytest.raises(LoadError, match="pip install"):
        gi.load(path)
    for name in ("os:system", "gpflow_gi.models.deep_gp:DeeperGP"):
        gi.save(model, path)
        rewritten(path, lambda architecture, name=name: architecture["model"].update(object=name))
        with pytest.raises(LoadError, match=f"uses '{name.partition(':')[2]}' of the module"):
            gi.load(path)
    gi.save(model, path)
    rewritten(path, lambda architecture: architecture["model"].update(attributes={"layers": {}}))
    with pytest.raises(LoadError, match="cannot be loaded"):
        gi.load(path)
