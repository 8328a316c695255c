"""Starts the job of a trial so that the kernel keeps the user's files as they are."""
