"""The papers' closed models, as functions that broadcast over NumPy arrays.

One module a paper: `smart_framing` (Mellia et al. 2005, section V), `short_flows` (Cardwell et al.
1998 and 2000, Padhye et al. 1998, Mathis et al. 1997), `packet_discard` (Cohen and Hamo 2001),
`santa_cruz` (Parsa and Garcia-Luna-Aceves 1999); and `best_framing`, which is ours. Sizes are in
bytes, times in seconds, rates in bytes per second, losses are probabilities. An argument out of
range raises `tcpsf.errors.ModelError`, which is a `ValueError`.
"""
