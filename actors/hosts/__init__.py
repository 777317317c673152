"""Hosts: the chat surfaces that come with the runtime."""
