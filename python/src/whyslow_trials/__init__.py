"""
`whyslow try`: runs the job for a few dozen steps, as it is or with fixes applied from outside, and measures them.

The environment variable WHYSLOW_TRIAL names a JSON file (`spec.py`). Every process of the job reads it at start-up.
Each rank writes `rank_<r>.json` (`result.py`) and ends at the same step. Nothing here is loaded without that variable.
"""
