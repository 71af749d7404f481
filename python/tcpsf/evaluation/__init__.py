"""Evaluations of papers: the data of a report, the runs that it needs, and verdicts on claims.

No module here knows a paper. `tcpsf.reproduce` has the papers' exhibits, and `tcpsf.report` writes
the reports.
"""
