"""`whyslow run`: captures a job without changes to its code."""
