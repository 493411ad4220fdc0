#!/bin/sh
# Writes ops/requirements*.txt from uv.lock; with --check compares them with it instead. Needs uv.
set -eu
cd -- "$(dirname -- "$0")/.."

lines() {
    echo "# Exported from uv.lock by ops/export_requirements.sh; do not edit."
    uv export --quiet --frozen --offline --no-emit-project --no-header --no-annotate "$@"
}

write_to() {
    lines --no-default-groups >"$1/requirements.txt"
    lines --only-group build >"$1/requirements-build.txt"
    lines --all-groups --extra llm >"$1/requirements-test.txt"
}

if [ "${1:-}" != --check ]; then
    write_to ops
    exit
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
write_to "$scratch"
for file in "$scratch"/*.txt; do
    if ! cmp -s "$file" "ops/${file##*/}"; then
        echo "ops/${file##*/} does not agree with uv.lock; run: sh ops/export_requirements.sh" >&2
        exit 1
    fi
done
