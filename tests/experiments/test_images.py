"""Classification of images: the data, the measures and what is written."""

import json
from dataclasses import replace

import gpflow
import numpy as np
import pytest

from gpflow_gi import __version__, classification_metrics
from gpflow_gi.datasets import DataError, as_images
from gpflow_gi.experiments import images, study
from gpflow_gi.training import FitRecord

TINY = images.Settings(
    prior="scale",
    width=2,
    num_inducing=5,
    steps=6,
    batch_size=50,
    kl_warmup=2,
    num_elbo_samples=2,
    num_test_samples=3,
)


@pytest.mark.slow
def test_digits_are_standardised_and_photographs_with_them():
    task = images.load("digits", 0)
    assert task.train.X.shape == (1438, 8, 8, 1) and task.test.X.shape == (359, 8, 8, 1)
    assert task.train.X.dtype == task.test.X.dtype == task.outside.dtype == np.float32
    assert task.train.X.mean() == pytest.approx(0.0, abs=1e-5)
    assert task.train.X.std() == pytest.approx(1.0, abs=1e-5)
    assert task.outside.shape == task.test.X.shape
    # Black and white are where they are in the digits.
    assert task.train.X.min() <= task.outside.min() and task.outside.max() <= task.train.X.max()
    np.testing.assert_array_equal(task.outside, images.load("digits", 0).outside)
    assert np.any(task.outside != images.load("digits", 1).outside)


def test_photographs_are_cut_into_whole_patches(monkeypatch):
    colours = np.arange(17 * 24 * 3).reshape(17, 24, 3) % 251  # one row of pixels is left over
    monkeypatch.setattr(
        "sklearn.datasets.load_sample_images", lambda: type("Bunch", (), {"images": [colours]})
    )
    cuts = images._photographs(6, np.random.default_rng(0), 8)
    expected = [
        colours[r : r + 8, c : c + 8].mean(axis=2) / 255 for r in (0, 8) for c in (0, 8, 16)
    ]

    def in_order(several):
        return np.array(sorted(cut.reshape(-1).tolist() for cut in several))

    np.testing.assert_allclose(in_order(cuts), in_order(expected))


def fake_mnist(monkeypatch, number=40):
    """Random images of MNIST's size, 40 to train on and 20 to test."""
    rng = np.random.default_rng(0)
    sets = [
        as_images(rng.integers(0, 256, (n, 28, 28, 1), np.uint8), np.arange(n) % 10)
        for n in (number, number // 2)
    ]
    monkeypatch.setattr(images, "images", lambda name: sets)


@pytest.mark.slow
def test_mnist_as_images_and_as_pixels(monkeypatch):
    fake_mnist(monkeypatch, number=1600)
    task = images.load("mnist", 0)
    # As many cuts as there are in two photographs of 427 x 640.
    assert task.outside.shape == (2 * 15 * 22, 28, 28, 1)
    pixels = task.of_pixels()
    np.testing.assert_array_equal(pixels.train.X.reshape(task.train.X.shape), task.train.X)
    assert pixels.outside.shape == (660, 784)
    assert {name: X.shape for name, X in pixels.further.items()} == {
        name: (800, 784) for name in ("noise", "rotated", "scaled", "letters")
    }


@pytest.mark.slow
def test_a_deep_gp_learns_handwritten_digits():
    task = images.load("mnist5k", 0).of_pixels()
    train, test = task.train, task.test
    labels = np.ravel(train.Y)
    means = np.stack([train.X[labels == label].mean(axis=0) for label in range(10)])
    nearest = ((test.X[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)[:, None]
    settings = replace(TINY, num_inducing=30, steps=300, batch_size=200, num_test_samples=10)
    with gpflow.config.as_context():
        gpflow.config.set_default_float(images.FLOAT)
        gpflow.config.set_default_jitter(images.JITTER)
        found = images._train(task, "deep GP, global", settings, 0, False)
    assert found["accuracy"] > np.mean(nearest == test.Y) > 0.75
    # Noise is no digit.
    assert found["further_auroc"]["noise"] > 0.9


@pytest.mark.longest
def test_deep_gps_stand_beside_the_networks(monkeypatch):
    fake_mnist(monkeypatch)
    monkeypatch.setitem(images.USUAL, "mnist", replace(TINY, methods=("factorised",)))
    monkeypatch.setitem(images.OF_DEEP_GPS, "mnist", {"num_inducing": 6, "steps": 3})
    results = study.run("images", data="mnist", announce=lambda _: None, progress=False)
    names = [one["method"] for one in results["networks"]]
    assert names == ["factorised", "deep GP, local", "deep GP, global"]
    assert [one["training"]["step"] for one in results["networks"]] == [TINY.steps, 3, 3]
    assert "deep GP, global" in study.summary(results)


def test_measures_are_kept_and_errors_are_not(monkeypatch, tmp_path):
    outcomes = [{"error": "not finite"}, {"accuracy": 0.5}]
    monkeypatch.setattr(images, "_train", lambda *_: outcomes.pop(0))
    for expected in ({"error": "not finite"}, {"accuracy": 0.5}, {"accuracy": 0.5}):
        assert images._once(tmp_path, None, "local", TINY, 0, False) == expected
    assert outcomes == []


@pytest.mark.longest
@pytest.mark.slow
def test_a_run_measures_all_networks(monkeypatch, tmp_path):
    methods = ("local", "factorised -> global")
    monkeypatch.setitem(images.FAST, "digits", replace(TINY, methods=methods))
    results = study.run("images", fast=True, announce=lambda _: None, progress=False)
    assert gpflow.default_float() == np.float64  # as it was before
    assert results["options"]["data"] == results["data"] == "digits"
    assert [one["method"] for one in results["networks"]] == list(methods)
    for one in results["networks"]:
        assert 0 <= one["accuracy"] <= 1 and one["elbo"]["mean"] < 0
        assert one["seconds_per_epoch"] > 0
        # The figure's bins hold all images, and are those of the accuracy.
        bins = one["reliability"]
        right = np.nansum(np.array(bins["size"]) * np.array(bins["accuracy"], float))
        assert sum(bins["size"]) == results["num_test"] == 359
        assert right == pytest.approx(359 * one["accuracy"])
        for name in ("inside", "outside"):
            assert sum(one["entropy"][name]) == pytest.approx(1.0)
        assert one["training"]["step"] == TINY.steps
    study.write(results, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"results.json", "figure.png"}
    read = json.loads((tmp_path / "results.json").read_text())
    assert all(len(line) <= 80 for line in study.summary(read).splitlines())
    assert "letters" in study.summary(read)
    assert f"{100 * read['networks'][1]['accuracy']:.2f}" in study.summary(read)


def test_the_settings_of_cifar10_are_the_papers():
    """Its section 3.4: two priors without tempering, and a ResNet-18 with it."""
    usual = {name: one for name, one in images.USUAL.items() if name.startswith("cifar10")}
    assert {name: one.prior for name, one in usual.items()} == {
        "cifar10": "spatial",
        "cifar10-scale": "scale",
        "cifar10-resnet18": "spatial",
    }
    assert all(one.num_inducing == 500 for one in usual.values())
    tempered = usual.pop("cifar10-resnet18")
    assert tempered.temperature == 1 / 20 and tempered.augmented
    assert tempered.methods == ("factorised", "factorised -> global")
    for one in usual.values():
        assert one.temperature == 1.0 and not one.augmented and one.methods == images.METHODS


@pytest.mark.longest
def test_a_resnet18_is_trained_tempered_and_augmented(monkeypatch):
    rng = np.random.default_rng(0)
    sets = [
        as_images(rng.integers(0, 256, (n, 16, 16, 3), np.uint8), np.arange(n) % 10)
        for n in (40, 20)
    ]
    monkeypatch.setattr(images, "images", lambda name: sets)
    tiny = replace(TINY, methods=("factorised -> global",), batch_size=20)
    own = {"resnet18": True, "temperature": 0.05, "augmented": True, "prior": "spatial"}
    monkeypatch.setitem(images.FAST, "cifar10-resnet18", replace(tiny, **own))
    results = study.run(
        "images", fast=True, data="cifar10-resnet18", announce=lambda _: None, progress=False
    )
    (found,) = results["networks"]
    assert "tempered augmented" in found["training"]["reports"][-1]["name"]
    assert np.isfinite(found["elbo"]["mean"]) and results["num_outside"] == 20
    assert "weighted by 0.05" in study.summary(results)
    images.plot(results)


def test_measures_are_those_of_the_predictions(monkeypatch):
    task = images.load("digits", 0)
    rng = np.random.default_rng(0)

    class Model:
        """Knows the labels of most test images, and nothing of others."""

        def predict_proba(self, X, num_samples, seed):
            assert (num_samples, seed) == (7, 3)
            if X is task.outside or X is task.further["noise"]:
                return np.full((len(X), 10), 0.1)
            if any(X is one for one in task.further.values()):
                return np.eye(10)[np.zeros(len(X), int)]
            labels = task.test.Y[:, 0].astype(int)
            labels = np.where(rng.random(len(X)) < 0.9, labels, (labels + 1) % 10)
            self.P = 0.01 + 0.9 * np.eye(10)[labels]
            return self.P

    model = Model()
    measured = images._measured(model, task, 7, 3)
    labels = task.test.Y
    is_right = model.P.argmax(axis=1) == labels[:, 0]
    assert measured["accuracy"] == is_right.mean()
    assert measured["auroc"] == 1.0
    expected = {"noise": 1.0, "rotated": 0.0, "scaled": 0.0, "letters": 0.0}
    assert measured["further_auroc"] == expected
    assert measured["ece"] == pytest.approx(abs(is_right.mean() - 0.91))
    log_density = np.where(is_right, np.log(0.91), np.log(0.01))
    assert measured["log_density"]["mean"] == pytest.approx(log_density.mean())
    assert measured["brier_score"] == pytest.approx(
        classification_metrics.brier_score(labels, model.P).mean()
    )
    # All are in the bin of their entropy: what is known for sure, and what is not known at all.
    assert measured["entropy"]["outside"] == [0.0] * 9 + [1.0]
    assert measured["entropy"]["inside"][2] == 1.0  # 0.50 of 2.30 nats


@pytest.mark.longest
def test_a_run_goes_on_where_it_stopped(monkeypatch, tmp_path):
    methods = ("factorised", "factorised -> global")
    monkeypatch.setitem(images.FAST, "digits", replace(TINY, methods=methods))
    measured = images._measured
    begun = []

    def stops(*arguments):
        begun.append(arguments)
        if len(begun) == 2:
            raise KeyboardInterrupt
        return measured(*arguments)

    options = {"fast": True, "announce": lambda _: None, "progress": False}
    expected = study.run("images", **options)["networks"]
    monkeypatch.setattr(images, "_measured", stops)
    with pytest.raises(KeyboardInterrupt):
        study.run("images", **options, checkpoints=tmp_path)
    found = study.run("images", **options, checkpoints=tmp_path)["networks"]
    assert len(begun) == 3  # the first model was measured once
    for one, other in zip(found, expected, strict=True):
        same = {name: one[name] == other[name] for name in other}
        assert [name for name in same if not same[name]] == ["seconds_per_epoch", "training"]
        bounds = [[report["bound"] for report in x["training"]["reports"]] for x in (one, other)]
        assert bounds[0] == bounds[1]
    study.run("images", **options, seed=1, checkpoints=tmp_path)
    names = {f"digits-fast-seed{seed}-v{__version__}" for seed in (0, 1)}
    assert {path.name for path in tmp_path.iterdir()} == names


@pytest.mark.slow
def test_a_network_that_fails_leaves_the_others(monkeypatch):
    def fit(model, *_, **__):
        raise images.NonFiniteError("The bound is NaN.", step=1, record=FitRecord())

    monkeypatch.setattr(images, "fit", fit)
    monkeypatch.setitem(images.FAST, "digits", TINY)
    results = study.run("images", fast=True, announce=lambda _: None, progress=False)
    assert [one["error"] for one in results["networks"]] == ["The bound is NaN."] * 4
    assert len(study.summary(results).splitlines()) > 5
    images.plot(results)


def test_what_cannot_be_had_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("GPFLOW_GI_DATA", str(tmp_path))
    with pytest.raises(DataError, match="cifar-10-binary"):
        study.run("images", fast=True, data="cifar10", announce=lambda _: None)
