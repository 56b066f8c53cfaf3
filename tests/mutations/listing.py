"""The faults, each a small one that a person could make.

Texts are short, and do not name the file that they are in, so that code can be moved.
"""

from .mutation import Mutation

MUTATIONS = [
    # ------------------------------------------------------------------------------------- core
    Mutation(
        "KL of a free Gaussian without minus the number of coordinates",
        "- tf.cast(tf.size(self.mean), self.mean.dtype)",
        "- 0.0",
        "core/test_regression.py",
    ),
    Mutation(
        "KL of a diagonal Gaussian with the log of the deviation for that of the variance",
        "terms -= 2.0 * tf.math.log(self._scale)",
        "terms -= tf.math.log(self._scale)",
        "core/test_regression.py",
    ),
    Mutation(
        "draws of a free Gaussian with the transposed root of its covariance",
        '"pkl,...lp->...kp", self.q_sqrt, eps',
        '"plk,...lp->...kp", self.q_sqrt, eps',
        "core/test_regression.py",
    ),
    Mutation(
        "KL of a regression on weights with the wrong sign of its log determinant",
        "trace - K + self._log_determinant",
        "trace - K - self._log_determinant",
        "core/test_regression.py",
    ),
    Mutation(
        "prior and noise of Matheron's rule from one stream of random numbers",
        "noise = standard_normal(tf.shape(missed), noise_seed, z0.dtype)",
        "noise = standard_normal(tf.shape(missed), prior_seed, z0.dtype)",
        "core/test_regression.py",
    ),
    Mutation(
        "noise of Matheron's rule with the variance for the deviation",
        "missed -= self._noise_root[:, None] * noise",
        "missed -= self._noise[:, None] * noise",
        "core/test_regression.py",
    ),
    Mutation(
        "the root of a full precision not transposed in log p - log q",
        "linalg.transposed_product(self._T, self._basis",
        "linalg.product(self._T, self._basis",
        "core/test_regression.py",
    ),
    Mutation(
        "a factor of 2 in the gradient of a regression on moments",
        "dG = 0.5 * tf.matmul(J",
        "dG = tf.matmul(J",
        "layers/test_conv.py models/test_images.py",
    ),
    Mutation(
        "all of the diagonal, not half of it, in the gradient of the Cholesky factor",
        "0.5 * tf.linalg.diag_part(G)",
        "tf.linalg.diag_part(G)",
        "core/test_cholesky.py",
    ),
    Mutation(
        "the odd row of zeros before the image instead of after it",
        "(zeros // 2, zeros - zeros // 2)",
        "(zeros - zeros // 2, zeros // 2)",
        "core/test_convolution.py layers/test_conv.py",
    ),
    Mutation(
        "strides that leave out the last location of a padded image",
        "locations = -(-size // self.stride)",
        "locations = size // self.stride",
        "core/test_convolution.py layers/test_conv.py",
    ),
    # ---------------------------------------------------------------------------------- kernels
    Mutation(
        "jitter that does not grow with the kernel's variance",
        "mean = batched.mean_variance(self.kernel, inputs)",
        "mean = tf.ones([], inputs.dtype)",
        "kernels/test_basis.py layers/test_gp.py models/test_exact_limits.py",
    ),
    Mutation(
        "what the first inducing points say, added instead of subtracted in an extended basis",
        "k -= linalg.transposed_product(self._cross, A)",
        "k += linalg.transposed_product(self._cross, A)",
        "kernels/test_basis.py",
    ),
    Mutation(
        "the variance of a network's kernel shared by its inputs without the bias",
        "scale = self.variance / self.num_features",
        "scale = self.variance / self.input_dim",
        "kernels/test_bnn.py",
    ),
    Mutation(
        "amplitude of random features too large by the root of 2",
        "tf.sqrt(variance / shape[-2])",
        "tf.sqrt(2.0 * variance / shape[-2])",
        "kernels/test_features.py",
    ),
    # ------------------------------------------------------------------------------- posteriors
    Mutation(
        "the next layer gets the values at a layer's own inducing inputs",
        "values = values[..., : X.shape[-2], :]",
        "values = values[..., -X.shape[-2] :, :]",
        "posteriors/test_own_inducing.py",
    ),
    Mutation(
        "a layer's own inducing inputs before those from below",
        "concat_rows(U, Z)",
        "concat_rows(Z, U)",
        "posteriors/test_own_inducing.py",
    ),
    Mutation(
        "no log-Jacobian of the rows' units",
        "slopes + (below - 1) * log_diagonal",
        "slopes - log_diagonal",
        "posteriors/test_precision.py",
    ),
    Mutation(
        "KL of independent weights without the log determinant of their prior's root",
        "- self._log_scales() + P * self._root.log_determinant(K)",
        "- self._log_scales()",
        "core/test_regression.py",
    ),
    Mutation(
        "the precision itself for its root",
        "T = tf.sqrt(self.pseudo_precision)",
        "T = tf.convert_to_tensor(self.pseudo_precision)",
        "models/test_exact_limits.py",
    ),
    Mutation(
        "the precision of the first output for all that have kernels of their own",
        "T if self.shared else T[outputs]",
        "T if self.shared else T[:1]",
        "layers/test_gp.py models/test_shapes.py posteriors/test_posteriors.py",
    ),
    Mutation(
        "whitened pseudo-outputs taken for values",
        "basis, outputs, basis.design_times(v)",
        "basis, outputs, v",
        "posteriors/test_whitened.py",
    ),
    Mutation(
        "a free Gaussian at global inducing points that starts at the prior's covariance",
        "return FullGaussian(M, q_mu=q_mu, q_sqrt=roots, inducing_inputs=own)",
        "return FullGaussian(M, q_mu=q_mu, inducing_inputs=own)",
        "architectures/test_build_deep_gp.py",
    ),
    Mutation(
        "a precision of each hidden unit that all units share",
        '_posterior(method, Z, W, deviation, outputs, Lambda, "diagonal", shared=shared)',
        '_posterior(method, Z, W, deviation, outputs, Lambda, "diagonal")',
        "architectures/test_build_bnn.py",
    ),
    Mutation(
        "the sign of the prior's classifier beside two contrasts",
        "T_q(in_q) - T_p(in_p)",
        "T_q(in_q) + T_p(in_p)",
        "objectives/test_density_ratio.py",
    ),
    Mutation(
        "units that are left out without a factor for the others",
        "tf.cast(uniform < kept, uniform.dtype) / kept",
        "tf.cast(uniform < kept, uniform.dtype)",
        "implicit/test_processes.py",
    ),
    # ----------------------------------------------------------------------------------- layers
    Mutation(
        "moments of a layer without its mean function",
        "mean = self._layer.mean(X) + self._layer.mix(mean)",
        "mean = self._layer.mix(mean)",
        "layers/test_gp.py models/test_exact_limits.py",
    ),
    Mutation(
        "rows of a draw without the residual's variance",
        "return mean + tf.sqrt(self.basis.residual_variance(X, A))[..., None] * eps",
        "return mean + 0.0 * eps",
        "layers/test_gp.py models/test_bound.py models/test_reference_deep_gp.py",
    ),
    Mutation(
        "outputs with kernels of their own, drawn from one stream",
        "process.q.draw(num_samples, fold_in(seed, i))",
        "process.q.draw(num_samples, seed)",
        "layers/test_gp.py models/test_seeds.py models/test_shapes.py",
    ),
    Mutation(
        "zeros in the column of the bias",
        "one = tf.ones(tf.concat([tf.shape(X)[:-1], [1]], axis=0), X.dtype)",
        "one = tf.zeros(tf.concat([tf.shape(X)[:-1], [1]], axis=0), X.dtype)",
        "layers/test_dense.py",
    ),
    Mutation(
        "no KL of the random scale of a layer's prior",
        "return self.q.kl() + self.scale.kl",
        "return self.q.kl()",
        "layers/test_dense.py models/test_reference_bnn.py",
    ),
    Mutation(
        "no KL of the layers in a shortcut",
        "return sum((kl for part in self._parts for kl in part.kl), nothing)",
        "return sum((kl for part in self._parts[:1] for kl in part.kl), nothing)",
        "layers/test_residual.py models/test_images.py",
    ),
    Mutation(
        "filters and locations swapped in the covariance of a convolution",
        '"...pnlml->...lpnm"',
        '"...pnlml->...plnm"',
        "layers/test_conv.py",
    ),
    # ----------------------------------------------------------------------------------- priors
    Mutation(
        "NealPrior without 1 / sqrt(N)",
        "return self.scale / math.sqrt(num_weights)",
        "return self.scale / 1.0",
        "priors/test_priors.py",
    ),
    Mutation(
        "the scale of ScalePrior as a variance, which is a precision",
        "self.scale / tf.sqrt(num_weights * s)",
        "self.scale * tf.sqrt(s / num_weights)",
        "priors/test_priors.py",
    ),
    Mutation(
        "KL of two Gamma distributions with alpha for shape + alpha",
        "- a * self.beta / b",
        "- self.alpha * self.beta / b",
        "priors/test_priors.py",
    ),
    Mutation(
        "degrees of freedom of a Wishart distribution, one too few",
        "(df - tf.range(K, dtype=df.dtype)) / 2",
        "(df - 1.0 - tf.range(K, dtype=df.dtype)) / 2",
        "priors/test_spatial.py",
    ),
    # ----------------------------------------------------------------------------------- models
    Mutation(
        "the bound of a minibatch not scaled by N / B",
        "return float(self.num_data) * tf.reduce_mean(log_likelihoods), kl",
        "return float(X.shape[0]) * tf.reduce_mean(log_likelihoods), kl",
        "models/test_bound.py",
    ),
    Mutation(
        "no KL of the layers below the last",
        "kl.append(tf.reduce_mean(divergence))",
        "kl.append(0.0 * tf.reduce_mean(divergence))",
        "models/test_bound.py models/test_reference_deep_gp.py",
    ),
    Mutation(
        "importance weights upside down",
        "log_weight = _log_likelihood(model, X, F, Y) + ratio",
        "log_weight = _log_likelihood(model, X, F, Y) - ratio",
        "models/test_importance.py",
    ),
    Mutation(
        "no log S in the IWBO and in densities of mixtures",
        "tf.reduce_logsumexp(log_densities, axis=0) - tf.math.log(S)",
        "tf.reduce_logsumexp(log_densities, axis=0) - 0.0 * tf.math.log(S)",
        "models/test_importance.py models/test_reference_deep_gp.py",
    ),
    Mutation(
        "variance of a mixture without the spread of the means",
        "tf.reduce_mean(variances, axis=0) + spread",
        "tf.reduce_mean(variances, axis=0)",
        "models/test_reference_deep_gp.py models/test_bound.py",
    ),
    Mutation(
        "the mean over rows, not the sum, in a sample's log likelihood",
        "tf.reduce_sum(_log_prob_of_rows(likelihood, X, F, F, Y), axis=-1)",
        "tf.reduce_mean(_log_prob_of_rows(likelihood, X, F, F, Y), axis=-1)",
        "models/test_importance.py",
    ),
    Mutation(
        "the probabilities of two classes swapped",
        "tf.concat([1.0 - mean, mean], axis=-1)",
        "tf.concat([mean, 1.0 - mean], axis=-1)",
        "models/test_classes.py",
    ),
    Mutation(
        "functions that forget the values of earlier calls",
        "F, self._layers[i] = layer.extend(F, fold_in(seed, i))",
        "F, _ = layer.extend(F, fold_in(seed, i))",
        "models/test_remembered_functions.py",
    ),
    Mutation(
        "the same noise in every chunk of the samples of the IWBO",
        "_chunk(model, X, Y, chunk, fold_in(seed, i))",
        "_chunk(model, X, Y, chunk, fold_in(seed, 0))",
        "models/test_importance.py",
    ),
    # ------------------------------------------------------------------- inference, objectives
    Mutation(
        "antithetic pairs of one sign",
        "tf.concat([half, -half], axis=0)",
        "tf.concat([half, half], axis=0)",
        "core/test_paired_seed.py",
    ),
    Mutation(
        "the rows of divided draws beside the targets of others",
        "return tf.reshape(tf.transpose(moments, [1, 0, 2]), [-1, moments.shape[-1]])",
        "return tf.reshape(moments, [-1, moments.shape[-1]])",
        "objectives/test_divided.py",
    ),
    Mutation(
        "a density of whitened weights with log pi for log 2 pi",
        "squares + math.log(2 * math.pi)",
        "squares + math.log(math.pi)",
        "inference/test_weight_space.py inference/test_log_joint.py",
    ),
    Mutation(
        "no log-Jacobian of the logarithm of a scale",
        "return self._log_prior(tf.exp(log_s)) + log_s",
        "return self._log_prior(tf.exp(log_s))",
        "priors/test_coordinates.py inference/test_weight_space.py",
    ),
    Mutation(
        "chains and draws mixed up in R-hat",
        "values.reshape(num_chains, -1, *values.shape[1:]).swapaxes(0, 1)",
        "values.reshape(-1, num_chains, *values.shape[1:])",
        "inference/test_convergence.py",
    ),
    Mutation(
        "the standard deviation for the standard error of an estimate",
        "np.std(estimates, ddof=1) / np.sqrt(n)",
        "np.std(estimates, ddof=1)",
        "objectives/test_estimates.py",
    ),
    # --------------------------------------------------------------------------------- training
    Mutation(
        "the KL term's warm-up a step late",
        "tf.cast(step + 1, weight.dtype) / warmup",
        "tf.cast(step, weight.dtype) / warmup",
        "training/test_steps.py",
    ),
    Mutation(
        "minibatches in the order of the rows",
        "return tf.random.experimental.stateless_shuffle(rows, seed)",
        "return rows",
        "training/test_steps.py",
    ),
    Mutation(
        "the learning rate of the next step",
        "tf.cast(self._schedule(step), rate.dtype)",
        "tf.cast(self._schedule(step + 1), rate.dtype)",
        "training/test_steps.py",
    ),
    Mutation(
        "a bound that is NaN taken for finite",
        "finite = tf.stack([tf.math.is_finite(loss), gradient_is_finite])",
        "finite = tf.stack([tf.constant(True), gradient_is_finite])",
        "training/test_guard.py training/test_recovery.py",
    ),
    Mutation(
        "a run that is resumed a step late",
        "self._variables[name].assign(value)",
        'self._variables[name].assign(value + int(name == "step"))',
        "training/test_checkpoints.py",
    ),
    Mutation(
        "a jitter that did not help, kept",
        "self._jitter.set(before)",
        "self._jitter.get()",
        "training/test_recovery.py",
    ),
    Mutation(
        "shifts of images that never reach the last place",
        "maxval=2 * padding + 1",
        "maxval=2 * padding",
        "training/test_augmentation.py",
    ),
    # ------------------------------------------------------------------------ metrics, datasets
    Mutation(
        "the mean of log densities for the log of the mean density",
        "return logsumexp(components, axis=0) - np.log(len(mean))",
        "return components.mean(axis=0)",
        "metrics/test_mixtures.py",
    ),
    Mutation(
        "CRPS with all of E|Y - Y'|, not half of it",
        "- 0.5 * (with_itself + 2 * between)",
        "- (with_itself + 2 * between)",
        "metrics/test_mixtures.py",
    ),
    Mutation(
        "calibration error with all bins alike, whatever is in them",
        "np.sum(bins.size * gaps) / np.sum(bins.size)",
        "np.mean(gaps)",
        "metrics/test_classification.py",
    ),
    Mutation(
        "densities in the unit of the standardised target",
        "return standardised - np.log(self.scale).sum()",
        "return standardised",
        "datasets/test_standardiser.py metrics/test_held_out.py",
    ),
    # --------------------------------------------------------------- persistence, benchmark, ...
    Mutation(
        "files without the attributes that begin with an underscore",
        "if name.startswith(INTERNAL):",
        'if name.startswith(("_", *INTERNAL)):',
        "persistence/test_saving.py",
    ),
    Mutation(
        "priors of loaded parameters, all on what is constrained",
        'prior_on=described["prior_on"],',
        'prior_on="constrained",',
        "persistence/test_saving.py",
    ),
    Mutation(
        "inputs standardised by the rows to test on too",
        "self.inputs = Standardiser.fit(train.X)",
        "self.inputs = Standardiser.fit(np.vstack([train.X, test.X]))",
        "benchmark/test_trial.py",
    ),
    Mutation(
        "t-tests of one side",
        "stats.t.ppf(1 - LEVEL / 2,",
        "stats.t.ppf(1 - LEVEL,",
        "benchmark/test_report_statistics.py",
    ),
    Mutation(
        "precisions of the start times the noise, not divided by it",
        "Lambda = np.maximum(counts, 0.01) / noise",
        "Lambda = np.maximum(counts, 0.01) * noise",
        "architectures/test_build_bnn.py",
    ),
    Mutation(
        "the variance for the deviation in what a regressor predicts",
        "np.sqrt(variance) * self.target_scaling_.scale",
        "variance * self.target_scaling_.scale",
        "estimators/test_estimators.py",
    ),
]
