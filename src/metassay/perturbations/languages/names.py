"""What names look like in English and German: places, given names, and words that give a type away."""

from __future__ import annotations

from metassay.text.words import word_set

PLACES = {
    "en": word_set(
        """
        Africa America Asia Europe Australia Antarctica Afghanistan Albania Algeria Argentina Armenia
        Austria Azerbaijan Bahrain Bangladesh Belarus Belgium Bolivia Brazil Britain Bulgaria Cambodia
        Canada Chile China Colombia Croatia Cuba Cyprus Czechia Denmark Ecuador Egypt England Estonia
        Ethiopia Finland France Georgia Germany Ghana Greece Hungary Iceland India Indonesia Iran Iraq
        Ireland Israel Italy Japan Jordan Kazakhstan Kenya Korea Kuwait Laos Latvia Lebanon Libya
        Lithuania Luxembourg Malawi Malaysia Mali Malta Mauritius Mexico Moldova Mongolia Morocco Myanmar
        Nepal Netherlands Nigeria Norway Oman Pakistan Palestine Panama Peru Philippines Poland Portugal
        Qatar Romania Russia Scotland Serbia Singapore Slovakia Slovenia Somalia Spain Sudan Sweden
        Switzerland Syria Taiwan Thailand Tunisia Turkey Ukraine Uruguay Uzbekistan Venezuela Vietnam
        Wales Yemen Zambia Zimbabwe US USA UK UAE London Paris Berlin Rome Madrid Vienna Brussels Moscow
        Beijing Shanghai Guangzhou Shenzhen Wuhan Nanjing Tianjin Chongqing Chengdu Hangzhou Lanzhou Macau
        Macao Tokyo Seoul Delhi Mumbai Bangkok Hanoi Jakarta Sydney Melbourne Toronto Washington Chicago
        Boston Dallas Houston Miami Seattle Athens Geneva Zurich Munich Hamburg Frankfurt Hubei Hunan
        Jiangxi Anhui Jiangsu Zhejiang Guangdong Guangxi Sichuan Yunnan Fujian Hainan Shandong Shanxi
        Shaanxi Henan Hebei Gansu Qinghai Guizhou Liaoning Jilin Heilongjiang Xinjiang Tibet California
        Texas Florida Hong_Kong
        """
    ),
    "de": word_set(
        """
        Afrika Amerika Asien Europa Australien Afghanistan Ägypten Albanien Algerien Argentinien Armenien
        Belarus Belgien Brasilien Bulgarien Chile China Dänemark Deutschland England Estland Finnland
        Frankreich Georgien Griechenland Großbritannien Indien Indonesien Irak Iran Irland Island Israel
        Italien Japan Jordanien Kanada Kasachstan Katar Kenia Kolumbien Korea Kroatien Kuba Lettland
        Libanon Libyen Litauen Luxemburg Malta Marokko Mexiko Mongolei Nepal Neuseeland Niederlande
        Nigeria Nordkorea Norwegen Österreich Pakistan Palästina Peru Philippinen Polen Portugal Rumänien
        Russland Schottland Schweden Schweiz Serbien Singapur Slowakei Slowenien Somalia Spanien Südafrika
        Sudan Südkorea Syrien Taiwan Thailand Tschechien Tunesien Türkei Ukraine Ungarn Uruguay USA UK EU
        Venezuela Vietnam Wales Zypern Berlin Hamburg München Köln Frankfurt Stuttgart Düsseldorf Leipzig
        Dresden Bonn Wien Zürich Genf Bern London Paris Rom Madrid Brüssel Moskau Kiew Warschau Prag
        Budapest Athen Belgrad Peking Shanghai Tokio Seoul Delhi Sydney Melbourne Toronto Washington
        Chicago Boston Dallas Houston Miami Arizona Kalifornien Texas Florida Kapstadt Oslo Stockholm
        Kopenhagen Helsinki Riga Vilnius Tallinn Ankara Istanbul Teheran
        """
    ),
}

GIVEN_NAMES = word_set(
    """
    Adam Alan Albert Alex Alexander Alice Andrew Angela Anna Anne Annalena Anthony Antony Barbara Ben Bill
    Bob Boris Brian Carl Charles Chris Christian Daniel David Dave Donald Dominic Edward Elizabeth Emma
    Emmanuel Eric Francis Frank Frederik George Hans Harry Helen Henry Ian Jack James Jan Jane Jean Jeff
    Jennifer Jessica Jim Joe John Jonathan Joseph Julia Karl Kate Kevin Laura Lee Linda Lisa Louis Lucy
    Luke Margaret Maria Mark Martin Mary Mateusz Matt Matthew Max Michael Michelle Mike Mohammed Nancy
    Nelson Nicholas Nick Olaf Oliver Olivia Patrick Paul Peter Philip Phil Rachel Ralf Richard Rick Robert
    Roger Ronald Ryan Sam Samuel Sandra Sarah Scott Sergei Simon Sophie Stefan Stephen Steve Steven Susan
    Thomas Tim Tom Tony Vladimir Walter William Wendy Wolfgang
    """
)
SURNAMES = word_set(
    """
    Wang Li Zhang Liu Chen Yang Huang Zhao Wu Zhou Xu Sun Ma Zhu Hu Guo He Lin Gao Luo Zheng Liang Xie
    Song Tang Deng Han Feng Cao Peng Zeng Xiao Tian Dong Pan Yuan Cai Jiang Yu Du Ye Cheng Wei Su Lu Ding
    Ren Yao Shen Zhong Cui Tan Lai Fan Qiu Xi Xiong Meng Qin Bai Jin Hou Gu Shi Long Wan Duan Qian Yin
    Kong Kim Park Choi
    """
)
"""East Asian family names, which come first."""

PERSON_TITLES = {
    "en": word_set(
        """
        Mr Mrs Ms Miss Dr Prof Professor President Minister Premier Chairman Chairwoman Senator General
        Sir Lady Judge King Queen Prince Princess Director Secretary Ambassador Captain Doctor
        """
    ),
    "de": word_set(
        """
        Herr Herrn Frau Dr Prof Professor Präsident Präsidentin Minister Ministerin Kanzler Kanzlerin
        Bundeskanzler Außenminister Außenministerin Premierminister Ministerpräsident Senator Senatorin
        General König Königin Trainer
        """
    ),
}
PLACE_WORDS = word_set(
    """
    Province City County River Lake Street Road District Island Islands Mountain Mountains Sea Strait Bay
    Ocean Avenue Square Park Valley Airport Bridge Village Town Region Peninsula Kingdom Emirates States
    Garden Harbor Canal Ozean
    """
)
ORGANISATION_WORDS = word_set(
    """
    University Company Bank Committee Ministry Association Party Inc Ltd Co Corp Corporation Group
    Institute Commission Department Bureau Council League Club News Xinhua Academy College School Hospital
    Office Press Center Centre Agency Foundation Federation Union Fund Organization Congress Court Nations
    NATO WHO EU UN GmbH AG United Rangers Republikaner Demokraten Universität Ministerium Rat
    """
)
NOT_NAMES = {
    "en": word_set(
        """
        Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June
        July August September October November December Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec
        Mr Mrs Ms Dr I TV OK AM PM PM2 DIY VIP CEO App APP No Article Chapter Section Day Year Edition
        Book Books Version Chinese English American Internet God Christmas Spring Festival Please Hello
        Thank Thanks Yes Hi Dear President Minister Chairman Director Professor Secretary Mayor Governor
        Judge
        """
    ),
    "de": word_set(
        """
        OK Ok OP The New Choice Home Schön Powered Road App PC TV USB PDF CD DVD Email Mail Internet
        Weihnachten Ostern Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag Januar Februar März
        April Mai Juni Juli August September Oktober November Dezember Covid COVID Ihr Ihre Sie PRS_ORG
        PCR SMS GPS Makros Knorpel Classic Watch Ja Nein Hallo Danke Bitte Shift Mbps Hz mm cm
        """
    ),
}
