"""Studies: several models on one table of data, and what they tell about it."""
