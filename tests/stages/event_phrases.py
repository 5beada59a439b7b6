"""How English reporters word things: `{one|other}` is a choice of words, `<name>` a detail of the event.

Events of one topic are told with the same sentences, often of the same town, firm and officials; only their details
differ. `colour` and each topic's `background` are said of any event.
"""

import msgspec


class Topic(msgspec.Struct, frozen=True):
    """What can be said of one kind of event. Each fact is a choice of wordings; `later` facts come with follow-ups."""

    name: str
    titles: tuple[str, ...]
    facts: tuple[tuple[str, ...], ...]
    later_titles: tuple[str, ...]
    recap: tuple[str, ...]
    later: tuple[tuple[str, ...], ...]
    background: tuple[str, ...]


FIRE = Topic(
    "fire",
    (
        "{Fire|Blaze} {destroys|guts|burns down} <org> {warehouse|depot} in <place>",
        "<n> {injured|hurt} in <place> {warehouse fire|blaze}",
        "{Smoke over|Streets closed in} <place> as <org> {warehouse|depot} burns",
        "<cause> {blamed for|suspected in} <place> fire",
    ),
    (
        (
            "A {fire|blaze} {tore through|gutted|swept through} a <org> {warehouse|depot} in <place> {early|late} on "
            "<day>, {injuring|hurting} <n> people.",
            "{At least|Some} <n> people were {injured|hurt|taken to hospital} when a {depot|warehouse} {of|run by} "
            "<org> {caught fire|went up in flames|burned down} in <place> on <day>.",
        ),
        (
            "More than <m> firefighters {fought|battled|tackled} the {blaze|flames} for <h> hours before {bringing it "
            "under control|putting it out}.",
            "It took <m> firefighters {around|about} <h> hours to {control|contain|put out} the fire.",
        ),
        (
            "{Fire chief|The head of the fire service,} <fire> said the {flames|fire} {started|began|broke out} near "
            "<cause> on the <floor> floor.",
            "<cause> on the <floor> floor {may have caught fire first|is thought to have been the origin}, "
            "{according to|said} fire chief <fire>.",
        ),
        (
            '"We heard {loud bangs|explosions} and {ran|got out}," said <witness>, a {worker|driver|guard}.',
            "<witness>, who {works|was} {there|in the building}, {described|recalled} {flames as high as the roof|"
            "thick black smoke}.",
        ),
        (
            "Two of the {injured|victims} were in {serious|critical} condition at <hospital>.",
            "<hospital> {said it was treating|took in} patients with {burns|smoke inhalation}, two of them {seriously "
            "hurt|in intensive care}.",
        ),
        (
            "Residents {nearby|of the district} were {told|asked} to keep windows {closed|shut} because of the smoke.",
            "Streets around the {site|building} were {closed|sealed off} and {schools|shops} {shut|sent people home}.",
        ),
        (
            "<org> said it would {cooperate with|assist} the {investigation|inquiry}.",
            "A {spokesman|spokeswoman} for <org> said the company was {shocked|saddened} and would {help|support} "
            "{its staff|those affected}.",
        ),
        (
            "The {damage|loss} {was put at|is estimated at} <money> million {dollars|in goods and machines}.",
            "Goods worth <money> million dollars were {lost|destroyed}.",
        ),
    ),
    (
        "{Inspectors|Investigators} {fault|criticise} <org> over {alarms|sprinklers}",
        "<org> {promises|offers} {aid|compensation} after {fire|blaze}",
        "<place> {mourns|counts the cost} after <org> fire",
    ),
    (
        "The fire at the <org> {warehouse|depot} in <place> {injured|hurt} <n> people {on <day>|this week}.",
        "<n> people were hurt when the <org> {building|depot} burned in <place>.",
    ),
    (
        (
            "{Inspectors|Investigators} found that {sprinklers|alarms} at the site had not {worked|been checked} for "
            "<h> months.",
            "The {sprinkler|alarm} system was {out of order|switched off}, {a preliminary report|inspectors} said.",
        ),
        (
            "<org> {will pay|offered} <money> million dollars in {compensation|aid} to {families|its workers}.",
            "The company {promised|pledged} {compensation|help} of <money> million dollars.",
        ),
        (
            "Mayor <mayor> {called for|demanded} {tougher|stricter} rules for {storage|warehouses}.",
            "The city council of <place> will {debate|discuss} fire safety, mayor <mayor> said.",
        ),
        (
            "Prosecutors {are examining|opened an inquiry into} whether {safety rules|fire codes} were {met|ignored}.",
            "The {prosecutor|public prosecutor} is {looking into|investigating} possible negligence.",
        ),
    ),
    (
        "Fires in warehouses have {risen|become more common} as online shops {grow|store more goods}.",
        "Unions have long {warned|complained} that inspections are {rare|too few}.",
        "Fire safety rules for storage were last changed {years|a decade} ago.",
    ),
)

FLOOD = Topic(
    "flood",
    (
        "{Floods|Flood waters} {hit|swamp} <place> as <river> {bursts its banks|overflows}",
        "<n> {rescued|evacuated} as {heavy rain|storm} floods <place>",
        "<bridge> closed as {water|river} rises in <place>",
        "{Thousands|Homes} without power after {storm|floods} in <place>",
    ),
    (
        (
            "The river <river> {burst its banks|overflowed} in <place> on <day> after {heavy rain|days of rain}, and "
            "<n> people were {rescued|evacuated}.",
            "Rescuers {brought|led} <n> people to safety {on <day>|overnight} as {flood water|the river <river>} "
            "{swept into|swamped} <place>.",
        ),
        (
            "The {water|river} {rose|climbed} by <h> metres {overnight|within hours}, the {highest|worst} in decades.",
            "Gauges {showed|measured} a level of <h> metres above normal.",
        ),
        (
            "The <bridge> was {closed|shut} to {traffic|cars and trains} {and cracks were found|as a precaution}.",
            "Engineers {closed|shut down} the <bridge> after {debris|a barge} {struck|hit} a pillar.",
        ),
        (
            "Mayor <mayor> {declared|announced} a state of emergency and {opened|set up} shelters in {schools|gyms}.",
            "{Shelters|Emergency beds} for <m> people were {opened|prepared} in schools, said mayor <mayor>.",
        ),
        (
            "About <m> {homes|households} were {without power|cut off from electricity}, {said|according to} <org>.",
            "<org>, the {utility|grid operator}, said it had {restored|cut} power to <m> households.",
        ),
        (
            '"The {water|mud} came {into the kitchen|up the stairs} within minutes," said <witness>.',
            "<witness> {spent the night on a roof|carried two children to a neighbour} before {a boat|helpers} came.",
        ),
        (
            "Farmers {lost|fear for} {cattle|crops} on {fields|land} {along|downstream of} the <river>.",
            "{Crops|Fields} along the <river> {were under water|are lost}, farmers said.",
        ),
        (
            "Forecasters {expect|warn of} more {rain|showers} {until|before} the weekend.",
            "The {rain|storm} should {ease|move east} {soon|by the evening}, forecasters said.",
        ),
    ),
    (
        "{Clean-up|Repairs} {begin|start} along <river>",
        "<place> {asks|presses} government for flood {aid|money}",
        "Dam operator {questioned|under fire} over <place> floods",
    ),
    (
        "Floods along the <river> {drove|forced} <n> people from their homes in <place> {this week|on <day>}.",
        "<place> was {flooded|under water} when the <river> {burst its banks|overflowed}.",
    ),
    (
        (
            "The {clean-up|repairs} will cost {about|at least} <money> million dollars, the {council|region} said.",
            "{Insurers|Officials} {put|estimate} the damage at <money> million dollars.",
        ),
        (
            "Critics say {gates|sluices} upstream were {opened|emptied} too {late|quickly}.",
            "The operator of the dam {denied|rejected} that it {released water|acted} too late.",
        ),
        (
            "Mayor <mayor> {asked|called on} the government for {grants|emergency money}.",
            "The government {promised|approved} {loans|help} for {families|shops} in <place>.",
        ),
        (
            "{Volunteers|Soldiers} {shovelled|cleared} mud from {cellars|streets}.",
            "{Schools|Shops} in <place> {reopened|stayed closed} {while|as} pumps {ran|worked}.",
        ),
    ),
    (
        "Scientists link {heavier|more frequent} rain to a warmer {climate|atmosphere}.",
        "Flood defences in the region have been {planned|delayed} for years.",
        "Many houses there aren't insured against {floods|water}.",
    ),
)

TRIAL = Topic(
    "trial",
    (
        "{Former|Ex-}{mayor|official} <accused> {convicted of|found guilty of} <crime>",
        "<place> court {jails|sentences} <accused> {for|to} <h> years",
        "<accused> {verdict|sentence}: <h> years for <crime>",
        "<accused> {to appeal|denies wrongdoing} after <crime> ruling",
    ),
    (
        (
            "A court in <place> {sentenced|jailed} <accused> {to|for} <h> years {in prison |}for <crime> on <day>.",
            "<accused> was {found guilty|convicted} of <crime> on <day> and {sentenced to|must serve} <h> years.",
        ),
        (
            "Judge <judge> said the {accused|defendant} had {abused|betrayed} {the public's trust|his position}.",
            "The {crime|offence} was {planned|grave}, judge <judge> {told the court|said in the ruling}.",
        ),
        (
            "{Prosecutors|The prosecution} {had asked for|sought} a {longer|harsher} {sentence|term}.",
            "Prosecutor <witness> said the {sentence|ruling} {sent a signal|was just}.",
        ),
        (
            "The {defence|lawyers} {announced|plan} an appeal {within days|to a higher court}.",
            "Lawyers for <accused> said they would {appeal|take the case further}.",
        ),
        (
            "{Witnesses|Records} {showed|described} {payments|transfers} of <money> million dollars from <org>.",
            "<org> had {paid|transferred} <money> million dollars to {accounts|a firm} {abroad|of a relative}.",
        ),
        (
            "The {hearing|trial} {lasted|took} <m> days and {heard|called} dozens of witnesses.",
            "{Over|In} <m> days the court {heard|questioned} {experts|accountants} and {employees|aides}.",
        ),
        (
            "<accused> {showed no emotion|shook his head} as the {verdict|judgment} was read.",
            "{Outside|Before} the {court|courthouse} {supporters|protesters} {gathered|shouted}.",
        ),
    ),
    (
        "{Appeal|Higher court} to {hear|review} <accused> case",
        "<org> {executive|director} {resigns|steps down} after {verdict|ruling}",
        "{Calls|Pressure} for reform after <accused> {verdict|conviction}",
    ),
    (
        "<accused> was {sentenced|convicted} {on <day>|this week} for <crime> in <place>.",
        "The {verdict|ruling} against <accused> for <crime> {stirred|shook} <place>.",
    ),
    (
        (
            "A director of <org> {resigned|stepped down} {over|after} the {affair|payments}.",
            "<org> {replaced|dismissed} a manager {named|mentioned} in the {case|ruling}.",
        ),
        (
            "The appeal will be {heard|decided} {next year|in the autumn}.",
            "Until the appeal is {decided|heard}, <accused> {stays|remains} {free|in custody}.",
        ),
        (
            "{Opposition|Parties} in <place> {demand|want} {a law|rules} on {gifts|lobbying}.",
            "Mayor <mayor> {promised|announced} {open books|an audit} of contracts.",
        ),
    ),
    (
        "{Corruption|Fraud} cases have {risen|doubled} in {recent years|a decade}, figures {show|showed}.",
        "Courts in the region are {overloaded|short of judges}.",
        "Only few such cases end {in prison|with a conviction}.",
    ),
)

RESULTS = Topic(
    "results",
    (
        "<org> {profit|earnings} {rises|jumps|falls} <pct> percent in quarter",
        "<org> {beats|misses} {forecasts|expectations} as {sales|revenue} {reach|hit} <money> million",
        "<org> {raises|cuts} outlook on {strong|weak} demand for <product>",
        "Shares of <org> {jump|slide} after {results|earnings}",
    ),
    (
        (
            "<org> {reported|posted} a {quarterly|} profit {up|down} <pct> percent on <day>, {helped|driven} by "
            "<product>.",
            "{Profit|Net income} at <org> {changed by|moved} <pct> percent in the quarter, the {company|group} said "
            "on <day>.",
        ),
        (
            "{Sales|Revenue} {reached|came to} <money> million dollars, {above|below} what analysts {saw|forecast}.",
            "Analysts had {forecast|expected} {sales|revenue} of less than <money> million dollars.",
        ),
        (
            "Chief executive <boss> said demand for <product> {remained strong|had picked up}.",
            '"Our customers {want|order} <product>," chief executive <boss> {said|told analysts}.',
        ),
        (
            "{Shares|The stock} of <org> {rose|fell} <h> percent in {early|late} trading.",
            "Investors {cheered|sold}: the stock {moved|went} <h> percent.",
        ),
        (
            "The {company|group} {raised|kept|cut} its {outlook|guidance} for the {full year|second half}.",
            "For the {year|full year} <org> now {expects|sees} {growth|margins} {higher|lower} than {before|planned}.",
        ),
        (
            "{Costs|Expenses} for {energy|freight} {weighed on|hurt} margins.",
            "Finance chief <witness> {pointed to|named} {freight|energy} costs.",
        ),
        (
            "<org> will {hire|shed} <m> {jobs|workers} at its {plant|site} in <place>.",
            "About <m> {posts|jobs} in <place> are {affected|to be created}.",
        ),
    ),
    (
        "{Analysts|Brokers} {lift|lower} target for <org>",
        "<org> {plans|weighs} {plant|investment} in <place>",
        "<org> chief <boss> {defends|explains} strategy",
    ),
    (
        "<org> had {reported|posted} {earnings|profit} on <day> that {surprised|moved} the market.",
        "{Quarterly|The} results of <org> showed {sales|revenue} of <money> million dollars.",
    ),
    (
        (
            "Brokers {raised|lowered} their {price target|rating} for the stock.",
            "{Two|Three} banks {changed|revised} their rating of <org>.",
        ),
        (
            "<boss> {told|said to} {investors|a newspaper} that <product> would {carry|lead} {growth|the group}.",
            "In an interview <boss> {defended|explained} the {bet|spending} on <product>.",
        ),
        (
            "A {works council|union} in <place> {fears|rejects} {cuts|closures}.",
            "{Suppliers|Workers} in <place> {await|expect} {orders|answers}.",
        ),
    ),
    (
        "The {sector|industry} has {struggled with|faced} {high rates|weak trade}.",
        "{Rivals|Competitors} {report|publish} figures {next week|this month}.",
        "Consumers have {spent less|saved more} since prices {rose|went up}.",
    ),
)

MATCH = Topic(
    "match",
    (
        "<team> {beat|edge|overcome} <rival> <score>",
        "<scorer> {scores late|strikes} as <team> {beat|down} <rival>",
        "<team> {top of table|move up} after <score> win over <rival>",
        "<rival> coach <coach> {angry|fumes} after {loss to|defeat by} <team>",
    ),
    (
        (
            "<team> {beat|defeated|overcame} <rival> <score> {at home |}in <place> on <day>.",
            "A {late|stunning} goal by <scorer> gave <team> a <score> {win|victory} over <rival> on <day>.",
        ),
        (
            "<scorer> {scored|struck|netted} in the <m>th minute after a {corner|pass|free kick}.",
            "The {winner|decisive goal} came in the <m>th minute, when <scorer> {headed in|fired home}.",
        ),
        (
            "<rival> {played|finished} with ten men after {a red card|a second yellow card}.",
            "A {red card|sending-off} left <rival> a man {short|down}.",
        ),
        (
            'Coach <coach> {complained about|criticised} the {referee|penalty}: "{That was no foul|We were robbed}."',
            "<coach>, coach of <rival>, {said|felt} his {side|team} had {deserved|earned} a {point|draw}.",
        ),
        (
            "{About|Some} <n> thousand {fans|spectators} {saw|watched} the {match|game} in {rain|sunshine}.",
            "{In front of|Before} <n> thousand {fans|people} the {hosts|home side} {started|began} {nervously|well}.",
        ),
        (
            "The goalkeeper {saved|stopped} a {penalty|shot} {before half-time|early on}.",
            "{Before|After} the break both {sides|teams} {hit the post|missed chances}.",
        ),
        (
            "<team> {move|climb} to {second|third} {place|} in the {league|table}.",
            "{With|After} the win <team> {are|stand} {within reach of|near} the top of the {table|league}.",
        ),
    ),
    (
        "<scorer> {out|injured} after <team> {win|match}",
        "League {reviews|checks} {penalty|red card} in <team> game",
        "<rival> {part with|sack} coach <coach>",
    ),
    (
        "<team> had {beaten|defeated} <rival> <score> on <day>.",
        "<rival> lost <score> {to|against} <team> {on <day>|this week}.",
    ),
    (
        (
            "<scorer> {will miss|is out for} {several|<h>} weeks with a {knee|thigh} injury.",
            "A scan {showed|confirmed} {a torn muscle|an injury}, <team> said of <scorer>.",
        ),
        (
            "The league {will review|is looking at} the {referee's|} decision.",
            "{Pictures|Replays} {suggest|show} that the {referee|linesman} was wrong.",
        ),
        (
            "<rival> {dismissed|sacked} <coach> {after|following} the {run|defeat}.",
            "<coach> {leaves|has left} <rival> after {months|two seasons}.",
        ),
    ),
    (
        "The season {enters|reaches} its {decisive|last} weeks.",
        "Both clubs have {spent|invested} heavily in {players|youth teams}.",
        "Tickets had {sold out|been gone} within {hours|days}.",
    ),
)

STRIKE = Topic(
    "strike",
    (
        "<org> workers {strike|walk out} in <place> over {pay|wages}",
        "{Strike|Walkout} at <org> {hits|stops} {production|deliveries}",
        "Union {demands|wants} <pct> percent more at <org>",
        "<org> {talks|negotiations} {fail|break down}, {strike|walkout} {goes on|begins}",
    ),
    (
        (
            "About <n> hundred workers {walked out|went on strike} at <org> in <place> on <day> over {pay|wages}.",
            "A {strike|walkout} by <n> hundred employees {stopped|halted} {work|production} at <org> in <place> on "
            "<day>.",
        ),
        (
            "The union {demands|wants} <pct> percent more {pay|money} {for|over} {a year|twelve months}.",
            "Union leader <leader> {called|described} the {offer|latest offer} {insulting|far too low}.",
        ),
        (
            "<org> {offered|had proposed} {half|less} and {spoke|warned} of {lost orders|damage}.",
            "{Management|The company} said the {demands|claims} were {out of reach|not affordable}.",
        ),
        (
            "{Pickets|Workers} {blocked|stood at} the gates with {banners|drums} {from dawn|since the early hours}.",
            '"We {can\'t live on|are tired of} this," said <witness>, a {fitter|driver|clerk}.',
        ),
        (
            "{Deliveries|Customers} will {be late|have to wait}, {said|according to} <org> chief <boss>.",
            "Each day {costs|would cost} <money> million dollars, chief executive <boss> said.",
        ),
        (
            "Talks {collapsed|broke down} after <h> rounds.",
            "After <h> rounds {of talks|at the table} both {sides|parties} {left|gave up} without {a deal|agreement}.",
        ),
        (
            "Mayor <mayor> {offered|volunteered} to {mediate|bring both sides together}.",
            "The {mayor|labour minister} {urged|called on} both sides to {return|talk}.",
        ),
    ),
    (
        "<org> {strike|walkout} ends with {deal|agreement}",
        "Mediator {steps in|called} at <org>",
        "<org> {staff|workers} vote on {offer|deal}",
    ),
    (
        "Workers at <org> in <place> had {walked out|gone on strike} on <day>.",
        "The {strike|walkout} at <org> {began|started} on <day> {over|because of} {pay|wages}.",
    ),
    (
        (
            "A mediator {presented|proposed} a {compromise|deal} in {three|two} steps.",
            "Both sides {accepted|agreed to} a {compromise|mediator}.",
        ),
        (
            "Members {will vote|vote} on it {next week|by post}.",
            "{Most|A majority} of the members {backed|approved} the {deal|offer}, <leader> said.",
        ),
        (
            "{Production|Work} {resumed|restarted} {slowly|shift by shift}.",
            "It will take {weeks|days} to {clear|work off} the {backlog|orders}, <boss> said.",
        ),
    ),
    (
        "{Wages|Pay} {have lagged|lagged} behind {prices|inflation} for years.",
        "Unions are {gaining|winning} members again.",
        "{Labour|Workers} {is|are} scarce in many {trades|industries}.",
    ),
)

CRASH = Topic(
    "crash",
    (
        "{Train|Express} {derails|leaves tracks} near <place>, <n> {hurt|injured}",
        "{Rail line|Line} <line> {closed|blocked} after {accident|derailment}",
        "{Passengers|Travellers} {stranded|trapped} after <place> {train crash|derailment}",
        "{Signal|Track} {fault|failure} {suspected|examined} in <place> rail accident",
    ),
    (
        (
            "A {train|passenger train} of <org> {derailed|came off the tracks} near <place> on <day>, "
            "{injuring|hurting} <n> people.",
            "<n> passengers were {hurt|injured} on <day> when {an express|a train} {derailed|jumped the rails} "
            "{outside|near} <place>.",
        ),
        (
            "{Three|Four} {carriages|cars} {overturned|tipped over} in a {curve|cutting}.",
            "{Carriages|Cars} {lay|ended up} {on their side|across both tracks}.",
        ),
        (
            "Line <line> {will stay|remains} {closed|blocked} for {about|at least} <h> days.",
            "{Buses|Coaches} {replace|run instead of} trains on line <line>.",
        ),
        (
            "{Rescuers|Crews} with {cutting gear|cranes} {freed|reached} the last {riders|people} after <m> minutes.",
            "<m> {rescuers|helpers} and two helicopters were {sent|called in}.",
        ),
        (
            "Investigator <witness> {named|pointed to} a {signal|switch|track} fault as {one|a possible} cause.",
            "A {faulty|broken} {switch|rail} may have {caused|led to} the {accident|derailment}, {experts|inspectors} "
            "{said|believe}.",
        ),
        (
            "The driver, aged <age>, {was|is} {in shock|under care} at <hospital>.",
            "<hospital> {took in|treated} most of the {injured|passengers}.",
        ),
        (
            "<org> chief <boss> {apologised to|thanked} {passengers|rescuers}.",
            "Rail company <org> {set up|opened} a {phone line|help desk} for {relatives|families}.",
        ),
    ),
    (
        "{Black box|Recorder} of <place> train {found|read}",
        "<org> {checks|inspects} {switches|tracks} after {derailment|accident}",
        "Line <line> to {reopen|stay shut} after {crash|derailment}",
    ),
    (
        "A {train|passenger train} of <org> had {derailed|come off the tracks} near <place> on <day>.",
        "<n> people were {injured|hurt} in the derailment near <place>.",
    ),
    (
        (
            "The recorder {shows|showed} that the train was {going|travelling} at <m> kilometres an hour.",
            "Data {put|give} its speed at <m> kilometres an hour.",
        ),
        (
            "<org> {is checking|will check} all {switches|rails} of that {type|age}.",
            "{Inspectors|Engineers} {found|saw} {rust|cracks} at <h> other {places|points}.",
        ),
        (
            "The first trains on line <line> will {run|roll} {next week|at low speed}.",
            "{Commuters|Travellers} on line <line> must {wait|use buses} for {days|weeks} more.",
        ),
    ),
    (
        "The network has been {short of money|neglected} for {years|decades}.",
        "{Experts|Passenger groups} have {called|asked} for {newer|better} signals.",
        "Serious rail accidents are {rare|less common} than {on roads|they were}.",
    ),
)

ELECTION = Topic(
    "election",
    (
        "<winner> wins {mayoral vote|mayor's race} in <place>",
        "<place> elects <winner> with <pct> percent",
        "<loser> {concedes|admits defeat} in <place> {mayoral|} election",
        "{Recount|Complaint} in <place> vote {demanded|rejected} after {close|narrow} result",
    ),
    (
        (
            "<winner> {won|has won} the {mayoral election|vote for mayor} in <place> on <day> with <pct> percent of "
            "the vote.",
            "Voters in <place> {elected|chose} <winner> as mayor on <day>; the {winner|candidate} {took|had} <pct> "
            "percent.",
        ),
        (
            "<loser>, the {incumbent|rival}, {conceded|admitted defeat} {before midnight|in the evening}.",
            "{Incumbent|Opponent} <loser> {congratulated|called} the {winner|victor}.",
        ),
        (
            "Turnout was {low|high} at <m> percent.",
            "{Only|Some} <m> percent of {voters|the electorate} {took part|went to the polls}.",
        ),
        (
            "{Housing|Rents} and {buses|schools} {dominated|were the themes of} the {campaign|race}.",
            "<winner> had {promised|pledged} {cheaper homes|new tram lines} during the campaign.",
        ),
        (
            '"{Now|Today} the work begins," <winner> {told|said to} {cheering|singing} supporters.',
            "{Supporters|Followers} {danced|sang} in the {town hall|square}.",
        ),
        (
            "{Observers|Officials} {reported|noted} {queues|long lines} at <h> polling stations.",
            "{Delays|Trouble} at <h> polling stations {led to|caused} complaints.",
        ),
        (
            "The new council has {seven|five} parties, {which|and that} makes a majority {hard|difficult}.",
            "{Coalition|Alliance} talks {start|begin} {next week|at once}.",
        ),
    ),
    (
        "<winner> {names|presents} {team|deputies} in <place>",
        "Court {rejects|hears} <loser> {complaint|challenge}",
        "<winner> {sworn in|takes office}",
    ),
    (
        "<winner> had {won|taken} the {vote|election} in <place> with <pct> percent.",
        "<loser> lost the {mayoral race|election} in <place> to <winner> {on <day>|this week}.",
    ),
    (
        (
            "<winner> {named|picked} <witness> as deputy for {finance|housing}.",
            "<witness> will {run|lead} the {finance|housing} department.",
        ),
        (
            "A court {dismissed|will hear} a {complaint|challenge} by <loser> over postal votes.",
            "{Judges|The court} {saw|found} no {fraud|error} in postal votes.",
        ),
        (
            "The first {budget|decision} {concerns|is about} {tram lines|rents}.",
            "A plan for {rents|trams} is {due|promised} within <h> weeks.",
        ),
    ),
    (
        "{Local|City} elections are {seen as|called} a {test|mood check} for the {government|parties}.",
        "Polls had {predicted|shown} a {close|tight} race.",
        "The {office|post} comes with a {term|mandate} of {five|six} years.",
    ),
)

TOPICS = (FIRE, FLOOD, TRIAL, RESULTS, MATCH, STRIKE, CRASH, ELECTION)

COLOUR = (
    "{Officials|Authorities} {declined to comment|gave no further details} {at first|for now}.",
    "{A press conference|More} is {planned|expected} {for the afternoon|later}.",
    "{On social media|Online} many {expressed|voiced} {anger|sympathy|doubts}.",
    '"We {have to|must} {look forward|learn from this}," one {resident|observer} said.',
    "{Photographs|Videos} {from the scene|online} {showed|show} {crowds|empty streets}.",
    "The {news|development} came {as a surprise|after weeks of rumours}.",
    "{Neighbours|People there} {spoke of|remember} a {similar|comparable} {case|day} {years ago|long ago}.",
    "{Experts|Observers} {differ|disagree} about what {comes next|it means}.",
    "A {reporter|correspondent} of this {paper|newsroom} was {there|at the scene}.",
    "The government {said|let it be known} it was {following|watching} {the matter|events} closely.",
    "{Local|Regional} {media|radio} {had first reported|were first with} the story.",
    "It {was|is} {not clear|unclear} {how long that will take|what that will cost}.",
)

WEATHER = Topic(
    "weather",
    ("Weather in <place> on <day>: <sky>", "<place> {weather|forecast}: <sky>, {highs|up to} <t> degrees"),
    (
        ("<place> can expect <sky> on <day>, with {highs of|temperatures up to} <t> degrees.",),
        (
            "{At night|Overnight} it {cools|drops} to <low> degrees.",
            "{Lows|Minimum temperatures} are near <low> degrees.",
        ),
        (
            "The wind {blows|comes} from the <wind> at <m> kilometres an hour.",
            "A {light|fresh} wind from the <wind> {reaches|gusts to} <m> kilometres an hour.",
        ),
        ("The chance of rain is <pct> percent.", "Rain is {<pct> percent likely|expected with <pct> percent}."),
        ("The sun {rises|is up} at <h>:<m> and {sets|goes down} at 7:<low>.",),
        ("{Drivers|Cyclists} {should watch for|are warned of} {mist|slippery roads} {in the morning|early}.",),
    ),
    (),
    (),
    (),
    ("The {weather service|forecast office} {updates|renews} its forecast every {morning|six hours}.",),
)

MARKETS = Topic(
    "markets",
    (
        "<place> shares {close|end} {higher|lower} on <day>, <org> {leads|stands out}",
        "<place> stocks {rise|fall} <x> percent",
    ),
    (
        ("The <place> index {closed|ended} {up|down} <x> percent at <index> points on <day>.",),
        (
            "<org> {gained|lost} <h> percent, {the most|more than any other} in the index.",
            "{Among|Of} single stocks <org> {moved|stood out} with <h> percent.",
        ),
        ("<org2> {slipped|rose} <low> percent after {a broker's note|news of orders}.",),
        ("The {krona|currency} {traded|stood} at <rate> to the dollar.",),
        ("{Oil|Crude} {cost|traded at} <oil> dollars a barrel, {gold|an ounce of gold} <gold> dollars.",),
        ("{Turnover|Volume} was <money> million shares, {below|above} average.",),
    ),
    (),
    (),
    (),
    (
        "Investors {await|look ahead to} {the central bank|inflation figures}.",
        "Traders {spoke of|described} a {quiet|nervous} session.",
    ),
)
