"""The validate stage: is a parsed content worth enriching, and have we seen it before?

- `options`     every limit, with the names of the settings `VALIDATE_*`
- `measure`     counts and shares over a text: words by script, capitals, symbols, floods
- `news`, `community`   the two sets of rules, pure: content in, verdict out
- `duplicates`  fingerprints of a text: hash, MinHash signature, LSH bands
- `copies`      links a content to its first copy
- `handler`     the stage: clear, judge, record, link, forward
"""
