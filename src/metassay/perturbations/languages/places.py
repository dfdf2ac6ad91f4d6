"""Places as English and German write them; in German, by the article they take."""

from __future__ import annotations

from metassay.text.words import word_set

PLACES = {
    "en": word_set(
        """
        Africa America Asia Europe Australia Antarctica Afghanistan Albania Algeria Angola Argentina
        Armenia Austria Azerbaijan Bahrain Bangladesh Belarus Belgium Bolivia Bosnia Botswana Brazil
        Britain Bulgaria Cambodia Cameroon Canada Chile China Colombia Croatia Cuba Cyprus Czechia Denmark
        Ecuador Egypt England Estonia Ethiopia Finland France Georgia Germany Ghana Greece Guatemala Haiti
        Honduras Hungary Iceland India Indonesia Iran Iraq Ireland Israel Italy Jamaica Japan Jordan
        Kazakhstan Kenya Korea Kosovo Kuwait Kyrgyzstan Laos Latvia Lebanon Libya Lithuania Luxembourg
        Madagascar Malawi Malaysia Mali Malta Mauritius Mexico Moldova Mongolia Montenegro Morocco
        Mozambique Myanmar Namibia Nepal Netherlands Nicaragua Nigeria Norway Oman Pakistan Palestine
        Panama Paraguay Peru Philippines Poland Portugal Qatar Romania Russia Rwanda Scotland Senegal
        Serbia Singapore Slovakia Slovenia Somalia Spain Sudan Sweden Switzerland Syria Taiwan Tajikistan
        Tanzania Thailand Tunisia Turkey Turkmenistan Uganda Ukraine Uruguay Uzbekistan Venezuela Vietnam
        Wales Yemen Zambia Zimbabwe US USA UK UAE London Paris Berlin Rome Madrid Vienna Brussels Moscow
        Beijing Shanghai Guangzhou Shenzhen Wuhan Nanjing Tianjin Chongqing Chengdu Hangzhou Lanzhou Macau
        Macao Xiamen Qingdao Dalian Harbin Kunming Changsha Zhengzhou Suzhou Ningbo Foshan Tokyo Osaka
        Kyoto Seoul Pyongyang Delhi Mumbai Bangkok Hanoi Jakarta Manila Sydney Melbourne Toronto Montreal
        Vancouver Washington Chicago Boston Dallas Houston Miami Seattle Philadelphia Detroit Atlanta
        Athens Geneva Zurich Munich Hamburg Frankfurt Milan Barcelona Lisbon Dublin Warsaw Prague Budapest
        Belgrade Kiev Kyiv Minsk Istanbul Ankara Tehran Baghdad Cairo Dubai Doha Hubei Hunan Jiangxi Anhui
        Jiangsu Zhejiang Guangdong Guangxi Sichuan Yunnan Fujian Hainan Shandong Shanxi Shaanxi Henan
        Hebei Gansu Qinghai Guizhou Liaoning Jilin Heilongjiang Xinjiang Tibet California Texas Florida
        Arizona Alaska Hawaii Hong_Kong New_York New_Zealand North_Korea South_Korea South_Africa
        Los_Angeles Las_Vegas Kuala_Lumpur Buenos_Aires San_Francisco Saudi_Arabia Sri_Lanka United_States
        United_Kingdom Inner_Mongolia Southeast_Asia El_Salvador Costa_Rica Puerto_Rico Middle_East
        Latin_America Yellow_River South_China_Sea Pacific_Ocean Atlantic_Ocean Persian_Gulf Mount_Tai
        Mount_Everest Greater_Bay_Area Sabah Guam Wuxi Hohhot Urumqi Nanning Guiyang Jinan Hefei Fuzhou
        Nanchang Shenyang Changchun Taiyuan Lhasa Xining Yinchuan Haikou Sanya Zhuhai Dongguan Wenzhou
        Tianshui
        """
    ),
    "de": word_set(
        """
        Afrika Amerika Asien Europa Australien Nordamerika Südamerika Lateinamerika Afghanistan Ägypten
        Albanien Algerien Angola Argentinien Armenien Aserbaidschan Äthiopien Bahrain Bangladesch Belarus
        Belgien Bolivien Bosnien Brasilien Bulgarien Chile China Dänemark Deutschland Ecuador England
        Eritrea Estland Finnland Frankreich Georgien Ghana Griechenland Großbritannien Guatemala Haiti
        Honduras Indien Indonesien Irland Island Israel Italien Jamaika Japan Jordanien Kambodscha Kamerun
        Kanada Kasachstan Katar Kenia Kirgisistan Kolumbien Korea Kroatien Kuba Kuwait Laos Lettland
        Libyen Liechtenstein Litauen Luxemburg Madagaskar Malaysia Malta Marokko Mexiko Moldau Monaco
        Montenegro Mosambik Myanmar Namibia Nepal Neuseeland Nicaragua Nigeria Nordirland Nordkorea
        Nordmazedonien Norwegen Österreich Pakistan Palästina Panama Paraguay Peru Polen Portugal Ruanda
        Rumänien Russland Sambia Saudi-Arabien Schottland Schweden Serbien Simbabwe Singapur Slowenien
        Somalia Spanien Südafrika Südkorea Syrien Taiwan Tansania Thailand Tibet Tschechien Tunesien
        Uganda Ungarn Uruguay Usbekistan Venezuela Vietnam Wales Zypern Kosovo Berlin Hamburg München Köln
        Frankfurt Stuttgart Düsseldorf Leipzig Dresden Bonn Bremen Hannover Nürnberg Wien Salzburg Graz
        Zürich Genf Bern Basel London Manchester Liverpool Birmingham Bristol Edinburgh Glasgow Oxford
        Cambridge Dublin Belfast Cardiff Paris Lyon Marseille Calais Straßburg Rom Mailand Neapel Venedig
        Madrid Barcelona Lissabon Brüssel Antwerpen Amsterdam Rotterdam Moskau Kiew Minsk Warschau Krakau
        Danzig Prag Budapest Bukarest Sofia Athen Belgrad Zagreb Sarajevo Peking Shanghai Wuhan Tokio
        Osaka Seoul Pjöngjang Delhi Mumbai Bangkok Hanoi Jakarta Manila Sydney Melbourne Brisbane Adelaide
        Hobart Perth Toronto Montreal Ottawa Vancouver Washington Chicago Boston Dallas Houston Miami
        Seattle Atlanta Detroit Philadelphia Denver Phoenix Hollywood Manhattan Brooklyn Las_Vegas
        Los_Angeles New_York San_Francisco Hongkong Arizona Kalifornien Colorado Hawaii Alaska Nevada Utah
        Oregon Texas Florida Michigan Ohio Virginia Kapstadt Johannesburg Nairobi Oslo Stockholm
        Kopenhagen Helsinki Riga Vilnius Tallinn Ankara Istanbul Teheran Bagdad Damaskus Beirut Jerusalem
        Kairo Tripolis Dubai Doha Riad Kabul Abu_Dhabi Bayern Sachsen Hessen Thüringen Brandenburg
        Niedersachsen Mainz Kassel Freiburg Heidelberg Darmstadt Mannheim Rostock Potsdam Erfurt Innsbruck
        Assam Iowa Georgia Canberra Orkney Shetland Argyll Sussex Kent Yorkshire Wiltshire Illinois
        Montana Indiana Sri_Lanka Costa_Rica El_Salvador
        """
    ),
}

GERMAN_ARTICLES = {
    "fem": word_set(
        "Ukraine Türkei Schweiz Slowakei Mongolei Krim Bretagne Normandie Toskana Antarktis Arktis"
    ),
    "masc": word_set("Iran Irak Libanon Sudan Südsudan Jemen Kongo Vatikan Balkan Kaukasus"),
    "plural": word_set("USA VAE Philippinen Malediven Bahamas Seychellen"),
}
"""Places with an article; those in `masc` stand without one too, in the plural only those that never bend."""

PLACE_WORDS = word_set(
    """
    Province City County River Lake Street Road District Island Islands Mountain Mountains Sea Strait Bay
    Ocean Avenue Square Park Valley Airport Bridge Village Town Region Peninsula Kingdom Emirates States
    Garden Harbor Canal Ozean
    """
)
