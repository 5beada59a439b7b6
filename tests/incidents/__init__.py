"""Five incidents on a running demo: which check turns, after how long, and what it says."""
