#!/bin/sh
# Installs what is to be released into fresh environments, and runs an example in each: try_release.sh DIST UV
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
    VIRTUAL_ENV="$work/env" "$uv" pip install --quiet "$file"
    (
      cd "$work/run"
      export POLHODE_CACHE_DIR="$work/cache"
      "$work/env/bin/polhode" examples heavy_top student > /dev/null
      "$work/env/bin/polhode" run heavy_top.toml --quiet
      "$work/env/bin/polhode" view heavy_top.nc --export heavy_top.html > /dev/null
      "$work/env/bin/python" -c "import polhode; assert polhode.load('heavy_top.nc').success"
    )
    echo "Python $version: $(basename "$file") is installed, and runs"
    tried=1
  done
done
test $tried -eq 1
