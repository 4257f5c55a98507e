"""From probabilities and a penalty to labels: least expected cost, calibration, posteriors.

Both NumPy arrays and torch tensors: what comes in as one goes out as one. Torch is imported
only when a tensor comes in.
"""

from untrue.decision.calibration import Temperature, calibrate, temperature_interval
from untrue.decision.least_cost import decide
from untrue.decision.posteriors import Inverted, invert, posterior

__all__ = [
    "Inverted",
    "Temperature",
    "calibrate",
    "decide",
    "invert",
    "posterior",
    "temperature_interval",
]
