"""Lists of all names that a file may use. Others need ``gi.load(path, trusted=[...])``.

No entry takes a function that is not on a list itself, reads or writes files, or keeps its
arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

import gpflow
import gpflow.kernels.categorical
import gpflow.likelihoods.utils
import gpflow.quadrature
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.keras import tf_keras

from .. import implicit, inference, kernels, layers, posteriors, priors
from ..core.convolution import Convolution
from ..core.perceptron import Perceptron
from ..inference.autoregressive import MaskedNetwork
from ..kernels import nonlinearities
from ..models import DeepGP
from ..models.streaming import Memory
from ..posteriors.precision import BoundedExp, PrecisionRoot
from ..posteriors.pseudo_data import PseudoData
from ..posteriors.triangle import RowUnits

KERNELS = """
    ArcCosine ArcHierarchical ChangePoints Constant Convolutional Coregion Cosine Exponential Linear
    Matern12 Matern32 Matern52 Periodic Polynomial Product RationalQuadratic SeparateIndependent
    SharedIndependent SquaredExponential Sum WedgeHierarchical White
    ActivityCondition HierarchyNode
"""

MEAN_FUNCTIONS = """
    Additive Constant Identity Linear Polynomial Product SwitchedFunction SwitchedMeanFunction Zero
"""

LIKELIHOODS = """
    Bernoulli Beta Exponential Gamma Gaussian GaussianMC MultiClass MultiLatentTFPConditional
    Ordinal Poisson RobustMax Softmax StudentT SwitchedLikelihood
"""

BIJECTORS = """
    AbsoluteValue Ascending Blockwise Chain CholeskyOuterProduct CholeskyToInvCholesky
    CorrelationCholesky Cumsum Exp Expm1 FillScaleTriL FillTriangular FrechetCDF
    GeneralizedExtremeValueCDF GeneralizedPareto GompertzCDF GumbelCDF Identity Invert
    IteratedSigmoidCentered KumaraswamyCDF LambertWTail Log Log1p MatrixInverseTriL MoyalCDF
    NormalCDF Permute Power PowerTransform RationalQuadraticSpline RayleighCDF Reciprocal Scale
    ScaleMatvecDiag ScaleMatvecLU ScaleMatvecTriL Shift ShiftedGompertzCDF Sigmoid Sinh SinhArcsinh
    SoftClip Softfloor SoftmaxCentered Softplus Softsign Square Tanh TransformDiagonal Transpose
    UnitVector WeibullCDF
"""

DISTRIBUTIONS = """
    Bates Bernoulli Beta BetaBinomial Binomial Categorical Cauchy Chi Chi2 ContinuousBernoulli
    Deterministic Dirichlet DirichletMultinomial DoublesidedMaxwell ExpGamma ExpInverseGamma
    Exponential ExponentiallyModifiedGaussian FiniteDiscrete Gamma GammaGamma
    GeneralizedExtremeValue GeneralizedNormal GeneralizedPareto Geometric Gumbel HalfCauchy
    HalfNormal HalfStudentT Horseshoe Independent InverseGamma InverseGaussian JohnsonSU Kumaraswamy
    Laplace LogLogistic LogNormal Logistic LogitNormal Mixture MixtureSameFamily Moyal
    MultivariateNormalDiag MultivariateNormalDiagPlusLowRank MultivariateNormalFullCovariance
    MultivariateNormalTriL NegativeBinomial NoncentralChi2 Normal NormalInverseGaussian
    OneHotCategorical PERT Pareto Poisson PowerSpherical ProbitBernoulli Sample SigmoidBeta
    SinhArcsinh Skellam StudentT TransformedDistribution Triangular TruncatedCauchy TruncatedNormal
    TwoPieceNormal TwoPieceStudentT Uniform VonMises VonMisesFisher Weibull
    WishartTriL Zipf
"""

ELEMENTWISE = """
    abs acos acosh asin asinh atan atanh bessel_i0 bessel_i0e bessel_i1 bessel_i1e ceil cos cosh
    digamma erf erfc erfcinv erfinv exp expm1 floor lgamma log log1p log_sigmoid ndtri negative
    reciprocal reciprocal_no_nan rint round rsqrt sigmoid sign sin sinh softplus softsign sqrt
    square tan tanh
"""

ACTIVATIONS_OF_TENSORFLOW = """
    elu gelu leaky_relu log_softmax relu relu6 selu sigmoid silu softmax softplus softsign swish
    tanh
"""

NONLINEARITIES = "elu erf gelu identity relu sigmoid sin softplus tanh"

ACTIVATIONS_OF_KERAS = """
    elu exponential gelu hard_sigmoid linear mish relu selu sigmoid softmax softplus softsign swish
    tanh
"""

LAYERS_OF_KERAS = """
    Activation Add Average AveragePooling1D AveragePooling2D Concatenate Conv1D Conv2D
    Conv2DTranspose Cropping1D Cropping2D Dense DepthwiseConv2D Dot ELU EinsumDense Flatten
    GlobalAveragePooling1D GlobalAveragePooling2D GlobalMaxPooling1D GlobalMaxPooling2D
    GroupNormalization InputLayer LayerNormalization LeakyReLU MaxPooling1D MaxPooling2D Maximum
    Minimum Multiply PReLU Permute ReLU RepeatVector Rescaling Reshape SeparableConv2D Softmax
    Subtract ThresholdedReLU UnitNormalization UpSampling1D UpSampling2D ZeroPadding1D ZeroPadding2D
"""

INITIALISERS_OF_KERAS = """
    Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity LecunNormal LecunUniform Ones
    Orthogonal RandomNormal RandomUniform TruncatedNormal VarianceScaling Zeros
"""

OPERATIONS = ("TFOpLambda", "SlicingOpLambda")
"""Keras' layers for operations between layers, such as the plus in ``one(x) + other(x)``."""

OPERATORS = "add getitem radd"

ARITHMETIC = "add add_n divide maximum minimum multiply pow scalar_mul subtract truediv"

CONSTRAINTS_OF_KERAS = "MaxNorm MinMaxNorm NonNeg UnitNorm"


def _in(module: Any, names: str) -> Iterator[Any]:
    """Entries of a list that the installed version has."""
    return (getattr(module, name) for name in names.split() if hasattr(module, name))


@cache
def objects() -> tuple[type, ...]:
    """Classes whose objects are made by setting attributes."""
    ours = (implicit, inference, layers, posteriors, priors, kernels)
    return (
        DeepGP,
        Memory,
        PseudoData,
        Convolution,
        MaskedNetwork,
        Perceptron,
        *(
            thing
            for module in ours
            for name in module.__all__
            if isinstance(thing := getattr(module, name), type)
            and issubclass(thing, tf.Module)
            and not getattr(thing, "__abstractmethods__", None)
        ),
        *_in(gpflow.kernels, KERNELS),
        gpflow.kernels.categorical.Categorical,
        *_in(gpflow.functions, MEAN_FUNCTIONS),
        *_in(gpflow.likelihoods, LIKELIHOODS),
        gpflow.quadrature.NDiagGHQuadrature,
    )


@cache
def constructed() -> tuple[type, ...]:
    """Classes whose objects are made by a call with arguments that are not functions."""
    return (
        *_in(tfp.bijectors, BIJECTORS),
        BoundedExp,
        PrecisionRoot,
        RowUnits,
        *_in(tfp.distributions, DISTRIBUTIONS),
        gpflow.likelihoods.HeteroskedasticTFPConditional,
    )


@cache
def values() -> tuple[Any, ...]:
    """Functions, and distributions that represent the functions that make them."""
    return (
        *_in(tf.math, ELEMENTWISE),
        *_in(tf.nn, ACTIVATIONS_OF_TENSORFLOW),
        tf.identity,
        *_in(nonlinearities, NONLINEARITIES),
        gpflow.likelihoods.utils.inv_probit,
        *_in(tf_keras.activations, ACTIVATIONS_OF_KERAS),
        *_in(tfp.distributions, DISTRIBUTIONS),
    )


@cache
def keras_classes() -> dict[str, type]:
    """Keras' classes (layers and their parts) by their names in a description."""
    things = (
        *_in(tf_keras.layers, LAYERS_OF_KERAS),
        tf_keras.Sequential,
        *_in(tf_keras.initializers, INITIALISERS_OF_KERAS),
        *_in(tf_keras.constraints, CONSTRAINTS_OF_KERAS),
        tf_keras.mixed_precision.Policy,
    )
    # The class of a functional model is derived from tf_keras.Model and has no public name.
    functional = next(each for each in tf_keras.Sequential.__mro__ if each.__name__ == "Functional")
    made_by_operators = import_module(f"{tf_keras.__name__}.src.layers.core.tf_op_layer")
    return {
        "Functional": functional,
        **{thing.__name__: thing for thing in things},
        **{name: getattr(made_by_operators, name) for name in OPERATIONS},
    }
