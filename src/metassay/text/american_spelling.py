"""British English spellings in their American form, word by word."""

from __future__ import annotations

import re
from functools import lru_cache

_OUR = (
    "arb|ard|arm|behavi|cand|clam|col|dem|enam|endeav|fav|ferv|flav|glam|harb|hon|hum|lab|neighb|od|parl|"
    "ranc|rig|rum|sav|savi|splend|succ|tum|val|vap|vig"
)
_RE = "calib|(?:kilo|centi|milli)?met|cent|fib|goit|lit|lust|meag|mit|och|sab|scept|somb|spect|theat"
_ISE = (
    "agon|apolog|author|capital|categor|character|civil|colon|critic|crystal|dramat|econom|emphas|equal|"
    "familiar|fertil|final|general|global|harmon|hospital|ideal|immobil|industrial|jeopard|legal|liberal|"
    "local|maxim|mechan|memor|minim|mobil|modern|monopol|moral|national|natural|neutral|normal|optim|organ|"
    "patron|penal|personal|popular|public|rational|real|recogn|revolution|scrutin|social|special|stabil|"
    "standard|steril|subsid|summar|symbol|sympath|synchron|terror|theor|tranquill|util|vapor|victim|visual"
)
_DOUBLED = (
    "cancel|channel|chisel|counsel|cruel|devil|dial|duel|enamel|equal|fuel|grovel|initial|jewel|label|level|"
    "libel|marshal|marvel|model|panel|pencil|quarrel|revel|rival|shovel|signal|snivel|spiral|stencil|swivel|"
    "total|towel|travel|tunnel|unravel"
)
_WORDS = {
    "acknowledgement": "acknowledgment",
    "aeroplane": "airplane",
    "aeroplanes": "airplanes",
    "ageing": "aging",
    "aluminium": "aluminum",
    "analogue": "analog",
    "analyse": "analyze",
    "analysed": "analyzed",
    "analysing": "analyzing",
    "catalogue": "catalog",
    "cheque": "check",
    "cheques": "checks",
    "cosy": "cozy",
    "defence": "defense",
    "dialogue": "dialog",
    "draught": "draft",
    "draughts": "drafts",
    "enrol": "enroll",
    "fulfil": "fulfill",
    "gaol": "jail",
    "grey": "gray",
    "greyish": "grayish",
    "instalment": "installment",
    "jewellery": "jewelry",
    "judgement": "judgment",
    "kerb": "curb",
    "licence": "license",
    "manoeuvre": "maneuver",
    "manoeuvres": "maneuvers",
    "mould": "mold",
    "mouldy": "moldy",
    "moustache": "mustache",
    "offence": "offense",
    "paralyse": "paralyze",
    "paralysed": "paralyzed",
    "plough": "plow",
    "ploughed": "plowed",
    "ploughing": "plowing",
    "ploughs": "plows",
    "practise": "practice",
    "practised": "practiced",
    "pretence": "pretense",
    "programme": "program",
    "programmes": "programs",
    "pyjamas": "pajamas",
    "sceptic": "skeptic",
    "sceptical": "skeptical",
    "skilful": "skillful",
    "smoulder": "smolder",
    "smouldering": "smoldering",
    "storey": "story",
    "tyre": "tire",
    "tyres": "tires",
    "waggon": "wagon",
    "wilful": "willful",
    "woollen": "woolen",
}
_RULES = (
    (re.compile(rf"^((?:dis|mis|un)?(?:{_OUR}))our"), r"\1or"),
    (re.compile(rf"^({_RE})re(?=s?$)"), r"\1er"),
    (re.compile(rf"^({_RE})red$"), r"\1ered"),
    (re.compile(rf"^((?:dis|re|un)?(?:{_ISE}))is(?=e|ing|ation|able)"), r"\1iz"),
    (re.compile(rf"^({_DOUBLED})l(?=ed|er|ing|or)"), r"\1"),
)


@lru_cache(maxsize=65_536)
def american(word: str) -> str:
    """The American spelling of a lower-case word; a word without one comes back as it is.

    >>> [american(word) for word in ("neighbours", "centred", "counselled", "realising", "hour")]
    ['neighbors', 'centered', 'counseled', 'realizing', 'hour']
    """
    if word in _WORDS:
        return _WORDS[word]
    for pattern, replacement in _RULES:
        changed, count = pattern.subn(replacement, word)
        if count:
            return changed
    return word
