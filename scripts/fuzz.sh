#!/bin/sh
# Fuzzes every parser of foreign bytes, so many seconds each, and tells of each target how many inputs it ran and how
# many edges of the code they reached. What they found goes on growing in fuzz/corpus; what broke something, in
# fuzz/artifacts.
set -u
cd "$(dirname "$0")/.." || exit 2
seconds=${1:?so many seconds each}
# What breaks is told with the names of functions, which other releases do without.
export CARGO_PROFILE_RELEASE_STRIP=none
cargo +nightly fuzz build || exit 1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
broken=
for target in $(cargo +nightly fuzz list); do
    mkdir -p "fuzz/corpus/$target"
    set -- "fuzz/corpus/$target"
    if [ -d "fuzz/seeds/$target" ]; then set -- "$@" "fuzz/seeds/$target"; fi
    if cargo +nightly fuzz run "$target" "$@" -- \
        -max_total_time="$seconds" -timeout=10 -print_final_stats=1 >"$log" 2>&1; then
        word=holds
    else
        word=BROKEN broken="$broken $target"
        grep -a -A12 -e 'panicked at' -e 'ERROR: ' "$log" | head -40
    fi
    edges=$(grep -ao 'cov: [0-9]*' "$log" | tail -1)
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    printf '%-10s %s: %s inputs, %s edges\n' "$target" "$word" "${inputs:-?}" "${edges#cov: }"
done
if [ -n "$broken" ]; then
    echo "broken:$broken; the inputs are in fuzz/artifacts" >&2
    exit 1
fi
