"""Who publishes: the hosts of the demo site, what they look like to a crawler and what sets each apart."""

from typing import Literal

import msgspec

Language = Literal["en", "ko"]
Metadata = Literal["json_ld", "opengraph", "visible"]


class Host(msgspec.Struct, frozen=True):
    """One site. `metadata` says where its articles name author and date; `visible` needs a parser rule.

    `deviates`: now and then it gives another key figure than the others. `offset_minutes` is the zone of its dates.
    """

    key: str
    title: str
    language: Language
    metadata: Metadata
    staff: tuple[str, ...]
    charset: str = "utf-8"
    feed: Literal["rss", "atom"] = "rss"
    offset_minutes: int = 0
    deviates: bool = False
    crawl_delay_s: int = 0
    community: bool = False

    @property
    def name(self) -> str:
        """The host name, which every system may take for this machine."""
        return f"{self.key}.localhost"

    @property
    def feed_path(self) -> str:
        return f"/{self.feed}.xml"


KST = 9 * 60

DAILY = Host("daily", "The Daily Courier", "en", "json_ld", ("Nora Whitlock", "Samir Aziz", "Joan Pereira"))
METRO = Host("metro", "Metro Standard", "en", "visible", ("Colin Draper", "Wanda Osei", "Petra Lind"))
WORLD = Host(
    "world", "World Dispatch", "en", "opengraph", ("Elena Fontaine", "Marcus Obi"), feed="atom", deviates=True
)  # fmt: skip
HANGUK = Host("hanguk", "한국누리신문", "ko", "json_ld", ("김서윤", "박도현", "이하람"), offset_minutes=KST)
SEOUL = Host(
    "seoul", "서울아침", "ko", "opengraph", ("정다온", "최은결", "한지오"), charset="euc-kr", offset_minutes=KST
)  # fmt: skip
BUSAN = Host(
    "busan", "부산항일보", "ko", "visible", ("오세린", "윤가람"),
    offset_minutes=KST, deviates=True, crawl_delay_s=1,
)  # fmt: skip
FORUM = Host(
    "forum", "Plaza Forum", "en", "visible", ("nightowl", "teapot_42", "강변산책", "mossy", "달빛우체국"),
    community=True,
)  # fmt: skip

HOSTS = (DAILY, METRO, WORLD, HANGUK, SEOUL, BUSAN, FORUM)
NEWS = {"en": (DAILY, METRO, WORLD), "ko": (HANGUK, SEOUL, BUSAN)}
ODD = FORUM
"""The host that links the odd pages; its breaker may open without holding up the news."""
LIVE = WORLD
"""The host that has live tickers."""
