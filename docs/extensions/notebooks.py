"""For the documentation: each notebook of docs/notebooks is a page, with the outputs that are stored in it.

MkDocs calls the functions `on_...` (`hooks` in mkdocs.yml).  `scripts/make-notebooks` runs the notebooks;
here nothing is run.
"""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any


def markdown_of(notebook: dict[str, Any], name: str) -> str:
    """Return a notebook as a page: its text, its code, and what each cell showed."""
    parts = [
        "".join(cell["source"])
        if cell["cell_type"] == "markdown"
        else "\n\n".join([fenced("python", cell["source"]), *map(shown, cell["outputs"])])
        for cell in notebook["cells"]
    ]
    # MkDocs would look for the target of a Markdown link among the pages, and the notebook is one itself.
    parts.append(f'<a href="../{name}" download>Download this notebook</a>')
    return "\n\n".join(parts) + "\n"


def shown(output: dict[str, Any]) -> str:
    """Return an output in the richest of its forms."""
    if "text" in output:
        return fenced("text", output["text"])
    data = output["data"]
    if "text/html" in data:
        return f"<div>{''.join(data['text/html'])}</div>"
    if "image/svg+xml" in data:
        # As a picture of its own, since the names in two figures may be the same.
        code = base64.b64encode("".join(data["image/svg+xml"]).encode()).decode()
        return f'<img alt="the figure that this cell draws" src="data:image/svg+xml;base64,{code}">'
    return fenced("text", data["text/plain"])


def fenced(language: str, lines: list[str]) -> str:
    """Return lines as a block of code."""
    return f"```{language}\n{''.join(lines).rstrip()}\n```"


def on_files(files: Any, config: Any) -> Any:
    """Make notebooks pages, so that they stand in the navigation and links to them lead to the page."""
    from mkdocs.structure.files import File  # only scripts/docs has it, and a test imports this module

    class Notebook(File):
        """A notebook that is a page."""

        def is_documentation_page(self) -> bool:
            return True

    for file in [one for one in files if one.src_uri.endswith(".ipynb")]:
        files.remove(file)
        files.append(Notebook(file.src_uri, config.docs_dir, config.site_dir, config.use_directory_urls))
    return files


def on_page_read_source(page: Any, **_: Any) -> str | None:
    """Read a notebook as Markdown; leave other pages to MkDocs."""
    file = Path(page.file.abs_src_path)
    if file.suffix != ".ipynb":
        return None
    return markdown_of(json.loads(file.read_text("utf-8")), file.name)


def on_post_build(config: Any) -> None:
    """Put the notebooks themselves beside their pages."""
    for file in (Path(config.docs_dir) / "notebooks").glob("*.ipynb"):
        shutil.copyfile(file, Path(config.site_dir) / "notebooks" / file.name)
