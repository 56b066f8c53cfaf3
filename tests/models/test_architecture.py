"""A model's architecture in words."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = X[:, :1]


def numbers_of(model):
    return sum(int(tf.size(variable)) for variable in model.trainable_variables)


def test_a_line_for_each_layer():
    model = gi.architectures.build_deep_gp(
        X, Y, num_layers=3, inference=["local", "global", "prior"], hidden_dim=2, num_inducing=10
    )
    title, *layers, likelihood = repr(model).splitlines()
    assert title == (
        f"DeepGP of {numbers_of(model)} trained numbers, for 30 rows, with 10 global inducing "
        "inputs"
    )
    said = [line.split() for line in layers]
    assert [line[:5] for line in said] == [[str(i), "GPLayer", str(D), "->", str(P)] for i, D, P in
                                           [(1, 3, 2), (2, 2, 2), (3, 2, 1)]]  # fmt: skip
    assert [line[5] for line in said] == ["LocalInducing", "GlobalInducing", "Prior"]
    assert {line[6] for line in said} == {"SquaredExponential"}
    assert likelihood.split() == ["Gaussian", "likelihood", "1"]
    # What the lines count is what there is, with the inducing inputs.
    counts = [int(line[7]) for line in said]
    assert sum(counts) + 1 + 10 * 3 == numbers_of(model)
    assert str(model) == repr(model)
    model = gi.architectures.build_deep_gp(X, Y, num_inducing=10, own_share=0.3)
    assert "with 7 global inducing inputs" in repr(model)
    assert "2  GPLayer  3 -> 1  GlobalInducing, 3 points of its own  Squared" in repr(model)


def test_networks_and_blocks_and_kernels_of_each_output():
    network = gi.architectures.build_bnn(X, Y, widths=(5,), inference="factorised")
    text = repr(network)
    assert "1  DenseLayer  3 -> 5  Factorised  NealPrior  40" in text  # 4 x 5 means and variances
    assert "global inducing" not in text and "relu" in text
    images = RNG.normal(size=(12, 8, 8, 1))
    resnet = gi.architectures.build_resnet(
        images, np.arange(12)[:, None] % 3, width=4, num_blocks=1, num_inducing=6
    )
    lines = repr(resnet).splitlines()
    assert any("Conv2DLayer  8 x 8 x 1 -> 8 x 8 x 4" in line for line in lines)
    assert any(line.split()[1:2] == ["Residual"] for line in lines)
    kernels = [gpflow.kernels.Matern52(), gpflow.kernels.Linear()]
    last = gi.layers.GPLayer(kernels, 2, gi.posteriors.Prior())
    model = gi.models.DeepGP([last], gpflow.likelihoods.Gaussian(), num_data=3)
    assert "1  GPLayer  ? -> 2  Prior  Matern52, Linear  " in repr(model)


def test_a_summary_is_lines_and_gpflows_table(capsys):
    model = gi.architectures.build_deep_gp(X, Y, num_inducing=10)
    gi.models.print_summary(model)
    said = capsys.readouterr().out
    gpflow.utilities.print_summary(model)
    assert said == f"{model!r}\n\n{capsys.readouterr().out}"
    gi.models.print_summary(gpflow.models.GPR((X, Y), gpflow.kernels.Linear()))
    assert capsys.readouterr().out.lstrip().startswith("╒")
    network = gi.architectures.build_bnn(X, Y, widths=(5,), num_inducing=10)
    gi.models.print_summary(gi.inference.Samples(network, np.zeros((2, 26))))
    said = capsys.readouterr().out
    assert said.startswith("Samples of all weights of this network:\nDeepGP of ")
    assert "DenseLayer  3 -> 5  Prior" in said
    with pytest.raises(TypeError, match="must be a GPflow model, but is a str"):
        gi.models.print_summary("model")
