"""What the mistakes in a file of predictions cost."""
