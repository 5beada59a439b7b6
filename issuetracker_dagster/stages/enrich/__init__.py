"""The enrich stage: what a content says, which issue it belongs to, who else says so, how far to trust it.

- `options`    every limit and threshold
- `steps`      the four protocols (extract, cluster, verify, score) and what passes between them
- `words`, `stopwords`, `sentences`, `figures`, `entities`   reading a text, pure
- `extract`    step 1: language, keywords, entities, claims
- `vectors`, `linking`, `neighbours`, `issue_facts`, `cluster`   step 2: the issue of a content, and what is known of it
- `verify`     step 3: claims against the other sources of the issue
- `score`      step 4: trust
- `model_steps`   extract and verify by a language model
- `sources`    whose voice a content is
- `aging`      issues that fell silent
- `handler`    the stage: runs the steps, keeps what they find, lets the content go on whatever fails
"""
