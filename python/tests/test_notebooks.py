"""The notebooks of docs/notebooks run from top to bottom, and leave their figures."""

from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("matplotlib")

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"


@pytest.mark.parametrize("name", ["cellular", "inrpp-buffers"])
def test_a_notebook_runs_and_leaves_its_figure(name, tmp_path):
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "notebooks have no outputs"
    client = nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    figure = (tmp_path / f"{name}.pdf").read_bytes()
    assert figure.startswith(b"%PDF") and b"/Subtype /Image" not in figure, "vectors"
