"""Deep GPs and Bayesian neural networks as scikit-learn's estimators.

They go into pipelines, searches over parameters and cross-validation as any other estimator does.
TensorFlow is imported when one is fitted, not before.
"""

from .bnn import BNNClassifier, BNNRegressor
from .deep_gp import DeepGPClassifier, DeepGPRegressor

__all__ = ["BNNClassifier", "BNNRegressor", "DeepGPClassifier", "DeepGPRegressor"]
