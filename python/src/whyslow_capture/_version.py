# No imports here: pip reads this file when it builds the package.
VERSION = "0.1.0"
