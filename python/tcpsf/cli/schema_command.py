"""`tcpsf schema`: the JSON Schemas of scenario files and of JSON outputs."""

from __future__ import annotations

import json
from importlib import resources

from tcpsf.cli.output import print_result


def schema(*, name: str) -> None:
    """Print the schema of scenario files, or of an output from the files of ``tcpsf.report``."""
    if name == "scenario":
        from tcpsf.scenario.schema import json_schema

        print_result(json.dumps(json_schema(), indent=2))
        return
    file = resources.files("tcpsf.report").joinpath("schema", f"{name}.json")
    print_result(file.read_text(encoding="utf-8").removesuffix("\n"))
