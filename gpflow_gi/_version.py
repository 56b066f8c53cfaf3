"""The version, in its own file so that it can be read without importing TensorFlow."""

__version__ = "0.2.0.dev0"
