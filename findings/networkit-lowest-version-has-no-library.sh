#!/usr/bin/env bash
# networkit 11.1 installs from a wheel and cannot be imported; its post release can
#
# Guess:    `networkit>=11.1` may be tested at its lowest version, as resolvers of lowest versions do
# Seen:     the wheel of 11.1 lacks libnetworkit.so, so importing it fails; 11.1.post1 has it
# Versions: networkit 11.1 and 11.1.post1, numpy 2.0.0, scipy 1.13.1; Python 3.11, Linux x86_64.
# Output seen:
#   11.1: libnetworkit.so: cannot open shared object file: No such file or directory
#   11.1.post1: imported
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
for version in 11.1 11.1.post1; do
    "$room/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
        "networkit==$version" numpy==2.0.0 scipy==1.13.1
    seen=$("$room/venv/bin/python" -c '
try:
    import networkit
    print("imported")
except ImportError as error:
    print(error)')
    echo "$version: $seen"
    case "$version" in
        11.1) [[ $seen == *libnetworkit.so* ]] ;;
        *) [ "$seen" = imported ] ;;
    esac
done
