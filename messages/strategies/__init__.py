"""Context strategies: pure choices of which rows a request shows."""
