"""Measurements, each against a raw limit taken beside it in one run: absolute figures of a shared machine say little.

`make bench` or `python -m benchmarks` runs them and says what moved; `README.md` has what was last recorded and why.

- `catalogue`  every benchmark, by name; each is a module with one function `measure`, run in a process of its own
- `figures`    what a benchmark yields; `recorded`, `setup`, `table`, `page`, `plot` keep, compare and show it
- `running`    runs them; `once` is the process in which one runs
- `queue`, `memory`, `priority_wait`, `buffer`, `publish`, `intake`, `resolve`  parts of the pipeline in this process
- `pages`, `latency`, `idle`  the whole pipeline under Dagster (`pipeline`, `processor`, `recorded_site`)
- `growth`     what one operation costs as there is more of everything
- `burst`      a burst while everything is killed; takes minutes and runs only when it is named
- `quality`    how well pages are read: apart from all this
"""
