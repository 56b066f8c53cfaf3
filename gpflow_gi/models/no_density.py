"""The error for a bound without a density."""


class NoDensityError(ValueError):
    """Error: a bound was requested for a posterior without a density."""
