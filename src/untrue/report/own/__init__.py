"""Pages about a person's own data and penalty: audit, fit, tune, penalty."""
