"""Closed models of the papers: figures that are formulae, and the conclusions of the texts."""
