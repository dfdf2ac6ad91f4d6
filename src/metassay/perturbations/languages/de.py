"""German word lists."""

from __future__ import annotations

from metassay.text.words import word_set

FUNCTION_WORDS = word_set(
    """
    der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner keines dieser
    diese dieses diesen diesem jener jene jenes jeder jede jedes jeden jedem mancher manche solcher solche
    welcher welche welches ich du er sie es wir ihr mich dich ihn uns euch ihnen mir dir ihm sich mein
    dein sein unser euer man wer was wem wen wessen etwas nichts jemand niemand alle alles allen aller
    beide einige mehrere viele wenige viel wenig mehr weniger und oder aber denn sondern doch dass ob weil
    da wenn als wie während bevor nachdem damit obwohl falls sowie sowohl in an auf aus bei mit nach seit
    von vor zu zum zur im am beim vom ins ans für gegen ohne um durch über unter neben zwischen hinter bis
    wegen trotz statt laut pro per ab außer gegenüber entlang innerhalb außerhalb nicht nie niemals nein
    ja noch schon nur auch so hier dort nun wo wohin woher wann warum wieso bin bist ist sind seid war
    waren wäre haben habe hat hatte hätte werden wird wurde würde worden geworden können kann konnte
    könnte müssen muss sollen soll wollen will dürfen darf mögen mag möchte lassen lässt gehen geht machen
    macht kommen kommt geben gibt stehen steht halten hält stellen stellt setzen setzt nehmen nimmt
    bringen bringt ziehen legen finden sehen wissen tun eins zwei drei vier fünf sechs sieben acht neun
    zehn hundert tausend million erste zweite dritte letzte nächste andere anderer anderes anderen selbst
    selber eben mal bitte danke hallo zwar also dabei dazu daher dafür davon daran darauf darüber dadurch
    dagegen daraus darin weiter weg hin her los gerade einmal ganz gar wohl etwa allein eigen eigene
    eigenen einzige ganze ganzen gut guten gute lage leute deutsch deutsche deutschen deutscher unten oben
    links rechts irgendein lieber meist meiste meisten
    """
)

ADVERBS_IN_EN = word_set(
    """
    gestern extern intern modern offen selten eben neben gegen wegen zusammen trocken eigen golden
    """
)
"""Words that end like infinitives and are none."""

GENDERS = {
    "f": ("ung", "heit", "keit", "schaft", "ion", "tät", "enz", "anz", "ik", "ur", "ei", "e"),
    "n": ("chen", "lein", "ment", "tum", "um"),
    "m": ("ismus", "ling", "ist", "ent", "ant", "or"),
}
"""Endings that give a noun's gender away."""

NOUNS = {
    "m": word_set(
        """
        Bildschirm Moment Schritt Artikel Fahrer Preis Weg Grund Plan Ort Platz Punkt Teil Fall Tag Abend
        Morgen Vorteil Nachteil Fehler Wagen Unfall Vertrag Kauf Verkauf Vorschlag Rat Bericht Angriff
        Kampf Krieg Sturm Streit Erfolg Gewinn Verlust Betrag Auftrag Versuch Wunsch Besuch Inhalt Hinweis
        Verdacht Zweck Bereich Raum Laden Markt Schaden Schutz Start Beginn Anfang Abschluss Schluss
        Ablauf Vorgang Prozess Schauplatz Augenblick Vorfall Zeitpunkt Zeitraum Nutzen Wert Sitz Stoff
        Gegenstand Gegner Feind Freund Kumpel Chef Leiter Boss Autor Verfasser Händler Verkäufer Käufer
        Abnehmer Arzt Doktor Mediziner Mitarbeiter Angestellter Reisende Zorn Ärger Stress
        """
    ),
    "n": word_set(
        """
        Konto Symbol Zeichen Gerät Instrument Werkzeug Jahr Problem Thema Ziel Geschäft Unternehmen Auto
        Fahrzeug Haus Gebäude Heim Buch Werk Bild Foto Team Spiel Match Ergebnis Resultat Ereignis
        Geschehen Land Gebiet Areal Territorium Kind Baby Mädchen Essen Mahl Wetter Klima Gesetz Recht
        Abkommen Übereinkommen Angebot Vorhaben Projekt Treffen Gespräch Interview Vorgehen Verhalten
        Benehmen Gefühl Empfinden Leben Dasein Ende Material Produkt Erzeugnis Fest Restaurant Lokal
        Gasthaus Wirtshaus Hotel Zimmer Geld Kapital Vermögen Gut Bett Hemd Kleid Dokument Schriftstück
        Risiko Wagnis Tier Geschöpf Lebewesen Menü Publikum Viertel Quartier Magazin Blatt Journal
        """
    ),
    "f": word_set(
        """
        Zeit Antwort Arbeit Welt Stadt Macht Kraft Art Angst Furcht Fahrt Tat Hilfe Wahl Bank Firma Post
        Luft
        """
    ),
}
"""Common nouns whose gender their ending does not show."""

NOT_FEMININE = word_set(
    """
    Ende Auge Interesse Name Kunde Käse Junge Kollege Experte Zeuge Erbe Gedanke Glaube Wille Buchstabe
    Friede Deutsche Beamte Angestellte Verwandte Franzose Russe Chinese Grieche Pole Däne Schwede Türke
    Hase Affe Löwe Bote Pate Neffe Riese Sklave Soziologe Biologe Psychologe Pädagoge Stratege Genosse
    Insasse Knabe Bube Rabe Falke Ochse Finanzwesen
    """
)
"""Nouns in -e that are not feminine; besides these, all that start with Ge-."""

PLURALS = GENDERS["f"]
"""Feminine endings whose plural takes -en (-n after -e)."""

ADJECTIVE_ENDINGS = ("e", "en", "er", "es", "em")

PRONOUNS = (
    ("er", "sie", "es"),
    ("ich", "er", "sie"),
    ("wir", "sie", "Sie"),
    ("mich", "dich", "ihn", "uns", "euch"),
    ("mir", "dir", "ihm", "ihnen", "uns", "euch", "Ihnen"),
    ("mein", "dein", "sein", "ihr", "unser", "Ihr"),
    ("meine", "deine", "seine", "ihre", "unsere", "Ihre"),
    ("meinen", "deinen", "seinen", "ihren", "unseren", "Ihren"),
    ("meiner", "deiner", "seiner", "ihrer", "unserer", "Ihrer"),
    ("meinem", "deinem", "seinem", "ihrem", "unserem", "Ihrem"),
    ("meines", "deines", "seines", "ihres", "unseres", "Ihres"),
)
"""Pronouns that can stand in each other's place: subjects by the verb they take, objects, possessives."""

NEVER_CHOSEN: frozenset[str] = frozenset()
"""Pronouns that are replaced but replace no other."""

ADDRESS = word_set(
    """
    du Sie dich euch dir Ihnen dein deine deinen deiner deinem deines Ihr Ihre Ihren Ihrer Ihrem Ihres
    """
)
"""Ways to say you: one in the place of another is no error."""

_ROWS = {"ich": 1, "wir": 2, "uns": 3, "euch": 3}


def pronoun_class(previous: str, pronoun: str, following: str) -> int:
    """Which row of `PRONOUNS` a pronoun belongs to; "sein" and "ihr" only where a noun follows.

    With "ich habe" no other pronoun agrees, with "ich hatte" er and sie do.
    """
    if pronoun in {"sein", "ihr", "Ihr"}:
        return 5 if following[:1].isupper() else -1
    if pronoun == "Sie":
        return 2
    if pronoun == "ich" and any(_is_first_person(word) for word in (previous, following)):
        return -1
    return _ROWS.get(pronoun, next((row for row, words in enumerate(PRONOUNS) if pronoun in words), -1))


def _is_first_person(verb: str) -> bool:
    return verb == "bin" or (verb.endswith("e") and not verb.endswith("te"))


NEGATION_REMOVAL = (
    (
        r"\b(?:nicht nur|nicht zuletzt|nicht wahr|warum nicht|oder nicht|ob nicht|nichts als|wenn nicht)\b",
        None,
    ),
    (r"\b(?:aber|jedoch|doch|auch|sonst) nicht(?=[.,;!?]|$)", None),
    (r"\b(?:immer )?noch nicht\b", "schon"),
    (r"\b(?:nicht|nie|niemals) mehr ", ""),
    (r" (?:nicht|nie|niemals) mehr\b", ""),
    (r"\b(?:gar |überhaupt )?(?:nicht|nie|niemals) ", ""),
    (r"(?: gar| überhaupt)? (?:nicht|nie|niemals)\b", ""),
    (r"\bk(?=eine (?:\w+e )?[A-ZÄÖÜ]\w*(?:ung|heit|keit|ion|schaft|tät|ik|enz|anz|zeit|frage|idee)\b)", ""),
    (r"\bkeine ", ""),
    (r"\bk(?=ein(?:e|en|em|er|es)?\b)", ""),
    (r"\bnichts\b", "etwas"),
    (r"\bniemand(?=en\b|em\b|\b)", "jemand"),
    (r"\bnirgends\b|\bnirgendwo\b", "überall"),
)
"""Negations and what stands in their place; None protects a phrase that looks like one and is not."""
NEGATION_SIGNS = r"\b(?:nicht|nie|niemals|nichts|niemand\w*|nirgend\w+|kein(?:e|en|em|er|es)?)\b"

AUXILIARIES = word_set(
    """
    ist sind bin bist seid war waren warst wäre wären sei seien habe hast hat haben habt hatte hatten
    hätte hätten wird werden werde wirst werdet wurde wurden würde würden kann können kannst könnt konnte
    konnten könnte könnten muss müssen musst müsst musste mussten müsste müssten soll sollen sollst sollte
    sollten will wollen willst wollte wollten darf dürfen darfst durfte durften dürfte dürften mag mögen
    möchte möchten lässt lassen ließ
    """
)
VERBS = word_set(
    """
    gibt gab geht ging kommt kam kommen steht stand stehen macht machte machen sagt sagte sagen sieht sah
    sehen hält hielt halten bleibt blieb bleiben liegt lag liegen nimmt nahm nehmen findet fand finden
    weiß wusste wissen denkt denke dachte denken glaubt glaube glaubte glauben braucht brauche brauchte
    brauchen funktioniert funktionierte funktionieren arbeitet arbeitete arbeiten bietet bot bieten
    enthält enthielt enthalten zeigt zeigte zeigen führt führte führen hilft half helfen verwendet
    verwendete verwenden bekommt bekam bekommen erhält erhielt erhalten gehört gehörte gehören heißt hieß
    heißen spielt spielte spielen scheint schien scheinen bedeutet bedeutete lebt lebte leben versucht
    versuchte versuchen verstehe versteht verstand hoffe hofft hofften kennt kannte kennen warnt warnte
    fordert forderte fordern passiert passierte beginnt begann endet endete besteht bestand bestehen
    klicken tippen wählen öffnen schließen drücken gehen stellen prüfen überprüfen starten verbinden
    ziehen senden geben laden warten lesen schalten melden bestellen kontaktieren ändern löschen sehe
    nehme bekomme
    """
)
"""Common finite verbs."""
ADJECTIVES = word_set(
    """
    gut schlecht groß klein neu alt jung lang kurz hoch tief schnell langsam wichtig möglich richtig
    falsch einfach schwer leicht schön frei sicher klar bekannt verfügbar notwendig nötig bereit fertig
    erforderlich geeignet ideal perfekt stark schwach hell dunkel warm kalt heiß teuer billig günstig
    genau direkt kostenlos aktuell verantwortlich zufrieden glücklich traurig nützlich hilfreich sinnvoll
    erfolgreich beliebt berühmt gefährlich gesund krank echt wahr ganz voll leer offen geschlossen
    erhältlich enthalten gültig zuständig
    """
)
"""Common adjectives, as they stand after "to be"."""
INVERTED = word_set(
    """
    dies ja doch jedoch auch aber also ich du er sie es wir ihr man sich bitte mir dir ihm ihnen uns euch
    mich dich ihn
    """
)
"""After a verb these come before "nicht"."""
NEGATED = word_set("nicht kein keine keinen keinem keiner keines nie niemals niemand nichts")
"""Near one of these no second negation is put in."""
DETERMINERS = word_set(
    """
    der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner keines dieser
    diese dieses diesen diesem jeder jede jedes jeden jedem mein meine meinen meinem meiner dein deine
    deinen sein seine seinen seinem seiner ihr ihre ihren ihrem ihrer unser unsere unseren unserem unserer
    im am zum zur beim vom ins
    """
)
"""What stands before a noun, and seldom before a name."""
