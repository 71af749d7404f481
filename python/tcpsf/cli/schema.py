"""`tcpsf schema`: the JSON Schemas of what the commands read and write."""

from __future__ import annotations

import json
from importlib import resources

import click


def schema(*, name: str) -> None:
    """Print one schema: of scenario files, or of an output, which is a file of ``tcpsf.report``."""
    if name == "scenario":
        from tcpsf.scenario.schema import json_schema

        click.echo(json.dumps(json_schema(), indent=2))
        return
    file = resources.files("tcpsf.report").joinpath("schema", f"{name}.json")
    click.echo(file.read_text(encoding="utf-8"), nl=False)
