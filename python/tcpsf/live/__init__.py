"""Measurements on live kernels: transfers from tcpsf or the kernel over an emulated path."""
