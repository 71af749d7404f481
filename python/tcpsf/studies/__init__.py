"""Studies: a scenario simulated at many points, with replicates, estimates and plots."""
