"""Train a model on a person's own data, save it, and predict with it."""
