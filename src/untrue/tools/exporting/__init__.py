"""A fitted model for other programs: one ONNX graph from raw values to answers."""
