"""Measurements on live kernels: our sender serves files, the machine's own TCP fetches them over an emulated path."""
