"""Remedies for the kernel's TCP over an emulated path: measured, and predicted by the simulator.

Each cell of a grid has a loss model, a round-trip time, a size and a remedy. A server answers requests
over `tcpsf link`, once without a remedy and once with each, with the same random numbers.
"""

from tcpsf.lab.grid import LabCell, LabLoss, LabMix, LabPath
from tcpsf.lab.measured import LabMeasurement, LabServer, measure
from tcpsf.lab.predicted import LabPrediction, predict

__all__ = [
    "LabCell",
    "LabLoss",
    "LabMeasurement",
    "LabMix",
    "LabPath",
    "LabPrediction",
    "LabServer",
    "measure",
    "predict",
]
