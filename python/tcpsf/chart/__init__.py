"""Charts for pages, papers and notebooks, which need no network.

`plot` makes a chart of a user's own data. `page_of` puts several of them on one page, `cumulative`
computes distribution functions. The reports of `tcpsf reproduce` use the same drawings.
"""

from tcpsf.chart.panel import Axis, Curve, CurveStyle, Panel, Scale
from tcpsf.chart.plots import Plot, cumulative, page_of, plot

__all__ = ["Axis", "Curve", "CurveStyle", "Panel", "Plot", "Scale", "cumulative", "page_of", "plot"]
