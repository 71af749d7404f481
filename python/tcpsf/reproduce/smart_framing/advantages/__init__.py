"""Exhibits of the advantages and costs of framing that the texts list, one module per topic."""

SECTION = "advantages"
"""Key of the report's section."""
