"""A notebook as a page of the site: its text, its code and what this printed and drew.

    python -m website.notebook

runs docs/notebook.ipynb and writes it with what it printed, without times and versions.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

Made = dict[str, str | bytes]
NOTEBOOK = Path(__file__).parent.parent / "docs" / "notebook.ipynb"


def files(path: Path) -> Made:
    """{place in the site: content}: the page, named as the notebook, and its figures."""
    made: Made = {}
    parts: list[str] = []
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts.extend(_shown(output, path.stem, made) for output in cell["outputs"])
    note = f"[This notebook]({path.name}) runs as it stands."
    made[f"{path.stem}.md"] = "\n\n".join([parts[0], note, *parts[1:]]) + "\n"
    return made


def _shown(output: dict[str, Any], name: str, made: Made) -> str:
    """The Markdown of one output; figures are put among the files."""
    if output["output_type"] == "stream":
        return _text(output["text"])
    data = output["data"]
    if "image/png" in data:
        place = f"{name}-{len(made) + 1}.png"
        made[place] = base64.b64decode("".join(data["image/png"]))
        return f"![{_alt(data)}]({place})"
    return _text(data["text/plain"])


def _alt(data: dict[str, Any]) -> str:
    return "".join(data.get("text/plain", ["a figure"])).strip("<>")


def _text(lines: list[str] | str) -> str:
    return f"```text\n{''.join(lines).rstrip()}\n```"


def main() -> None:
    """Run the notebook and write what it printed."""
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(book, record_timing=False).execute()
    book.metadata.language_info = {"name": "python"}
    nbformat.write(book, NOTEBOOK)


if __name__ == "__main__":
    main()
