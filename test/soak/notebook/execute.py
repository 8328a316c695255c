"""`execute.py HTML`: executes a notebook, checks what its cells show, and writes it as a page to look at."""

import sys
from pathlib import Path

from nbclient import NotebookClient
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook

TRAIN = """
import sys, time, torch

class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 200

    def __getitem__(self, index):
        time.sleep(0.005)
        return torch.randn(64)

model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), 0.1)

def train():
    for batch in torch.utils.data.DataLoader(Slow(), batch_size=4):
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

train()
base = sys.modules["torch.optim.optimizer"]
hooks = lambda: (len(base._global_optimizer_pre_hooks), len(base._global_optimizer_post_hooks))
before = hooks()
"""

notebook = new_notebook(
    cells=[
        new_code_cell("import whyslow\nwhyslow.diagnose('zoo/fixtures/data_io_w0')"),
        new_code_cell("%load_ext whyslow"),
        new_code_cell(TRAIN.strip()),
        new_code_cell("%%whyslow\ntrain()"),
        new_code_cell("whyslow.compare('zoo/fixtures/cnn_nchw', 'zoo/fixtures/cnn_nhwc')"),
        new_code_cell("%%whyslow --no-trace\n1 + 1"),
        new_code_cell("assert hooks() == before\nprint(whyslow.diagnose('zoo/fixtures/data_io_w0').verdict.label)"),
    ]
)
NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
report, _, _, measured, compared, empty, plain = (cell.outputs for cell in notebook.cells)


def shown(outputs: list) -> str:
    """The HTML of a cell's result."""
    (result,) = (output for output in outputs if output.output_type == "execute_result")
    html: str = result.data["text/html"]
    return html


assert "Data-bound: the GPU spends 95% of every step" in shown(report)
assert "Data-bound: the job spends" in shown(measured) and "num_workers=" in shown(measured)
assert "faster" in shown(compared)
for outputs in (report, measured, compared):
    # The page cannot reach the notebook.
    assert '<iframe sandbox="allow-scripts allow-popups allow-downloads"' in shown(outputs)
assert any("this cell did not train" in output.get("text", "") for output in empty)
assert plain[0].text == "Data-bound\n"
page, _ = HTMLExporter().from_notebook_node(notebook)
Path(sys.argv[1]).write_text(page, "utf-8")
print(f"all {len(notebook.cells)} cells show what they should: {sys.argv[1]}")
