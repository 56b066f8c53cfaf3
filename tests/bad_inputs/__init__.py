"""Bad inputs to every public name, and what each gets."""
