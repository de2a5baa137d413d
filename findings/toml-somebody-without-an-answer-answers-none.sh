#!/usr/bin/env bash
# Somebody without an answer has answered None by one TOML library, and null by another
#
# Guess:    TOML has no missing value, so that None is refused
# Seen:     toml leaves a missing value out of a table and writes it as the text None in a list; rtoml
#           writes the text null in both; read back it is an answer as any other; two libraries refuse
# Docs:     rtoml documents the text as its default, toml does not speak of it
# Versions: toml 0.10.2, rtoml 0.14.0, tomli-w 1.2.0, tomlkit 0.15.2; Python 3.11.
# Output seen:
#   toml: list ['yes', 'None'], table {}
#   rtoml: list ['yes', 'null'], table {'bo': 'null'}
#   tomli_w: TypeError
#   tomlkit: ConvertError
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check \
  toml==0.10.2 rtoml==0.14.0 tomli-w==1.2.0 tomlkit==0.15.2
cd "$room"
"$room/venv/bin/python" - <<'PY'
import tomllib

import rtoml
import toml
import tomli_w
import tomlkit

answers = {"list": ["yes", None], "table": {"bo": None}}
wanted = {
    toml: {"list": ["yes", "None"], "table": {}},
    rtoml: {"list": ["yes", "null"], "table": {"bo": "null"}},
}
for library in (toml, rtoml, tomli_w, tomlkit):
    try:
        found = tomllib.loads(library.dumps(answers))
    except (TypeError, tomlkit.exceptions.ConvertError) as refused:
        print(f"{library.__name__}: {type(refused).__name__}")
        assert library not in wanted
        continue
    print(f"{library.__name__}: list {found['list']}, table {found['table']}")
    assert found == wanted[library]
PY
