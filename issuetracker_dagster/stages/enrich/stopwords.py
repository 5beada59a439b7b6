"""Words that say nothing about what a text is about."""

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

_NEWS = """
said say says saying told tell added according report reported reports news new also year years month months week weeks
day days time monday tuesday wednesday thursday friday saturday sunday january february march april june july august
september october november december today yesterday tomorrow mr mrs ms dr just like people percent
"""

_EUROPEAN = """
der die das den dem des ein eine einer einem einen und oder aber nicht mit von vom zu zum zur im in ist sind war waren
wird werden hat haben auf für als auch bei nach aus wie dass sich noch über vor durch wenn nur seit sie er es wir ihr
selbst sein seine seiner seinen ihre ihrer ihren bis gegen mehr sehr schon wurde wurden worden können kann soll will
muss unter zwischen diese dieser dieses so da dort hier was wer alle allem vom sowie jedoch
le la les un une des du de et ou mais ne pas avec dans sur pour par est sont été qui que ce cette il elle ils au aux
en plus se son sa ses leur comme après el los las una unos y o pero no con por para es son fue ha han que como más su
sus al del lo se il gli i e ma non che per è sono di da nel nella alla dei delle um uma os as e ou mas não com em no na
dos das foi são het een en van dat niet met op te zijn voor aan
"""

_KOREAN = """
그리고 하지만 그러나 또한 이번 지난 이날 오늘 오전 오후 관련 대한 위해 통해 따라 가장 모든
있는 있다 있었다 없다 했다 한다 하는 된다 됐다 되는 것으로 것이 것은 것을 밝혔다 말했다
전했다 설명했다 덧붙였다 강조했다 따르면 기자 뉴스 이후 당시 현재 최근 다시 함께 우리 이를
이에 라며 이라고 라고 그는 그의 때문 때문에 경우 정도 이상 이하 약 등 및 더 한 두 세
"""

_TELLING = """
amount bill bottom computer cry describe detail fire found front interest mill move mine serious show side sincere
system top
"""
# The library's list takes words such as "fire" for empty; in news they are what it is about.
_ENGLISH = frozenset(ENGLISH_STOP_WORDS) - frozenset(_TELLING.split())

STOPWORDS = _ENGLISH | frozenset(f"{_NEWS} {_EUROPEAN} {_KOREAN}".split())
