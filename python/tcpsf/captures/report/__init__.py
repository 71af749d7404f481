"""The page of an analysed capture: figures of the paper, costs of causes, time-sequence plots.

`report` writes the page of a file.
"""

from tcpsf.captures.report.page_of_file import report

__all__ = ["report"]
