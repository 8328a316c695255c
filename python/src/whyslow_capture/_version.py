# Imports nothing: pip reads it without torch.
VERSION = "0.1.0"
