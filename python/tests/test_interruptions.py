from __future__ import annotations

import sys

from whyslow_capture.job.interruptions import asks_for_collection


def test_a_collection_outside_python_code_is_automatic() -> None:
    """While the interpreter ends, the collector calls with no frame below ours."""
    assert not asks_for_collection(None)
    assert not asks_for_collection(sys._getframe())
