"""Emulated links from Python, and requests to links that run."""
