#!/bin/sh
# Installs what is to be released into fresh environments, without extras and with `all`, and runs an example in each:
# try_release.sh DIST UV
# Pythons that are not installed here are named and left out.
set -eu
dist=$(cd "$1" && pwd)
uv=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tried=0
for version in $(sh "$here/find_python.sh" --tested); do
  if ! python=$(sh "$here/find_python.sh" --version "$version"); then
    echo "Python $version: NOT INSTALLED, NOT TRIED"
    continue
  fi
  for file in "$dist"/*.whl "$dist"/*.tar.gz; do
    rm -rf "$work/env" "$work/run"
    mkdir "$work/run"
    "$uv" venv --quiet --python "$python" "$work/env"
    export VIRTUAL_ENV="$work/env" POLHODE_CACHE_DIR="$work/cache"
    "$uv" pip install --quiet "$file"
    (
      cd "$work/run"
      "$work/env/bin/python" -c "import polhode as ph
motion = ph.simulate(ph.Body([5, 5, 1]), ph.HeavyTop(weight=20), omega=[0.1, 0, 50], t_span=(0, 1), rtol=1e-9)
motion.save('top.nc')
assert ph.load('top.nc').error_estimate < 1e-9"
      said=$("$work/env/bin/polhode" show top.nc 2>&1 || true)
      case "$said" in *"pip install 'polhode[cli]'"*) ;; *) echo "without extras the command says: $said" >&2; exit 1;; esac
    )
    "$uv" pip install --quiet "polhode[all] @ file://$file"
    (
      cd "$work/run"
      "$work/env/bin/polhode" examples heavy_top student > /dev/null
      "$work/env/bin/polhode" run heavy_top.toml --quiet
      "$work/env/bin/polhode" view heavy_top.nc --export heavy_top.html > /dev/null
      "$work/env/bin/python" -c "import polhode; assert polhode.load('heavy_top.nc').success"
    )
    echo "Python $version: $(basename "$file") is installed, and runs, without extras and with all"
    tried=1
  done
done
test $tried -eq 1
