#!/usr/bin/env bash
# tilebase on a few machines over ssh, each with tilebase[cluster] installed and the same folder mounted.
#
#   examples/cluster/ssh.sh "alpha beta gamma" solve 4x4 64 -o TABLE
#
# The scheduler runs on this machine.  Everybody who reaches its port can run programs on the workers: use a
# network that you trust, or Dask's TLS (docs/scale.md).
set -euo pipefail

machines="$1"
shift
port="${PORT:-8786}"
address="tcp://$(hostname -f):$port"
trap 'kill $(jobs -p)' EXIT

# Workers run no Python file of the folder that they are started in.
export PYTHONSAFEPATH=1
export DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL=60s
export DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=100
# Short logs keep the scheduler small.
export DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH=100
dask scheduler --port "$port" --no-dashboard &
for machine in $machines; do
    # -tt: the worker ends with this script.
    ssh -tt "$machine" "PYTHONSAFEPATH=1 dask worker $address --nworkers 1 --nthreads \$(nproc) --memory-limit 0 --no-dashboard" &
done
sleep 5
tilebase "$@" --cluster "$address"
