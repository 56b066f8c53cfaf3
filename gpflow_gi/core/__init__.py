"""What every layer and posterior stands on: linear algebra, random numbers, checks of input."""
