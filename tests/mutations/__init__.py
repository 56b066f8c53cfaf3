"""Sixty faults that a person could make in the code, and whether the tests find them."""
