"""Decision rules made from a file of probabilities, and used on other files."""
