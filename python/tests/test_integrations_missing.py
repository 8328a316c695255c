"""Without the frameworks, importing works and using says what is missing."""

from __future__ import annotations

import pytest
from support import run_program

BLOCK = """
import importlib, sys

class Blocked:
    names = {blocked!r}
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
"""

USES = {
    "transformers": ("WhyslowCallback()", "transformers", "pip install transformers"),
    "lightning": ("WhyslowCallback()", "lightning or pytorch_lightning", "pip install lightning"),
    "accelerate": ("instrument(object())", "accelerate", "pip install accelerate"),
    "torchtitan": ("trace_post_processor()", "torchtitan with", "pip install torchtitan"),
}
FRAMEWORKS = [
    "transformers",
    "lightning",
    "pytorch_lightning",
    "accelerate",
    "torchtitan",
    "d9d",
    "slime",
    "lmms_engine",
]


def test_importing_works_and_using_raises_a_clear_import_error():
    code = BLOCK.format(blocked=FRAMEWORKS) + "import whyslow_capture\n"
    for module, (use, _, _) in USES.items():
        code += (
            f"module = importlib.import_module('whyslow_capture.integrations.{module}')\n"
            f"try:\n    module.{use}\n"
            f"except ImportError as error:\n    print('{module}:', error)\n"
        )
    printed = run_program(code).stdout.splitlines()
    assert len(printed) == len(USES)
    for line, (module, (_, needs, install)) in zip(printed, USES.items(), strict=True):
        assert line.startswith(f"{module}: whyslow_capture.integrations.{module} needs {needs}")
        assert line.endswith(install)


def test_a_subclass_of_a_callback_raises_the_same_error():
    code = BLOCK.format(blocked=FRAMEWORKS) + (
        "from whyslow_capture.integrations.lightning import WhyslowCallback\n"
        "class Mine(WhyslowCallback):\n    def __init__(self):\n        pass\n"
        "try:\n    Mine()\nexcept ImportError as error:\n    print(error)\n"
    )
    assert "needs lightning or pytorch_lightning: pip install lightning" in run_program(code).stdout


def test_a_broken_installation_is_reported_with_its_cause():
    code = """
    import sys
    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == "transformers":
                raise RuntimeError("libsomething.so: undefined symbol")
    sys.meta_path.insert(0, Broken())
    from whyslow_capture.integrations.transformers import WhyslowCallback
    try:
        WhyslowCallback()
    except ImportError as error:
        print(error)
    """
    printed = run_program(code).stdout
    assert "needs transformers: pip install transformers (RuntimeError: libsomething.so: undefined symbol)" in printed


@pytest.mark.parametrize("module", ["lmms"])
def test_adapters_without_a_framework(module: str):
    code = BLOCK.format(blocked=FRAMEWORKS) + f"import whyslow_capture.integrations.{module}\nprint('fine')"
    assert run_program(code).stdout.strip() == "fine"
