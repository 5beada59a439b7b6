"""The invented towns, firms and people that events are drawn from. Pools are small, so that events share them."""

import random
from collections.abc import Mapping, Sequence

PLACES = (
    "Port Alder", "Kellan Bay", "Haldenborg", "Marrow Heath", "Stonebridge", "Lower Tarn", "Vesterby", "Oakmere",
    "Grayling", "Santa Brisa", "Norhaven", "Pell Harbour", "Ironford", "Castlemoor", "Ravenna Falls", "Dunmarsh",
)  # fmt: skip
FIRMS = (
    "Norwick Logistics", "Ostrander Homes", "Halvorsen", "Bright Meridian", "Tallis Foods", "Corvane", "Ulmer and Sons",
    "Pentland Energy", "Quarry Lane Group", "Sable Motors", "Arcton Systems", "Delphine", "Westmark Rail",
    "Lumen Works", "Hartwell Chemicals", "Osprey Air", "Kestrel Bank", "Northgate Steel", "Vantry", "Mapleton Dairy",
)  # fmt: skip
FIRST = (
    "Marta", "Tom", "Ingrid", "Lionel", "Ann", "Pavel", "Rosa", "Derek", "Yusuf", "Clara", "Henrik", "Joan", "Miles",
    "Nadia", "Oscar", "Priya", "Quentin", "Ruth", "Stefan", "Tilda",
)  # fmt: skip
LAST = (
    "Delgado", "Reyes", "Solheim", "Grant", "Lee", "Novak", "Marsh", "Okafor", "Lindqvist", "Farrow", "Bennett",
    "Costa", "Duval", "Eriksen", "Hobbs", "Ivers", "Jansen", "Keller", "Lund", "Moreau", "Nash", "Ortega", "Pryce",
    "Quist", "Rahman", "Sato", "Thorne", "Ude", "Vance", "Weller",
)  # fmt: skip
CRIMES = ("bribery", "tax fraud", "embezzlement", "false accounting", "abuse of office")
CAUSES = ("a battery store", "a welding bench", "a paint room", "an electrical panel", "a heap of packaging")
PRODUCTS = (
    "heat pumps",
    "frozen meals",
    "delivery vans",
    "cloud software",
    "steel pipes",
    "office chairs",
    "medicines",
)
SKIES = ("sunny spells", "heavy clouds", "scattered showers", "thunderstorms", "clear skies", "drizzle")
WINDS = ("north", "east", "south-west", "west")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

KOREAN_PLACES = ("부산", "인천", "대구", "울산", "창원", "청주", "포항", "여수", "강릉", "목포")
KOREAN_FIRMS = (
    "한빛물류", "새솔가구", "두레식품", "가온전자", "미르제철", "청해조선", "다온화학", "해오름제약", "누리통신",
    "별빛에너지", "동아람자동차", "은하섬유",
)  # fmt: skip
SURNAMES = ("김", "이", "박", "최", "정", "강", "조", "윤", "장", "임", "한", "오")
GIVEN = ("민준", "서연", "도윤", "지우", "하준", "수아", "태영", "영희", "상철", "미경", "재훈", "은정", "동현", "혜진")
KOREAN_CRIMES = ("뇌물 수수", "탈세", "횡령", "배임", "직권 남용")
KOREAN_CAUSES = ("배터리 보관실", "용접 작업대", "도장실", "배전반", "포장재 더미")
KOREAN_PRODUCTS = ("히트펌프", "냉동식품", "배송 차량", "클라우드", "강관", "반도체", "의약품")
KOREAN_SKIES = ("맑음", "흐림", "소나기", "천둥 번개", "구름 많음", "이슬비")
KOREAN_WINDS = ("북", "동", "남서", "서")


def details(language: str, place: str, day: int, dice: random.Random) -> dict[str, str]:
    """What an event's sentences can name. Officials belong to a place, chiefs to a firm: they come again and again."""
    korean = language == "ko"
    org, org2 = dice.sample(KOREAN_FIRMS if korean else FIRMS, 2)
    rival = dice.choice([other for other in PLACES if other != place])
    won, lost = dice.randint(2, 5), dice.randint(0, 1)
    pool = _KOREAN_POOLS if korean else _POOLS
    return {
        "place": place,
        "org": org,
        "org2": org2,
        "day": f"{day % 28 + 1}일" if korean else WEEKDAYS[day % 7],
        **{role: _person(language, random.Random(f"{role} of {place}")) for role in ("mayor", "fire", "judge")},
        **{role: _person(language, random.Random(f"{role} of {org}")) for role in ("boss", "leader")},
        **{role: _person(language, dice) for role in ("witness", "accused", "winner", "loser", "scorer", "coach")},
        **{name: dice.choice(values) for name, values in pool.items()},
        "hospital": f"{place}의료원" if korean else f"{place} General Hospital",
        "river": random.Random(place).choice(("Aller", "Wend", "Sorrow", "Greta", "Tamsin")),
        "bridge": f"{random.Random(place).choice(LAST)} Bridge",
        "team": f"{place} {random.Random(place).choice(('United', 'Rovers', 'Athletic'))}",
        "rival": f"{rival} {random.Random(rival).choice(('United', 'Rovers', 'Athletic'))}",
        "score": f"{won}-{lost}",
        **_numbers(dice),
    }


def _person(language: str, dice: random.Random) -> str:
    if language == "ko":
        return dice.choice(SURNAMES) + dice.choice(GIVEN)
    return f"{dice.choice(FIRST)} {dice.choice(LAST)}"


def _numbers(dice: random.Random) -> dict[str, str]:
    return {
        "n": str(dice.randint(3, 60)),
        "m": str(dice.randint(20, 90)),
        "h": str(dice.randint(2, 9)),
        "floor": dice.choice(("2", "3", "4")),
        "line": str(dice.randint(1, 9)),
        "age": str(dice.randint(28, 61)),
        "money": str(dice.randint(2, 400)),
        "pct": str(dice.randint(4, 60)),
        "x": f"{dice.uniform(0.1, 2.4):.1f}",
        "t": str(dice.randint(12, 31)),
        "low": str(dice.randint(2, 11)),
        "index": f"{dice.randint(2300, 2700)}.{dice.randint(10, 99)}",
        "rate": f"{dice.randint(1310, 1390)}.{dice.randint(1, 9)}",
        "oil": f"{dice.randint(68, 82)}.{dice.randint(10, 99)}",
        "gold": str(dice.randint(2300, 2450)),
    }


_POOLS: Mapping[str, Sequence[str]] = {
    "crime": CRIMES, "cause": CAUSES, "product": PRODUCTS, "sky": SKIES, "wind": WINDS,
}  # fmt: skip
_KOREAN_POOLS: Mapping[str, Sequence[str]] = {
    "crime": KOREAN_CRIMES, "cause": KOREAN_CAUSES, "product": KOREAN_PRODUCTS, "sky": KOREAN_SKIES,
    "wind": KOREAN_WINDS,
}  # fmt: skip
