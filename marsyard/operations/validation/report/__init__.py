"""The page of a validation: figures, the replay of the worst run, and the sections."""
