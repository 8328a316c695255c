"""
What a training loop may use besides being measured: all metrics of a step in one collective, and copies that nobody
waits for. `whyslow_capture` offers both under its own name.
"""
