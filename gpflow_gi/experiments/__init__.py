"""Studies: several models on one table of data, and their comparison."""
