"""The papers' closed-form models, as functions that broadcast over NumPy arrays.

There is one module per paper: `smart_framing` (Mellia et al. 2005, section V), `short_flows`
(Cardwell et al. 1998 and 2000, Padhye et al. 1998, Mathis et al. 1997), `packet_discard` (Cohen and
Hamo 2001) and `santa_cruz` (Parsa and Garcia-Luna-Aceves 1999). `best_framing` is a model of this
project. Sizes are in bytes, times in seconds, rates in bytes per second, and losses are
probabilities. An argument out of range raises `tcpsf.errors.ModelError`, which is a `ValueError`.
"""
