"""The error of a bound where there is no density."""


class NoDensityError(ValueError):
    """A bound was asked of a posterior without a density."""
