"""The page of an analysed capture: figures of the paper, costs of causes, time-sequence plots."""
