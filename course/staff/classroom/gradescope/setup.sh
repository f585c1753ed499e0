#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image: it installs Python, the sandbox and the requirements.
set -euo pipefail
export AUTOGRADER="${AUTOGRADER:-/autograder}"
export XDG_CACHE_HOME="$AUTOGRADER/cache"
cd "$AUTOGRADER/source"

apt-get update -qq
apt-get install -y -qq python3 python3-venv bubblewrap
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "Python 3.11 or newer is needed, got $(python3 --version); choose Ubuntu 24.04 as the base image" >&2
    exit 1
}
python3 -m venv "$AUTOGRADER/venv"
python="$AUTOGRADER/venv/bin/python"
grep -E '^(jinja2|libcst)\b' requirements.dev.txt > "$AUTOGRADER/staff.txt"
"$python" -m pip install --disable-pip-version-check -c constraints.txt -r requirements.txt -r requirements.extra.txt -r "$AUTOGRADER/staff.txt"

# Grade the reference now, so that its kernels are not compiled again for every submission.
"$python" -m course.staff.classroom.autograder "$AUTOGRADER" --warm
