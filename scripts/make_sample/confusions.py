"""Words that carry little meaning, and words that are easily mistaken for one another."""

from __future__ import annotations

_FUNCTION = """
a an the this that these those some any of to in on at by for from with without into up out off over
and or but so as if than then there here it its he she they we you i me him her them us my your his our
their is are was were be been being am do does did has have had will would can could should may might must
isn't aren't doesn't don't didn't can't it's i'll we'll i'd i'm i've they're you're that's there's
who which what how just too also very much more most again already even only such
"""
FUNCTION_WORDS = frozenset(_FUNCTION.split())

_PAIRS = """
before after | first last | left right | hot cold | warm cool | thick thin | closed open
more less | most least | rose fell | rise fall | increase decrease | up down | small large | little lot
big small | high low | late early | won lost | win loss | father mother | mother father | son daughter
sister brother | his her | morning evening | afternoon morning | yesterday today | tomorrow today
never always | always never | nobody everybody | everything nothing | start end | begin end | started ended
long short | cheap expensive | expensive cheap | old new | new old | north south | summer winter
autumn spring | meat fish | chicken beef | rice pasta | salt sugar | butter oil | flour sugar | eggs potatoes
potatoes onions | water milk | stock water | broth milk | wine beer | salad soup | dry wet | clean dirty
add remove | remove add | insert remove | loosen tighten | tighten loosen | fill empty | cover uncover
raise lower | bulb plug | lamp fridge | button lever | screws wires | hose cable | battery memory
buy sell | bought sold | buying selling | bring take | come go | love hate | right wrong | dark bright
doctor teacher | hospital airport | airport station | police army | firefighters soldiers | strike party
fire flood | storm fire | train bus | bus train | bicycle car | car boat | museum library | factory shop
unions banks | coach captain | captain coach | fans players | wages prices | prices wages | island mountain
minutes hours | hours days | days weeks | weeks months | months years | years months | euros dollars
grams kilos | kilometres metres | centimetres metres | litres grams | million thousand | thousands hundreds
half quarter | third half | twice once | keys shoes | shoes coats | neighbour landlord | owner tenant
"""

CONFUSIONS: dict[str, list[str]] = {}
for _line in _PAIRS.strip().splitlines():
    for _pair in _line.split("|"):
        _word, _other = _pair.split()
        CONFUSIONS.setdefault(_word, []).append(_other)

NUMBERS = (
    ("two", "three", "four", "five", "six", "eight", "ten"),
    ("eighteen", "twenty", "thirty", "forty", "fifteen"),
)

NAMES = (
    ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    ("january", "march", "june", "august", "september", "october", "november"),
    ("teresa", "clara", "nuria", "elvira", "lucía"),
    ("marcos", "samuel", "pablo"),
    ("olmedo", "iriarte", "belmonte", "ortuño", "sanjuán", "quiroga", "pons"),
    ("valdemora", "almenar", "luzarga", "lisbon", "argentina"),
)
