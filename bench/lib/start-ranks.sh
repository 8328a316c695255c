# start-ranks.sh N COMMAND…: N ranks of a job on this machine, which nobody ends when one of them dies.
world=$1
shift
for rank in $(seq 0 $((world - 1))); do
  RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$world MASTER_ADDR=127.0.0.1 MASTER_PORT=${MASTER_PORT:-29642} "$@" &
done
status=0
for job in $(jobs -p); do wait "$job" || status=$?; done
exit $status
