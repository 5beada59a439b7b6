"""What a page may be besides an article. A content that bears a mark has it in `field_sources`, with what said so."""

PAYWALL, LIVE_BLOG, GALLERY = "paywall", "live_blog", "gallery"
MARKS = (PAYWALL, LIVE_BLOG, GALLERY)
