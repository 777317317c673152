"""manyminds: an actor runtime for chat bots that hold many minds."""
