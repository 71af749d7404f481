"""Advice from captures: which remedy for losses would have helped, by simulation.

>>> from tcpsf.advice import advise
>>> advise("server.pcap").answer  # doctest: +SKIP
'remedy'
"""

from tcpsf.advice.advice_result import Advice
from tcpsf.advice.advisor import advise, advise_on
from tcpsf.advice.remedy_list import REMEDIES, Remedy, remedy

__all__ = ["REMEDIES", "Advice", "Remedy", "advise", "advise_on", "remedy"]
