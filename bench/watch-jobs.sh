#!/bin/sh
# Records jobs of watched_job.py, one after the other, for `whyslow watch --once` to judge: watch-jobs.sh OUT SECONDS NAME…
# LOCK='flock FILE' lets one at a time use the machine. A name with `restart` runs twice into the same folder, as a job that was started again does.
out=$1 seconds=$2
shift 2
here=$(dirname "$0")
for name in "$@"; do
  folder=$out/$name
  start="python"
  case $name in *rank*) start="torchrun --nproc-per-node 4" ;; esac
  record() {
    $LOCK timeout 170 node "$here/../bin/whyslow.js" run --out "$folder" --run-id "$name" --no-diagnose --no-trace \
      -- $start "$here/watched_job.py" "${name%%.*}" "$seconds" >>"$folder.log" 2>&1
  }
  record
  case $name in *restart*) record ;; esac
  sleep 1
done
