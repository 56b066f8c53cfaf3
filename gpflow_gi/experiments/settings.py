"""Settings of a comparison, readable without importing TensorFlow."""

from dataclasses import dataclass, replace

from gpflow_gi.benchmark.budgets import Budget
from gpflow_gi.benchmark.methods import METHODS, Method

FILES = ("results.json", "table.txt", "training_curves.png", "predictions.png", "map.png")
"""Files that a comparison writes; a map only of a table with two inputs."""

MODELS = ("deep-gp", "bnn")
PRIORS = ("neal", "standard", "scale", "learned", "ard")

USUAL = {
    "deep-gp": ("svgp", "dgp-local", "dgp-global"),
    "bnn": ("svgp", "bnn-factorised", "bnn-local", "bnn-global"),
}
"""The names of what is compared if nothing else is asked for, by the kind of model."""

FORMS = (
    *("local", "global", "global-unshared", "global-whitened", "global-full"),
    "global-unshared-own",
)
"""Deep GPs that can be compared: the benchmark's names without "dgp-" and the number of layers."""


@dataclass(frozen=True)
class Settings:
    """The settings that all compared models share.

    :param model: kind of model, "deep-gp" or "bnn".
    :param compared: names of :meth:`known`, in the order of training; empty for the usual ones.
    :param num_layers: number of GP layers of the deep GPs.
    :param widths: widths of the networks' hidden layers.
    :param prior: prior over the networks' weights, "neal", "standard", "scale",
        "learned" or "ard".
    :param num_inducing: number of inducing points of every layer and of the sparse GP; at most the
        number of training rows.
    :param steps: number of steps of Adam.
    :param num_samples: number of samples of the layers below the last, in every step.
    :param num_test_samples: the same for the final bound and for predictions.
    :param batch_size: rows of every step; at most all of them.
    :param learning_rate: learning rate of Adam in the first half of the steps; then a tenth of it.
    :param kl_warmup: steps over which the weight of the KL term rises to 1; at most a third of all.
    :param until_converged: True to end the training of a model when its bound no longer rises; then
        `steps` is the largest number.
    :param jitter: jitter of kernel matrices, relative to the kernel's variance; None for GPflow's.
    :param test_fraction: share of rows held out, in (0, 1).
    :param seed: seed of the split, of the models' start and of training.
    """

    model: str = "deep-gp"
    compared: tuple[str, ...] = ()
    num_layers: int = 2
    widths: tuple[int, ...] = (50, 50)
    prior: str = "neal"
    num_inducing: int = 100
    steps: int = 2000
    num_samples: int = 1
    num_test_samples: int = 100
    batch_size: int = 1000
    learning_rate: float = 0.02
    kl_warmup: int = 1000
    until_converged: bool = False
    jitter: float | None = None
    test_fraction: float = 0.1
    seed: int = 0

    def budget(self) -> Budget:
        """The same settings as a budget of the benchmark's trials."""
        return Budget(
            name="compare",
            steps=self.steps,
            learning_rate=self.learning_rate,
            last_learning_rate=0.1 * self.learning_rate,
            kl_warmup=self.kl_warmup,
            batch_size=self.batch_size,
            num_inducing=self.num_inducing,
            num_samples=self.num_samples,
            num_test_samples=self.num_test_samples,
            num_elbo_samples=self.num_test_samples,
        )

    def known(self) -> dict[str, Method]:
        """The methods that can be compared, by name: those of the benchmark with these settings."""
        if self.model == "deep-gp":
            known = [self._deep_gp(form) for form in FORMS]
        else:
            found = [one for one in METHODS.values() if one.settings.get("prior") == "neal"]
            known = [self._network(one) for one in found]
        return {one.name: one for one in (METHODS["svgp"], *known)}

    def _network(self, method: Method) -> Method:
        """A network of the benchmark with these settings' prior and widths.

        That of a method of one hidden layer is the first.
        """
        widths = self.widths[:1] if len(method.settings["widths"]) == 1 else self.widths
        ours = {"widths": widths, "prior": self.prior}
        return replace(method, settings={**method.settings, **ours})

    def _deep_gp(self, form: str) -> Method:
        """The deep GP of a name of :data:`FORMS`, with these settings' number of layers."""
        family, *parts = form.split("-", 1)
        method = METHODS["-".join(("dgp", family, "2", *parts))]
        settings = {**method.settings, "num_layers": self.num_layers}
        if isinstance(settings["inference"], list):
            below, last = settings["inference"]
            settings["inference"] = [*[below] * (self.num_layers - 1), last]
        title = f"Deep GP, {parts[0] if parts else family}"  # short, for tables of 80 columns
        return replace(method, name=f"dgp-{form}", title=title, settings=settings)

    def methods(self) -> list[Method]:
        """The compared methods, in the order of training."""
        known = self.known()
        return [known[name] for name in self.compared or USUAL[self.model]]
