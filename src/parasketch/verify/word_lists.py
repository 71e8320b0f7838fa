"""Words of English that change what a sentence says when one takes the place of another.

They are for making wrong pairs, so what counts is that a swap is hardly ever harmless; they need not be complete.
"""


def _groups(text: str) -> list[list[str]]:
    return [[word.replace("_", " ") for word in line.split()] for line in text.strip().splitlines()]


def _pairs(text: str) -> list[list[str]]:
    return [pair.split("/") for pair in text.split()]


OPPOSITES: dict[str, list[str]] = {}
for _one, _other in _pairs("""
good/bad best/worst better/worse big/small large/tiny bigger/smaller biggest/smallest larger/smaller
largest/smallest high/low higher/lower highest/lowest tall/short long/short longer/shorter longest/shortest
old/young older/younger oldest/youngest old/new early/late earlier/later first/last next/previous hot/cold
warm/cool hard/easy difficult/easy difficult/simple hard/soft heavy/light strong/weak stronger/weaker rich/poor
happy/sad happy/angry happy/unhappy true/false right/wrong full/empty open/closed opened/closed open/close
opens/closes clean/dirty dark/bright dry/wet fast/slow faster/slower quickly/slowly near/far inside/outside
indoors/outdoors on/off up/down above/below over/under before/after with/without more/less more/fewer most/least
many/few much/little always/never often/rarely usually/rarely everything/nothing everyone/nobody
everybody/nobody someone/nobody something/nothing start/stop started/stopped begin/end began/ended begins/ends
buy/sell bought/sold buying/selling win/lose won/lost love/hate loves/hates loved/hated remember/forget
remembered/forgot accept/reject accepted/rejected allow/forbid allowed/forbidden increase/decrease
increased/decreased increasing/decreasing raise/lower raised/lowered rise/fall rose/fell gain/lose gained/lost
arrive/leave arrived/left come/go came/went give/take gave/took send/receive sent/received enter/leave push/pull
succeed/fail succeeded/failed success/failure agree/disagree agreed/disagreed borrow/lend teach/learn ask/answer
asked/answered live/die lived/died alive/dead birth/death friend/enemy friends/enemies married/single
possible/impossible legal/illegal safe/dangerous important/unimportant useful/useless able/unable lucky/unlucky
known/unknown public/private male/female boy/girl boys/girls man/woman men/women husband/wife father/mother
dad/mom brother/sister brothers/sisters son/daughter uncle/aunt king/queen north/south east/west
northern/southern eastern/western day/night morning/evening summer/winter today/tomorrow yesterday/tomorrow
day/week weeks/months days/weeks hours/minutes years/months year/month hour/day top/bottom front/back
advantage/disadvantage advantages/disadvantages pros/cons benefits/risks cheap/expensive cheaper/costlier
quiet/loud polite/rude healthy/sick awake/asleep present/absent guilty/innocent positive/negative
maximum/minimum major/minor rural/urban domestic/foreign import/export imports/exports export/import
ancient/modern sitting/standing sit/stand sits/stands walking/running walk/run standing/lying eating/cooking
smiling/crying laugh/cry laughing/crying sunny/rainy black/white
"""):
    OPPOSITES.setdefault(_one, []).append(_other)
    OPPOSITES.setdefault(_other, []).append(_one)

KINDS: list[list[str]] = _groups("""
red blue green yellow black white brown purple orange pink grey
Monday Tuesday Wednesday Thursday Friday Saturday Sunday
January February March April June July August September October November December
spring summer autumn winter
breakfast lunch dinner
French German English Spanish Italian Russian Chinese Japanese Arabic Turkish
France Germany England Spain Italy Russia China Japan India Brazil Canada Australia Mexico
Paris London Berlin Tokyo Moscow Boston Rome Madrid Beijing Chicago Delhi
dog cat horse bird cow rabbit sheep elephant bear
dogs cats horses birds cows sheep elephants bears
car bus train bike truck boat plane motorcycle
cars buses trains bikes trucks boats planes
apple banana orange pear tomato
bread rice cheese meat fish soup pizza cake
tea coffee milk water beer wine juice
doctor teacher lawyer engineer nurse driver
kitchen bathroom bedroom garden garage office
school hospital church library hotel restaurant station airport
hand foot head leg arm knee shoulder
hat shirt coat jacket dress shoes gloves
table chair bed desk sofa bench
baseball tennis soccer football basketball golf chess
guitar piano violin drums flute
math physics chemistry history biology
dollars euros pounds yen rupees
million billion thousand hundred
kilometers meters miles feet
child adult baby teenager
book letter newspaper magazine
phone computer television radio
wood metal plastic glass stone
president minister mayor governor
""")
SAME_KIND: dict[str, list[str]] = {}
for _group in KINDS:
    for _word in _group:
        SAME_KIND.setdefault(_word, []).extend(word for word in _group if word != _word)

AMOUNTS: dict[str, list[str]] = {}
for _group in _groups("""
all some most few no
every no
always sometimes never rarely
often never
both neither
everyone someone nobody
everybody somebody nobody
everything something nothing
many few no
several no
any all
only also
enough insufficient
each no
completely partly
still no_longer
already not_yet
another the_same
once twice
at_least at_most
more_than less_than
"""):
    for _word in _group:
        AMOUNTS.setdefault(_word, []).extend(word for word in _group if word != _word)

MODALS: dict[str, list[str]] = {
    "will": ["might", "may", "must", "would never"],
    "must": ["may", "might", "could"],
    "can": ["must", "should", "may soon"],
    "could": ["must", "should"],
    "should": ["must not", "might", "will"],
    "may": ["must", "will"],
    "might": ["will", "must"],
    "would": ["must", "will never"],
    "'ll": [" might", " may"],
}
TENSES: dict[str, list[str]] = {
    "is": ["was", "will be", "used to be"],
    "are": ["were", "will be", "used to be"],
    "was": ["is", "will be"],
    "were": ["are", "will be"],
    "has": ["had", "will have"],
    "do": ["did"],
    "does": ["did"],
    "did": ["will"],
}

PERSONS: dict[str, list[str]] = {
    "he": ["she", "they", "I", "you"],
    "she": ["he", "they", "we"],
    "him": ["me", "them", "us"],
    "his": ["my", "their", "your"],
    "they": ["we", "he", "she"],
    "them": ["us", "him"],
    "their": ["our", "his"],
    "we": ["they", "you"],
    "us": ["them", "me"],
    "our": ["their", "your"],
    "I": ["you", "he", "she", "they"],
    "me": ["you", "him", "her", "them"],
    "my": ["your", "his", "her"],
    "mine": ["yours", "his"],
    "you": ["I", "we", "they"],
    "your": ["my", "her", "our"],
    "myself": ["yourself", "himself"],
    "himself": ["herself", "myself"],
    "herself": ["himself", "myself"],
}
"""`her` is left out: it is two words in one."""
GENERIC = frozenset(["I", "me", "my", "mine", "you", "your", "myself", "we", "us", "our", "their"])
"""Persons that mean "anybody" in many questions, so that a change is harmless there."""

QUESTIONS: dict[str, list[str]] = {
    "who": ["when", "where", "why"],
    "when": ["where", "why", "how"],
    "where": ["when", "why", "how"],
    "why": ["how", "when", "where"],
    "how": ["why", "when", "where"],
    "what": ["who", "where", "when"],
    "which": ["whose", "how many"],
    "how many": ["which", "how expensive"],
    "how much": ["how often", "why"],
    "how long": ["how often", "how far"],
}

[NUMBER_WORDS] = _groups("one two three four five six seven eight nine ten eleven twelve twenty thirty fifty hundred")

PAST: dict[str, str] = {
    past: base
    for base, past in _pairs("""
be/was have/had do/did go/went say/said get/got make/made know/knew think/thought take/took see/saw come/came
find/found give/gave tell/told feel/felt leave/left bring/brought begin/began keep/kept hold/held write/wrote
stand/stood hear/heard mean/meant meet/met run/ran pay/paid sit/sat speak/spoke lead/led grow/grew lose/lost
fall/fell send/sent build/built understand/understood draw/drew break/broke spend/spent rise/rose drive/drove
buy/bought wear/wore choose/chose eat/ate drink/drank sleep/slept win/won teach/taught catch/caught sing/sang
fly/flew forget/forgot sell/sold fight/fought throw/threw become/became swim/swam steal/stole ride/rode
wake/woke
""")
}
"""Irregular pasts to their base forms."""
