"""
Node runs this folder with any Python 3: `python -I -S -B protect SETTINGS COMMAND…`, with SETTINGS as JSON.
docs/decisions/0042-the-kernel-protects-files.md has the reasons.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from whyslow_trials.protect.start import main

main()
