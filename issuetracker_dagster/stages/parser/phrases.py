"""What sites say around their articles, by language: the words that `boilerplate` goes by, and nothing else.

Each phrase is a regular expression; case doesn't matter. `LABELS` match whole lines, `CALLS` are searched in them,
and the others open them. A phrase has its place here when many sites
use it, and when it isn't what an article about subscriptions, copyright or an app would say.
"""

import re
from collections.abc import Mapping

LABELS: Mapping[str, tuple[str, ...]] = {
    "en": (
        r"advertisements?", r"(?:story|article) continues below.*", r"(?:read|see) (?:more|also|next)", r"also read",
        r"don['’]?t miss", r"most read", r"recommended(?: (?:stories|reading|for you))?", r"watch (?:now|next|live)",
        r"related(?: (?:stories|articles|content|topics|links|news))?", r"(?:you )?(?:may|might) also like.*",
        r"thanks for signing up.*", r"there was an error.*", r"click here to .*",
        r"sign up (?:for|to) .*newsletter.*", r"follow .{2,40} on (?:facebook|twitter|instagram|x|tiktok)",
        r"subscribe to .*", r"(?:image|photo|picture)(?: credit|graph)?s? ?(?::|credit).*", r"getty images",
        r"share this.*", r"more on this.*", r"listen to (?:this )?(?:article|story).*", r"sponsored(?: content)?",
        r"promoted", r"top stories", r"in this article",
    ),
    "de": (
        r"anzeige", r"werbung", r"lesen sie auch.*", r"mehr (?:zum thema|lesen)",
        r"das könnte sie auch interessieren", r"(?:auch|weiterhin) interessant", r"(?:foto|bild)(?:er)?:.*",
        r"zum artikel", r"empfohlener (?:externer|redaktioneller) inhalt",
    ),
    "fr": (
        r"publicité", r"(?:à )?lire aussi.*", r"à lire.*", r"sur le même sujet", r"lire (?:plus|la suite)",
        r"photo:.*",
    ),
    "es": (
        r"publicidad", r"lea también.*", r"leer más.*", r"te puede interesar.*", r"más información",
        r"relacionad[oa]s", r"noticias? relacionadas?",
    ),
    "it": (r"pubblicità", r"leggi anche.*", r"potrebbe interessarti.*", r"contenuti correlati"),
    "pt": (
        r"publicidade", r"pub", r"leia (?:também|mais).*", r"continua (?:depois|após) d?a publicidade", r"saiba mais",
    ),
    "nl": (r"advertentie", r"lees ook.*", r"lees meer.*", r"gerelateerd.*"),
    "pl": (r"reklama", r"(?:czytaj|zobacz|przeczytaj) (?:też|także|również|więcej).*", r"dalszy ciąg.*pod reklamą.*"),
    "cs": (r"reklama", r"(?:čtěte|přečtěte si) také.*"),
    "nordic": (r"annonse?", r"reklame?", r"les også.*", r"læs også.*", r"läs (?:också|även|mer).*", r"les mer.*"),
    "tr": (r"reklam", r"ilgili haberler?", r"bunlar da ilginizi çekebilir.*"),
    "ru": (r"реклама", r"читайте (?:также|ещ[её]).*", r"(?:фото|источник):.*"),
    "id": (r"baca juga.*", r"iklan"),
    "vi": (r"xem thêm.*", r"quảng cáo"),
    "ja": (r"広告", r"関連記事", r"あわせて読みたい.*", r"続きを読む"),
    "ko": (
        r"광고", r"관련 ?(?:기사|뉴스)", r"(?:많이 본|주요|인기) ?뉴스", r"(?:기사|본문) ?(?:더 ?보기|전체보기|원문)",
        r"크게 ?보기", r"(?:사진|자료|이미지) ?(?:=|:|제공).{0,60}", r"글자 ?크기.*",
        r"(?:기사)?(?:입력|수정|등록|승인)\s*\d{4}.*",
    ),
}  # fmt: skip
"""Whole lines that name a box, a picture or an advertisement."""

CALLS: Mapping[str, tuple[str, ...]] = {
    "en": (
        r"subscribe (?:to|now|here|today)", r"(?:our|the|free|daily|weekly|morning|your) (?:\S+ ){0,2}newsletter",
        r"sign(?:ing)? up (?:for|to|here|now)", r"your inbox", r"follow (?:us|him|her|them|\w+) on", r"follow @",
        r"click here", r"leave a comment", r"join (?:our|the) (?:\S+ )?(?:channel|conversation)",
        r"(?:e-?mail|contact) (?:us|him|her|the (?:author|reporter|writer|newsroom))\b", r"all rights reserved",
        r"download (?:the|our) (?:\S+ )?app\b", r"our \S* ?app\b",
        r"(?:article|story|piece) was (?:first|originally) published", r"^\W*first published",
        r"^\W*comments? (?:are|will be)\b",
        r"\bis an? (?:\S+ ){0,4}(?:reporter|writer|editor|journalist|correspondent|lecturer|professor|researcher|fellow"
        r"|author|columnist|curator)\b",
        r"can be reached at", r"contributed to this (?:report|story|article)", r"have a (?:news )?tip",
        r"affiliate (?:links?|commissions?|program|partner)",
        r"(?:get|earn|receive) an? (?:\S+ )?(?:share|commission)", r"terms of (?:use|service)", r"privacy policy",
        r"^\W*become a member", r"become a member (?:now|today)", r"support (?:our|independent)", r"share this",
        r"read (?:more|next)", r"^\W*more (?:on|from|stories)\b", r"comment (?:policy|on this (?:article|story))",
        r"(?:sign|log) in (?:now|to|here)", r"get in touch with", r"for more (?:stories|news|on this)",
        r"stay (?:informed|tuned|up to date)", r"additional reporting by",
    ),
    "de": (
        r"fehler gefunden", r"ihre meinung (?:ist uns|zu diese)", r"ihr feedback ?zu",
        r"wie hat ihnen .{0,40} gefallen", r"zuerst (?:bei|in|auf) .{0,40} (?:erschienen|veröffentlicht)",
        r"täglichen (?:\S+ )?newsletter", r"\babonnieren sie", r"jetzt abonnieren",
        r"newsletter.{0,80}(?:anmeld|abonn|bestell|informiert)",
        r"\bist (?:\S+ ){0,3}\S{0,20}(?:redakteur|reporter|korrespondent|autor)(?:in)?\b", r"alle rechte vorbehalten",
        r"folgen sie uns", r"mit (?:agentur)?material (?:von|der)", r"mit agenturmaterial",
        r"(?:news|unsere|der)[ -]app\b",
    ),
    "fr": (
        r"\babonnez", r"réservée? aux abonné", r"tous droits réservés", r"suivez[- ]nous", r"recevez .*newsletter",
        r"inscrivez-vous",
    ),
    "es": (
        r"suscr[ií]b", r"\btu (?:suscripción|cuenta)\b", r"todos los derechos reservados", r"síguenos",
        r"nuestr[oa]s? bolet[ií]n", r"bolet[ií]n de noticias",
    ),
    "it": (r"riproduzione riservata", r"iscriviti", r"\babbonati (?:a|ora|per|subito)\b", r"seguici su"),
    "pt": (
        r"todos os direitos reservados", r"siga (?:o|a|nos)\b.{0,40}(?:whatsapp|instagram|facebook|google)",
        r"assine\b",
    ),
    "nl": (r"meld je aan", r"schrijf je in", r"alle rechten voorbehouden"),
    "pl": (r"wszelkie prawa zastrzeżone", r"zapisz się", r"obserwuj nas"),
    "nordic": (r"meld deg på", r"tilmeld dig", r"prenumerera"),
    "tr": (r"abone ol", r"tüm hakları saklıdır", r"takip ed(?:in|ebilirsiniz)"),
    "ru": (r"подписывайтесь", r"подписаться на", r"все права защищены"),
    "ja": (r"無断(?:転載|複製)", r"会員限定", r"(?:会員|メール).{0,10}登録"),
    "ko": (
        r"무단 ?(?:전재|복제|배포)", r"재배포 ?(?:금지|및)", r"저작권자?\s*[ⓒ©(:]", r"기사 ?제보",
        r"(?:구독|제보)(?:하기|하세요|해 ?주세요)", r"기자\s*[=|·(]?\s*[\w.+-]{1,64}@",
        r"^[\w.+-]{1,64}@[\w.-]{1,80}$", r"카카오톡\s*[:>]",
    ),
    "any": (r"newsletter", r"©", r"ⓒ", r"\bcopyright (?:©|ⓒ|\(c\)|\d{4}|by )", r"\(c\) ?\d{4}", r"@\w{1,40}\.\w"),
}  # fmt: skip
"""What a line at the end of an article says when it turns to the reader, or tells of its author and its rights."""

POINTERS: Mapping[str, tuple[str, ...]] = {
    "en": (
        r"related", r"see", r"(?:also )?read", r"also", r"more", r"watch", r"video", r"listen", r"don['’]?t miss",
        r"click here", r"sign up", r"subscribe", r"join us", r"follow", r"download", r"update", r"continue reading",
        r"explore further", r"next",
    ),
    "de": (r"lesen sie", r"mehr", r"zum artikel", r"hier geht"),
    "fr": (r"(?:à )?lire", r"voir aussi"),
    "es": (r"lea", r"leer", r"más información", r"lee también"),
    "it": (r"leggi", r"guarda"),
    "pt": (r"leia", r"veja"),
    "nl": (r"lees",),
    "pl": (r"czytaj", r"zobacz"),
    "nordic": (r"les", r"læs", r"läs", r"se også"),
    "ru": (r"читайте",),
    "id": (r"baca",),
    "ko": (r"관련 ?기사", r"바로 ?가기"),
    "ja": (r"関連", r"【?関連記事"),
}  # fmt: skip
"""How a line begins that does no more than lead to another page."""

BYLINES: Mapping[str, tuple[str, ...]] = {
    "en": (r"by", r"image", r"photo", r"updated", r"published", r"posted"),
    "de": (r"von", r"foto", r"bild", r"aktualisiert", r"veröffentlicht"),
    "fr": (r"par", r"publié", r"mis à jour"),
    "es": (r"por", r"publicado", r"actualizado"),
    "it": (r"di", r"pubblicato"),
    "nordic": (r"af", r"av"),
    "nl": (r"door",),
    "ja": (r"写真",),
    "ko": (r"입력", r"수정", r"등록", r"사진"),
}  # fmt: skip
"""How a line under the title begins that names author, picture or time."""


def alternatives(phrases: Mapping[str, tuple[str, ...]]) -> str:
    """All phrases of all languages as one group."""
    return "(?:" + "|".join(phrase for language in phrases.values() for phrase in language) + ")"


# Possessive: a line of dots would else be tried from each of them.
WHOLE_LABEL = re.compile(rf"^\W*+{alternatives(LABELS)}\W*$", re.IGNORECASE)
CALL = re.compile(alternatives(CALLS), re.IGNORECASE)
POINTER = re.compile(rf"^\s*(?:[▶☞■]|\W*+{alternatives(POINTERS)}(?!\w))", re.IGNORECASE)
BYLINE = re.compile(rf"^{alternatives(BYLINES)}(?!\w)[^.!?]{{0,80}}$", re.IGNORECASE)
ONLY_A_DATE = re.compile(r"^\W*(?:\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[./-]\d{1,2}[./-]\d{1,2})[\d:., |]*$")
ONLY_A_URL = re.compile(r"^(?:https?://|www\.)\S+$", re.IGNORECASE)
