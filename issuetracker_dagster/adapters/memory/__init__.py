"""The fakes: every port in memory, kept honest by the contract suites that they share with the real adapters."""
