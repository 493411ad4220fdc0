#!/bin/sh
# Runs the tests: sh ops/test.sh [pytest arguments]
# Needs Python 3.11 or newer; the first run fetches packages, later ones need no network. TEST_VENV: another environment.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."
. ops/environment.sh

prepare_environment "$(test_environment)" ops/requirements-test.txt ops/requirements-postgresql.txt
exec "$environment/bin/python" -m pytest -n auto "$@"
