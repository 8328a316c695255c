"""A Ray cluster of two nodes on this machine. Prints its address, and ends when the standard input does.

A line `kill` on the standard input kills the second node.
"""

import sys

from ray.cluster_utils import Cluster

# By default Ray takes 30% of memory for its object store; the minimum is enough.
small = {"num_cpus": 1, "object_store_memory": 80_000_000}
cluster = Cluster(initialize_head=True, head_node_args={**small, "include_dashboard": False})
second = cluster.add_node(**small)
print(cluster.address, flush=True)
for line in sys.stdin:
    if line.strip() == "kill":
        cluster.remove_node(second, allow_graceful=False)
        print("killed", flush=True)
cluster.shutdown()
