#!/bin/sh
# Shows lcm at work: sh ops/demo.sh [demo arguments]
# Needs Python 3.11 or newer; the first run fetches packages, later ones need no network.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."
. ops/environment.sh

prepare_environment .venv-demo ops/requirements.txt ops/requirements-build.txt
exec "$environment/bin/python" ops/demo.py "$@"
