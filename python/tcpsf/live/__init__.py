"""Measurements on live kernels: files from our server, or from the kernel, over an emulated path to the kernel."""
