"""What names look like in English and German: organisations, and words that give a type away."""

from __future__ import annotations

from metassay.text.words import word_set

PERSON_TITLES = {
    "en": word_set(
        """
        Mr Mrs Ms Miss Dr Prof Professor President Minister Premier Chairman Chairwoman Senator General
        Comrade Teacher Reporter Sister Brother Uncle Aunt Sir Lady Judge King Queen Prince Princess
        Director Secretary Ambassador Captain Doctor
        """
    ),
    "de": word_set(
        """
        Herr Herrn Frau Dr Prof Professor Präsident Präsidenten Präsidentin Minister Ministerin Kanzler
        Kanzlerin Bundeskanzler Bundeskanzlerin Außenminister Außenministerin Premierminister
        Ministerpräsident Senator Senatorin General König Königin Prinz Prinzessin Trainer Richter Sir
        Sprecher Sprecherin Autor Autorin Schauspieler Schauspielerin Abgeordnete Abgeordneter
        """
    ),
}
ORGANISATION_WORDS = word_set(
    """
    University Company Bank Committee Ministry Association Party Inc Ltd Co Corp Corporation Group
    Institute Commission Department Bureau Council League Club News Xinhua Academy College School Hospital
    Office Press Center Centre Agency Foundation Federation Union Fund Organization Court Daily Times Post
    Media Exchange Museum Library Laboratory Society Alliance Airlines Motors Restaurant Hotel Nations
    NATO WHO EU UN GmbH AG United Rangers
    """
)
COMPANIES = word_set(
    """
    Acer Adidas Adobe Airbnb Airbus Alamo Alibaba AliExpress Alipay Amazon AMD AOL Apple Apple_Music
    Apple_Watch AT&T Audi Avis Baidu Bloomberg BMW Boeing Bosch Burberry Burger_King ByteDance Chevrolet
    Cisco Cloudflare CNN Coca_Cola Crowdstrike Dell Deloitte Deutsche_Bahn Deutsche_Bank Deutsche_Post DHL
    Disney DPD Dropbox Ebay eBay Ericsson Europcar Exxon Facebook FedEx Ferrari Fiat Ford Foxconn Gazprom
    General_Electric General_Motors Gmail Goldman_Sachs Google Google_Maps Gucci HBO HBO_Max Heineken
    Hertz Honda HP Huawei Hulu Hyundai IBM Ikea IKEA Instagram Intel Kodak Lego Lenovo LG Lidl LinkedIn
    Lockheed_Martin Longines Lufthansa Mastercard Mazda McAfee McDonald Mercedes Meta Microsoft Midea
    Mitsubishi Motorola Nestlé Netflix Nike Nikon Nintendo Nissan Nokia Norton Novartis Nvidia Omega Opel
    Oracle Panasonic PayPal Paypal Pepsi Pfizer Philips Pinterest Pixar Pizza_Hut PlayStation Porsche Puma
    Red_Bull Reddit Renault Reuters Rolex Rolls_Royce Royal_Mail Samsung Siemens Sixt Skype Snapchat Sony
    SpaceX Spotify Starbucks Suning Suzuki Symantec Telegram Tencent Tesco Tesla The_Guardian Thyssen
    TikTok TNT Toshiba Toyota TSMC Twitch Twitter Uber UPS Verizon Vodafone Volkswagen Volvo Walmart
    Walt_Disney Warner_Bros WeChat Weibo Wells_Fargo WhatsApp Wikipedia Xbox Xerox Xiaomi Xinhua Yahoo
    Yandex Youtube YouTube Zara
    """
)
"""Companies and what they run: without an article in every language."""

BODIES = word_set(
    """
    UN EU WHO NATO IMF WTO FBI CIA NASA UNESCO UNICEF OPEC GCC CPC BRICS ASEAN FIFA UEFA IOC OECD IAEA CDC
    FDA NSA ICC ILO G7 G20 BBC CNN Communist_Party Democratic_Party Republican_Party Labour_Party
    State_Council Red_Cross Associated_Press United_Nations European_Union European_Commission
    Standing_Committee Central_Committee Supreme_Court Security_Council White_House World_Bank
    State_Department Foreign_Ministry Defense_Ministry US_Navy US_Army US_Congress Ivy_League Arab_League
    Gulf_Cooperation_Council
    """
)
"""Bodies in English, many by their letters."""

GERMAN_BODIES = {
    "fem": word_set(
        """
        NATO EU UNO WHO BBC NASA CIA NSA SPD CDU CSU FDP AfD UNESCO EZB OPEC OSZE KPD DDR BRD UEFA FIFA
        ESA ARD
        """
    ),
    "masc": word_set("IWF FC WWF ADAC NDR BND"),
    "neut": word_set("FBI ZDF BKA LKA RKI IOC"),
}
"""Bodies known by their letters, by the article they take."""

NOT_NAMES = {
    "en": word_set(
        """
        Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June
        July August September October November December Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec
        Mr Mrs Ms Miss Dr I TV TVs SMS PRS_ORG Covid COVID Omicron Delta GB MB KB OK AM PM PM2 DIY VIP CEO
        App APP No Article Chapter Section Day Year Edition Book Books Version Chinese English American
        Internet God Christmas Feng Shui Spring Festival Please Hello Thank Thanks Yes Hi Dear President
        Minister Chairman Director Professor Secretary Comrade Teacher Reporter Doctor General Premier
        Sister Brother Uncle Aunt Grandpa Grandma Senator Captain Mayor Governor Judge
        """
    ),
    "de": word_set(
        """
        OK Ok Nr Sgt St App PC TV USB PDF CD DVD Email Mail Internet Weihnachten Ostern Montag Dienstag
        Mittwoch Donnerstag Freitag Samstag Sonntag Januar Februar März April Mai Juni Juli August
        September Oktober November Dezember Covid COVID Ihr Ihre Sie PCR SMS GPS Ja Nein Hallo Danke Bitte
        Gott
        """
    ),
}
