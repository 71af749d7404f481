"""The JSON Schema of a scenario file, which the simulator defines.

Editors with a TOML language server complete and check scenario files with it. The schema checks
names, types and the spelling of quantities. The simulator checks rules about several values, for
example that a route exists.
"""

from __future__ import annotations

import json
from typing import Any

from tcpsf import _core


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a scenario file, with the keys of the TOML form."""
    schema: dict[str, Any] = json.loads(_core.scenario_schema())
    # The reader of files replaces this key by the contents of the file.
    schema["$defs"]["Sizes"]["properties"]["file"] = {
        "type": "string",
        "description": "A file with sizes; its path is relative to the scenario's file.",
    }
    return schema
