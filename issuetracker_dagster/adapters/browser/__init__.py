"""Chromium by Playwright (the extra `render`), behind the port `Renderer`.

- `renderer`   the port: a thread with a loop, which owns the browser, starts and replaces it
- `chromium`   one running browser: how it is started, what it may use, how it ends for sure
- `tab`        one page in it: what it may ask for, when it is done, what comes out; `tab.js` runs beside the page
- `guard`      the proxy through which a page's whole traffic goes, and only to public addresses
- `folders`    where a browser writes
- `places`     how many pages at once, and for whom
- `installed`  what is missing on this machine; the only module that can be imported without the extra
- `options`    the limits
"""
