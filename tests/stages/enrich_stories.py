"""Invented reports of invented events, several by different hands for each event."""

import msgspec

from issuetracker_dagster.model.records import Content

NOW_MS = 1_750_000_000_000
HOUR_MS = 3_600_000


class Report(msgspec.Struct, frozen=True):
    """One hand's report of an event."""

    event: str
    url: str
    title: str
    body: str
    hours_ago: float = 1.0

    def content(self) -> Content:
        """As the parser would store it."""
        return Content(
            url=self.url,
            host=self.url.split("/")[2].split(":")[0],
            title=self.title,
            author="Newsroom",
            body=self.body,
            published_ms=int(NOW_MS - self.hours_ago * HOUR_MS),
            fetched_ms=NOW_MS,
        )


ALDER_1 = Report(
    "alder-fire",
    "http://news-a.localhost:8080/alder",
    "Twelve injured as fire destroys Norwick warehouse in Port Alder",
    """A fire tore through a Norwick Logistics warehouse in Port Alder early on Tuesday, injuring 12 people.
More than 80 firefighters from four stations fought the blaze for six hours before bringing it under control.
Fire chief Marta Delgado said the flames started near a battery storage area on the second floor.
"We heard three loud bangs and then the whole roof was burning," said Tom Reyes, a night-shift worker.
Two of the injured were in serious condition at Saint Brigid Hospital on Tuesday afternoon.
Norwick Logistics said it would cooperate with the investigation into the Port Alder fire.""",
    3,
)
ALDER_2 = Report(
    "alder-fire",
    "http://news-b.localhost:8080/port-alder-blaze",
    "Port Alder warehouse blaze leaves 12 injured, Norwick site destroyed",
    """Twelve people were injured when a warehouse run by Norwick Logistics burned down in Port Alder, officials said.
The fire broke out shortly before 4 a.m. and took six hours to control, according to fire chief Marta Delgado.
Around 80 firefighters were sent to the Norwick warehouse, and nearby streets were closed because of thick smoke.
Investigators believe batteries stored on the second floor may have caught fire first.
Saint Brigid Hospital said it was treating two people with serious burns.""",
    2,
)
ALDER_3 = Report(
    "alder-fire",
    "http://127.0.0.1:9001/fire",
    "Batteries suspected in Port Alder warehouse fire",
    """Batteries on the second floor are suspected to have started the fire at the Norwick Logistics warehouse, police
in Port Alder said on Tuesday.
Officials said 19 people were injured in the fire at the warehouse, and fire chief Marta Delgado expected more.
Firefighters needed six hours to control the blaze, which destroyed the Norwick building.
Residents near the Port Alder docks were told to keep their windows shut.""",
    1,
)
KELLAN_1 = Report(
    "kellan-fire",
    "http://news-a.localhost:8080/kellan",
    "Furniture warehouse burns in Kellan Bay, nobody hurt",
    """A furniture warehouse owned by Ostrander Homes burned in Kellan Bay on Tuesday night, but nobody was hurt.
Fire officer Lionel Grant said a welding torch had set light to foam in the loading yard.
The fire was out within two hours, and 30 firefighters attended.
Ostrander Homes said sofas worth 4 million dollars were lost and that its Kellan Bay shop would stay open.""",
    2,
)
KELLAN_2 = Report(
    "kellan-fire",
    "http://news-b.localhost:8080/ostrander",
    "Welding torch blamed for Ostrander Homes fire in Kellan Bay",
    """A welding torch set off the fire that burned an Ostrander Homes warehouse in Kellan Bay, officials said.
Nobody was hurt when foam in the loading yard went up on Tuesday night, said fire officer Lionel Grant.
Thirty firefighters put the fire out within two hours.
The company lost sofas worth about 4 million dollars.""",
    1,
)
RATES_1 = Report(
    "rates",
    "http://news-a.localhost:8080/rates",
    "Norland central bank raises key rate to 4.5%",
    """The central bank of Norland raised its key interest rate to 4.5% on Tuesday, the third rise this year.
Governor Ingrid Solheim said inflation of 6.1% was still far above the target of 2%.
"We will go on until prices are stable," Solheim told reporters in Haldenborg.
The Norland krona gained 1.2% against the euro after the decision.""",
    4,
)
RATES_2 = Report(
    "rates",
    "http://news-b.localhost:8080/norland-bank",
    "Norland lifts interest rate to 4.5% as inflation bites",
    """Norland lifted its key interest rate to 4.5% on Tuesday, as central bank governor Ingrid Solheim fought prices.
Prices rose by 6.1% in May, well above the central bank's target, figures showed.
Solheim told reporters in Haldenborg that the rate would rise further until prices were stable.
The krona climbed after the decision by the central bank.""",
    3,
)
RATES_3 = Report(
    "rates",
    "http://news-c.localhost:8080/solheim",
    "Solheim: Norland rate will rise until prices are stable",
    """Ingrid Solheim, governor of the central bank of Norland, said interest rates would rise until prices were stable.
The bank raised its key interest rate to 4.5% on Tuesday after inflation reached 6.1%.
Analysts in Haldenborg expect the key rate to reach 5% before the end of the year.""",
    2,
)
BUSAN_1 = Report(
    "busan-fire",
    "http://news-a.localhost:8080/busan",
    "부산 한빛물류 창고 화재로 12명 부상",
    """부산 강서구 한빛물류 창고에서 17일 새벽 불이 나 12명이 다쳤다.
소방 당국은 소방관 80명을 투입해 6시간 만에 불길을 잡았다고 밝혔다.
불은 창고 2층 배터리 보관 구역에서 시작된 것으로 추정된다.
한빛물류 직원 김모 씨는 "폭발음이 세 번 들린 뒤 지붕이 타올랐다"고 말했다.
부상자 가운데 2명은 중상으로 동백병원에서 치료를 받고 있다.""",
    3,
)
BUSAN_2 = Report(
    "busan-fire",
    "http://news-b.localhost:8080/hanbit",
    "한빛물류 부산 창고서 불… 12명 부상, 배터리 발화 추정",
    """17일 새벽 부산 강서구에 있는 한빛물류 창고에서 화재가 발생해 12명이 다쳤다.
부산소방본부는 소방관 약 80명이 출동해 6시간 만에 불을 껐다고 밝혔다.
경찰은 창고 2층에 보관하던 배터리에서 불이 시작된 것으로 보고 있다.
중상자 2명은 동백병원으로 옮겨졌다.""",
    2,
)
BUSAN_3 = Report(
    "busan-fire",
    "http://127.0.0.1:9001/busan",
    "부산 창고 화재 부상자 19명으로 늘어",
    """부산 강서구 한빛물류 창고 화재로 다친 사람이 19명으로 늘었다고 소방 당국이 밝혔다.
불은 창고 2층 배터리 보관 구역에서 시작돼 6시간 동안 이어졌다.
한빛물류는 조사에 협조하겠다고 전했다.""",
    1,
)
INCHEON_1 = Report(
    "incheon-fire",
    "http://news-a.localhost:8080/incheon",
    "인천 가구 공장 불… 인명 피해 없어",
    """17일 밤 인천 서구의 새솔가구 공장에서 불이 났지만 인명 피해는 없었다.
인천소방본부는 용접 작업 중 튄 불꽃이 스티로폼에 옮겨붙은 것으로 보고 있다.
불은 2시간 만에 꺼졌으며 소방관 30명이 출동했다.
새솔가구는 소파 등 4억 원어치가 탔다고 설명했다.""",
    2,
)
INCHEON_2 = Report(
    "incheon-fire",
    "http://news-b.localhost:8080/saesol",
    "새솔가구 인천 공장 화재, 용접 불꽃이 원인인 듯",
    """인천 서구 새솔가구 공장에서 17일 밤 발생한 화재는 용접 불꽃이 스티로폼에 옮겨붙어 시작된 것으로 추정된다.
인천소방본부에 따르면 인명 피해는 없었고 불은 2시간 만에 꺼졌다.
새솔가구는 소파 등 약 4억 원의 피해를 봤다.""",
    1,
)

STORIES = (
    ALDER_1, ALDER_2, ALDER_3, KELLAN_1, KELLAN_2, RATES_1, RATES_2, RATES_3, BUSAN_1, BUSAN_2, BUSAN_3, INCHEON_1,
    INCHEON_2,
)  # fmt: skip
