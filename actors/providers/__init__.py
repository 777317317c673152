"""Model adapters: one call is one round of a provider."""
