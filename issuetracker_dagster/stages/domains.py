"""Who owns a host, by the bundled public suffix list; never asks the network."""

from functools import lru_cache

from tldextract import TLDExtract

_extract = TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)


@lru_cache(maxsize=10_000)
def registrable_domain(host: str) -> str:
    """`news.example.co.kr` to `example.co.kr`; hosts without a public suffix (addresses, `localhost`) stay whole."""
    return _extract(host.lower()).top_domain_under_public_suffix or host.lower()
