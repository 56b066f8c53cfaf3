"""GPyTorch's deep GP, in a process that has PyTorch and not TensorFlow.

python gpytorch_deep_gp.py START.npz --samples S [--batch B] [--threads T]

Reads a command on each line of its input, and prints a JSON line for each: "steps N" trains,
"bounds N" estimates the bound, "log_density N" that of held-out rows by N samples.
"""

import argparse
import json
import sys
import time

import gpytorch
import numpy as np
import torch
from gpytorch.models.deep_gps import DeepGP, DeepGPLayer
from gpytorch.variational import CholeskyVariationalDistribution, VariationalStrategy


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("start")
    parser.add_argument("--samples", type=int, required=True)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    gpytorch.settings.debug._set_state(False)  # its checks of shapes take time
    run = Run(np.load(options.start), options.samples, options.batch)
    versions = {"torch": torch.__version__, "gpytorch": gpytorch.__version__}
    print(json.dumps(versions), flush=True)
    for line in sys.stdin:
        command, number = line.split()
        start = time.process_time()
        result = getattr(run, command)(int(number))
        print(json.dumps({"cpu": time.process_time() - start, "result": result}), flush=True)


class IdentityMean(gpytorch.means.Mean):
    """Output p of a layer is its input p, plus a GP of mean zero."""

    def forward(self, x):
        """:param x: [..., P, N, P], the inputs once for each output."""
        return torch.diagonal(x, dim1=-3, dim2=-1).mT


class Layer(DeepGPLayer):
    """Whitened inducing points; kernel and inducing inputs are shared by the outputs."""

    def __init__(self, start, last):
        outputs, num_inducing, _ = start["q_sqrt"].shape
        batch = torch.Size([] if last else [outputs])
        q = CholeskyVariationalDistribution(num_inducing, batch_shape=batch)
        strategy = VariationalStrategy(
            self, torch.tensor(start["Z"]), q, learn_inducing_locations=True
        )
        input_dim = start["Z"].shape[1]
        super().__init__(strategy, input_dim, None if last else outputs)
        self.mean_module = gpytorch.means.ZeroMean() if last else IdentityMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(
            gpytorch.kernels.RBFKernel(ard_num_dims=input_dim)
        )
        self.covar_module.outputscale = float(start["variance"])
        self.covar_module.base_kernel.lengthscale = torch.tensor(start["lengthscales"])
        q.variational_mean.data = torch.tensor(start["q_mu"].T.reshape(*batch, num_inducing))
        q.chol_variational_covar.data = torch.tensor(
            start["q_sqrt"].reshape(*batch, num_inducing, num_inducing)
        )
        strategy.variational_params_initialized.fill_(1)

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Model(DeepGP):
    def __init__(self, layers):
        super().__init__()
        self.layers = torch.nn.ModuleList(layers)
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood()

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Run:
    def __init__(self, start, num_samples, batch_size):
        self.X, self.Y = torch.tensor(start["X"]), torch.tensor(start["Y"][:, 0])
        self.held_out = torch.tensor(start["X_test"]), torch.tensor(start["Y_test"][:, 0])
        self.num_samples, self.batch_size = num_samples, batch_size or len(self.X)
        count = int(start["num_layers"])
        layers = [
            Layer({key: start[f"{key}{i}"] for key in KEYS}, last=i + 1 == count)
            for i in range(count)
        ]
        self.model = Model(layers)
        self.model.likelihood.noise = float(start["noise"])
        objective = gpytorch.mlls.VariationalELBO(self.model.likelihood, self.model, len(self.X))
        self.objective = gpytorch.mlls.DeepApproximateMLL(objective)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=LEARNING_RATE)
        self.order = torch.randperm(len(self.X))

    def steps(self, number):
        """Take training steps; returns the last bound per row."""
        with gpytorch.settings.num_likelihood_samples(self.num_samples):
            for _ in range(number):
                X, Y = self._next_rows()
                self.optimizer.zero_grad()
                loss = -self.objective(self.model(X), Y)
                loss.backward()
                self.optimizer.step()
        return -float(loss.detach())

    def bounds(self, number):
        """Estimates of the bound per row on all rows."""
        with torch.no_grad(), gpytorch.settings.num_likelihood_samples(1):
            return [float(self.objective(self.model(self.X), self.Y)) for _ in range(number)]

    def log_density(self, number):
        """The mean log density of the mixture over samples, of standardised held-out targets."""
        X, Y = self.held_out
        self.model.eval()
        with torch.no_grad(), gpytorch.settings.num_likelihood_samples(number):
            each = self.model.likelihood.log_marginal(Y, self.model(X))
        self.model.train()
        return float((torch.logsumexp(each, 0) - np.log(number)).mean())

    def _next_rows(self):
        if self.batch_size >= len(self.X):
            return self.X, self.Y
        if len(self.order) < self.batch_size:
            self.order = torch.randperm(len(self.X))
        rows, self.order = self.order[: self.batch_size], self.order[self.batch_size :]
        return self.X[rows], self.Y[rows]


LEARNING_RATE = 0.01
KEYS = ("Z", "lengthscales", "variance", "q_mu", "q_sqrt")


if __name__ == "__main__":
    main()
