"""What the fuzzer must know of this API; schemathesis loads it by SCHEMATHESIS_HOOKS.

FUZZ_KNOWN is a JSON object of ids that are there, by the name of the path's parameter.
"""

import json
import os
import re
from urllib.parse import quote

import schemathesis

KNOWN = json.loads(os.environ["FUZZ_KNOWN"])


@schemathesis.hook
def before_call(context, case, kwargs):
    """Waits are short, and every second request that is right is about something that is there."""
    query, path = case.query or {}, case.path_parameters or {}
    if re.fullmatch(r"\d+(ms|s|m|h|d)", str(query.get("wait", ""))):
        query["wait"] = "1ms"
    # A head of more than 16 KiB never reaches the API: whoever reads HTTP answers it, without a body.
    for name, value in query.items():
        if isinstance(value, str) and len(quote(value)) > 8000:
            query[name] = value[:2200]
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    for name in KNOWN.keys() & path.keys():
        if len(str(path[name])) % 2:
            path[name] = KNOWN[name]
            # They are of the default account and of the kind their id tells.
            query.pop("account", None)
            query.pop("kind", None)
