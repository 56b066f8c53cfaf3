"""Deep GPs and Bayesian neural networks as scikit-learn's estimators.

They work in pipelines, parameter searches and cross-validation. TensorFlow is imported when one is
fitted, not before.
"""

from .bnn import BNNClassifier, BNNRegressor
from .deep_gp import DeepGPClassifier, DeepGPRegressor

__all__ = ["BNNClassifier", "BNNRegressor", "DeepGPClassifier", "DeepGPRegressor"]
