"""The paper's experiments: data, networks, training, sweeps and their store."""
