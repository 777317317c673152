"""MEMORY: what lasts. Bytes on disk; knows messages, not actors."""
