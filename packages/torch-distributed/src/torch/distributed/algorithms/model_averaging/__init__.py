"""Training with models that are averaged now and then."""
