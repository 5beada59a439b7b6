"""Redis (or Valkey) behind the ports: order, leases, locks and due times. Every decision that must be atomic is Lua.

- `client`   connecting, bounded retries, errors in our own words, writes confirmed on disk
- `scripts`  `scripts/*.lua` by name, surviving SCRIPT FLUSH
- `queue`    `PriorityZSetQueue`, the leased priority queue of a stage; `queue_steering` for operators
- `retries`, `locks`, `hosts`, `frontier`  what waits, who may, and when a host may be asked
"""
