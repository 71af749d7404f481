"""Charts and pages of simulated runs: quantities over time, completion times, one flow's packets.

`RunResult` and `tcpsf sim --report` use them. `tcpsf.report` has the pages of other commands.
"""
