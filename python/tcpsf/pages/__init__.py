"""Programs that write pages and drawings of the documentation: ``python -m tcpsf.pages.NAME``.

`make docs` runs them, except for `claims`, which needs the reports of complete evaluations.
"""
