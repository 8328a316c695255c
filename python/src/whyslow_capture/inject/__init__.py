"""`whyslow run`: capture in a job that does not know of it."""
