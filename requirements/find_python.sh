# Finds the Python that polhode is installed with. It prints the command on stdout and one line about it on stderr.
#
#   sh requirements/find_python.sh                  the newest tested Python on the PATH
#   sh requirements/find_python.sh COMMAND          this Python, if polhode can run on it
#   sh requirements/find_python.sh --version 3.12   a Python 3.12, also among those that pyenv keeps aside
#   sh requirements/find_python.sh --tested         the versions that polhode is tested on, oldest first
#   sh requirements/find_python.sh --compare VENV COMMAND    a line if the environment was made by another Python
#
# It needs sh and sed, and no Python.
here=$(dirname "$0")
oldest=11 # pyproject.toml: requires-python
newest=15 # the pinned Numba and all other pinned packages have wheels up to Python 3.15
tested=$(sed -n 's/.*"Programming Language :: Python :: \(3\.[0-9]*\)".*/\1/p' "$here/../pyproject.toml")
wanted="CPython 3.$oldest to 3.$newest with its venv module"

# Prints the version of a Python and "ok", or what is wrong with it; nothing if it does not run.
probe() {
    "$1" -c '
import sys
oldest, newest = int(sys.argv[1]), int(sys.argv[2])
version = "%d.%d.%d" % sys.version_info[:3]
verdict = "ok"
if sys.version_info < (3, oldest):
    verdict = "is too old"
elif sys.version_info[:2] > (3, newest):
    verdict = "is newer than the pinned packages"
elif sys.implementation.name != "cpython":
    verdict = "is not CPython"
else:
    try:
        import ensurepip, venv
    except ImportError:
        verdict = "lacks its venv module (on Debian or Ubuntu: apt install python%d.%d-venv)" % sys.version_info[:2]
print(version + " " + verdict)
' "$oldest" "$newest" 2>/dev/null
}

is_tested() {
    for known in $tested; do
        case $1 in "$known".*) return 0 ;; esac
    done
    return 1
}

# Whether a version such as 3.13.0 comes after another one, by its minor number.
is_newer() {
    first=${1#*.} second=${2#*.}
    [ "${first%%.*}" -gt "${second%%.*}" ]
}

give() {
    note=""
    is_tested "$2" || note=", on which polhode has not been tested"
    echo "Python $2 ($1)$note" >&2
    echo "$1"
    exit 0
}

case $1 in
--tested)
    echo $tested
    exit 0
    ;;
--compare)
    kept=$(probe "$2/bin/python") asked=$(probe "$3")
    kept=${kept%% *} asked=${asked%% *}
    if [ "${kept%.*}" != "${asked%.*}" ]; then
        echo "$2 was made by Python $kept and is kept; to use $3 (Python ${asked:-unknown}), remove $2 first" >&2
    fi
    exit 0
    ;;
--version)
    for candidate in "python$2" python3 "${PYENV_ROOT:-$HOME/.pyenv}/versions/$2".*/bin/python3; do
        found=$(probe "$candidate")
        case $found in "$2".*" ok") give "$candidate" "${found%% *}" ;; esac
    done
    exit 1
    ;;
?*)
    found=$(probe "$1")
    case $found in
    *" ok") give "$1" "${found%% *}" ;;
    "") echo "$1 does not run; polhode needs $wanted" >&2 ;;
    *) echo "$1 (Python ${found%% *}) ${found#* }; polhode needs $wanted" >&2 ;;
    esac
    exit 1
    ;;
esac

candidates=""
for version in $tested; do candidates="python$version $candidates"; done
best="" best_version="" other="" other_version="" seen=""
for candidate in $candidates python3 python3.14 python3.15; do
    command -v "$candidate" >/dev/null 2>&1 || continue
    found=$(probe "$candidate")
    version=${found%% *}
    case $found in
    *" ok")
        if ! is_tested "$version"; then
            [ -n "$other" ] || { other=$candidate other_version=$version; }
        elif [ -z "$best" ] || is_newer "$version" "$best_version"; then
            best=$candidate best_version=$version
        fi
        ;;
    "") seen="$seen; $candidate does not run" ;;
    *) seen="$seen; $candidate (Python $version) ${found#* }" ;;
    esac
done
[ -z "$best" ] || give "$best" "$best_version"
[ -z "$other" ] || give "$other" "$other_version"
{
    echo "polhode needs $wanted, and found none on the PATH${seen:+:${seen#;}}."
    echo "Install one, or name one that is elsewhere: make PYTHON=/path/to/python3"
} >&2
exit 1
