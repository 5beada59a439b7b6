"""`issuetracker demo` as people meet it. One demo serves all tests of this package, which run in their order."""
