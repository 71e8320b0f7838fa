"""A look inside a trained model: what its codes go with, how its forms lie, and what sketches do to a sentence."""
