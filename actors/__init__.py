"""TIME: what acts. Everything that waits, in the order in which a message travels."""
