"""What is maximised, and what is reported of a trained model."""
