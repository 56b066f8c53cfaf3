"""Linear algebra, Gaussians, regression, random numbers and checks of arguments."""
