"""`tcpsf examples` and `tcpsf init`: the example scenarios of the package."""

from __future__ import annotations

import re
from importlib.resources.abc import Traversable
from pathlib import Path

from tcpsf import text
from tcpsf.cli.file_checks import refuse_if_taken
from tcpsf.cli.output import print_message, print_result
from tcpsf.scenario import packaged
from tcpsf.staging import write_file

STARTER = "starter"
"""The example that `tcpsf init` writes by default."""

SIZE_FILE = re.compile(r'\bfile\s*=\s*"([^"]+)"')


def show(*, name: str | None) -> None:
    """Print an example, or list all of them."""
    if name is not None:
        print_result(packaged.example(name).read_text(encoding="utf-8").rstrip("\n"))
        return
    print_result(
        "\n\n".join(text.item(each, _summary(packaged.example(each))) for each in packaged.names())
    )


def init(*, file: Path, example: str, force: bool) -> None:
    """Write an example to a file, with the file of flow sizes that it reads."""
    content = packaged.example(example).read_text(encoding="utf-8")
    files = {file: content.replace("FILE", str(file)) if example == STARTER else content}
    for name in SIZE_FILE.findall(content):
        files[file.parent / name] = packaged.folder().joinpath(name).read_text(encoding="utf-8")
    for path in files:
        refuse_if_taken("FILE", path, replace=force)
    for path, text_of_file in files.items():
        write_file(path, text_of_file)
    print_message(f"wrote {' and '.join(f'`{path}`' for path in files)}; next: tcpsf sim {file}")


def _summary(example: Traversable) -> str:
    """Return the first sentence of the comment at the beginning of an example."""
    comment = []
    for line in example.read_text(encoding="utf-8").splitlines():
        words = line.removeprefix("#").strip()
        if not line.startswith("#") or not words:
            break
        comment.append(words)
    return re.split(r"(?<=[.:])\s(?=[A-Z#])", " ".join(comment))[0].rstrip(".:")
