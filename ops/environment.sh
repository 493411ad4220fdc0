# Sourced by the scripts beside it, from the root of the checkout: virtual environments in step with hashed requirements.

# Without bytecode every start would compile every module again; it lies in ignored folders.
unset PYTHONDONTWRITEBYTECODE

# Marks an environment as made here; holds what it was made from.
stamp=lcm-requirements

# The folder for tests. An environment that somebody else made, for example with uv, stays as it is.
test_environment() {
    if [ -n "${TEST_VENV:-}" ]; then
        echo "$TEST_VENV"
    elif [ -e .venv ] && [ ! -e ".venv/$stamp" ]; then
        echo .venv-test
    else
        echo .venv
    fi
}

# prepare_environment FOLDER REQUIREMENTS...: FOLDER holds exactly these packages and, editable, this checkout.
prepare_environment() {
    environment=$1
    shift
    if ! is_current "$@"; then
        make_environment "$@"
    fi
    if ! cmp -s pyproject.toml "$environment/$stamp-pyproject"; then
        install --no-index --no-build-isolation -e .
        cp pyproject.toml "$environment/$stamp-pyproject"
    fi
}

is_current() {
    made_from "$@" | cmp -s - "$environment/$stamp" && "$environment/bin/python" -c '' 2>/dev/null
}

# An environment holds absolute paths, so that of a copied or moved checkout is made again.
made_from() {
    pwd
    cat -- "$@"
}

make_environment() {
    if [ -e "$environment" ] && [ ! -e "$environment/$stamp" ]; then
        echo "$environment is not an environment made by ops/environment.sh; move it away or name another." >&2
        exit 1
    fi
    python=$(find_python)
    echo "Installing packages into $environment (only when requirements change) ..." >&2
    rm -rf -- "$environment"
    # Marked before it is filled: an interrupted installation must not look like somebody else's environment.
    mkdir -p -- "$environment"
    : >"$environment/$stamp"
    "$python" -m venv "$environment"
    for file in "$@"; do
        # The lists are complete, so that nothing is resolved; why the version of Python is ignored stands in one of them.
        install --require-hashes --ignore-requires-python -r "$file"
    done
    "$environment/bin/python" -m compileall -q lcm || :
    made_from "$@" >"$environment/$stamp"
}

install() {
    "$environment/bin/python" -m pip install -qq --disable-pip-version-check --no-input --no-deps "$@"
}

find_python() {
    for candidate in python3.13 python3.12 python3.11 python3 python; do
        if "$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "Python 3.11 or newer with venv is needed; on Debian or Ubuntu: apt-get install python3 python3-venv" >&2
    return 1
}
