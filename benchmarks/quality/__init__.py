"""The gold gate, `make quality`: how well pages, charsets and feeds are read, beside other readers on the same files.

- `__main__`  the run: tables, pages that got worse, and whether a figure fell below its floor
- `figures`   what is measured of the parser and its peers; `floors.json` holds the least (or most) of each
- `recorded`  the recorded pages with what people say is on them
- `readers`   the parser and its peers, each as a function from page to reading
- `scoring`   precision, recall and fields of one reading
- `files`     charsets and feeds
- `pages.json`  body F1 of each page when it was last accepted
"""
