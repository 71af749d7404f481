"""Small HTML tables for notebooks, with escaped contents."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def table(rows: Sequence[Sequence[str]], *, caption: str = "", left: Sequence[int] = ()) -> str:
    """Return a table as HTML; the first row has the heads.

    Columns in ``left`` are aligned to the left, the others to the right. Backquotes of ``caption``
    enclose code.

    >>> table([["link", "kB"], ["<up>", "1.5"]], left=[0])[-80:]
    '<tr><td style="text-align:left">&lt;up&gt;</td><td>1.5</td></tr></tbody></table>'
    """
    heads, *others = rows
    body = "".join(_row("td", row, left) for row in others)
    title = f'<caption style="text-align:left">{paragraph(caption)}</caption>' if caption else ""
    return (
        f'<table style="text-align:right">{title}<thead>{_row("th", heads, left)}</thead>'
        f"<tbody>{body}</tbody></table>"
    )


def paragraph(text: str) -> str:
    """Return text as HTML; backquotes enclose code, and lines end where they end in ``text``.

    >>> paragraph("Flows of `a<b`")
    'Flows of <code>a&lt;b</code>'
    """
    parts = escape(text).replace("\n", "<br>").split("`")
    return "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts))


def _row(tag: str, cells: Sequence[str], left: Sequence[int]) -> str:
    shown = (
        f'<{tag} style="text-align:left">{escape(cell)}</{tag}>'
        if column in left
        else f"<{tag}>{escape(cell)}</{tag}>"
        for column, cell in enumerate(cells)
    )
    return f"<tr>{''.join(shown)}</tr>"
