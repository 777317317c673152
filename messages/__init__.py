"""VALUES: what travels. Frozen, no I/O, no clock; imports nothing of ours."""
