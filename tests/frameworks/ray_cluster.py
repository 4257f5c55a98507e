"""A program: a real Ray cluster of two nodes, each of one core, on the loopback address alone.

It prints the address, and then does what it reads: `kill` ends the second node as a power cut
would, `add` starts another. It ends, and the cluster with it, at the end of its input.

`RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0`, which the caller sets, makes Ray keep to 127.0.0.1. Without
it Ray takes the machine's public address, whatever it is given, and listens there.
"""

from __future__ import annotations

import sys

from ray.cluster_utils import Cluster


def main() -> None:
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "include_dashboard": False, "node_ip_address": "127.0.0.1"},
    )
    try:
        node = cluster.add_node(num_cpus=1, node_ip_address="127.0.0.1")
        print(cluster.address, flush=True)
        for line in sys.stdin:
            if line.strip() == "kill":
                cluster.remove_node(node, allow_graceful=False)
            else:
                node = cluster.add_node(num_cpus=1, node_ip_address="127.0.0.1")
            print("done", flush=True)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
