"""Reproduction of the papers' tables and figures, beside the published numbers.

Each paper, or each family of papers on one proposal, has a subpackage.
"""
