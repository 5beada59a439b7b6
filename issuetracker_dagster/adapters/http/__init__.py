"""HTTP on aiohttp: `fetcher` asks, `addresses` says whom it may ask, `decoding` bounds what it reads."""
