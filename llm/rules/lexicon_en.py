"""Closed English word lists: kin, occupations, places, employers, given names. Precision comes from here."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.replace("\n", "|").split("|") if part.strip())


FEMALE = _words(
    "wife|girlfriend|mother|mom|mum|mommy|mummy|mama|grandmother|grandma|granny|nan|nana|sister|daughter|aunt|auntie|niece"
    "|mother-in-law|sister-in-law|daughter-in-law|stepmother|stepdaughter|stepsister|granddaughter|gf|missus|sis|fiancée|fiancee|ex-wife|ex-girlfriend"
)
MALE = _words(
    "husband|boyfriend|father|dad|daddy|papa|grandfather|grandpa|granddad|brother|son|uncle|nephew|father-in-law|brother-in-law"
    "|son-in-law|stepfather|stepson|stepbrother|grandson|bf|hubby|bro|fiancé|fiance|ex-husband|ex-boyfriend"
)
ANYONE = _words(
    "partner|spouse|kid|child|baby|toddler|cousin|friend|best friend|bestie|colleague|coworker|co-worker|boss|manager|roommate"
    "|flatmate|housemate|neighbour|neighbor|assistant|teammate|twin|sibling|parent|dog|puppy|cat|kitten|parrot|rabbit|hamster|horse"
    "|kids|children|parents|daughters|sons|sisters|brothers|grandparents|friends|colleagues|dogs|cats|in-laws|teacher|doctor|landlord|client|mate"
)
KIN = FEMALE | MALE | ANYONE

JOBS = _words(
    "engineer|developer|programmer|designer|architect|analyst|scientist|researcher|teacher|professor|lecturer|tutor|doctor|nurse|surgeon"
    "|dentist|pharmacist|therapist|psychologist|psychiatrist|physiotherapist|paramedic|midwife|vet|veterinarian|optician|radiologist"
    "|lawyer|solicitor|barrister|attorney|paralegal|judge|accountant|auditor|bookkeeper|banker|economist|actuary|trader|broker|underwriter"
    "|manager|director|consultant|administrator|coordinator|supervisor|secretary|receptionist|clerk|recruiter|assistant|executive|officer"
    "|chef|cook|baker|barista|bartender|waiter|waitress|butcher|brewer|sommelier|caterer|sous chef|pastry chef"
    "|driver|pilot|courier|mechanic|electrician|plumber|carpenter|welder|builder|bricklayer|roofer|painter|decorator|locksmith|machinist"
    "|technician|surveyor|plasterer|joiner|cooper|blacksmith|jeweller|jeweler|tailor|seamstress|cobbler|potter|weaver|glassblower"
    "|farmer|gardener|florist|landscaper|fisherman|forester|beekeeper|winemaker|zookeeper|ranger|arborist"
    "|writer|author|editor|journalist|reporter|translator|interpreter|copywriter|novelist|poet|blogger|librarian|archivist|curator|historian"
    "|artist|illustrator|photographer|videographer|filmmaker|animator|musician|singer|drummer|guitarist|pianist|violinist|composer|dj|producer"
    "|actor|actress|dancer|choreographer|model|comedian|stylist|hairdresser|barber|beautician|makeup artist|tattoo artist"
    "|salesperson|salesman|saleswoman|cashier|shopkeeper|retailer|realtor|estate agent|travel agent|marketer|buyer|merchandiser"
    "|firefighter|fireman|policeman|policewoman|police officer|detective|soldier|sailor|security guard|lifeguard|paralegal"
    "|cleaner|janitor|caretaker|housekeeper|nanny|babysitter|au pair|carer|caregiver|social worker|counsellor|counselor|childminder"
    "|physicist|chemist|biologist|geologist|mathematician|statistician|astronomer|meteorologist|linguist|archaeologist|ecologist"
    "|student|undergrad|undergraduate|postgrad|phd student|postdoc|intern|apprentice|trainee|freelancer|entrepreneur|contractor"
    "|ceo|cto|cfo|coo|cmo|vp|founder|co-founder|cofounder|principal|headteacher|dean|scrum master|product owner|tester|sysadmin|devops engineer"
    "|coach|trainer|instructor|referee|athlete|footballer|jockey|priest|pastor|imam|rabbi|civil servant|diplomat|mayor|politician"
    "|steward|stewardess|flight attendant|air hostess|bus driver|truck driver|tram driver|train driver|taxi driver|postman|mailman"
    "|planner|strategist|specialist|representative|agent|operator|controller|inspector|planner|advisor|adviser|associate|partner manager|biller"
    "|optometrist|audiologist|dietitian|nutritionist|chiropractor|osteopath|massage therapist|dermatologist|cardiologist|paediatrician|pediatrician"
)
"""Head nouns: a longer title counts when it ends with one of them."""

NOT_JOBS = _words(
    "bad driver|good cook|great cook|terrible cook|decent cook|good driver|slow driver|careful driver|bad cook|your agent|real estate buyer"
    "|first-time buyer|buyer|home cook|role model|good student|big buyer|returning buyer|guard|model|perfect student|bad singer|good dancer"
)

FIELDS = _words(
    "backend|back-end|frontend|front-end|full-stack|fullstack|devops|data|marketing|sales|design|research|qa|testing|security|it|hr|finance"
    "|accounting|product|product management|project management|operations|logistics|legal|support|customer support|customer service"
    "|engineering|software|web|mobile|ios|android|ml|machine learning|analytics|consulting|recruiting|pr|ux|ui|procurement|compliance"
)

CITIES = _words(
    "london|paris|berlin|madrid|barcelona|valencia|seville|bilbao|lisbon|porto|rome|milan|turin|naples|florence|venice|bologna|genoa|vienna|graz"
    "|zurich|geneva|basel|bern|lausanne|munich|hamburg|cologne|frankfurt|stuttgart|dresden|leipzig|bremen|hanover|nuremberg|bonn|jena|dortmund"
    "|amsterdam|rotterdam|utrecht|eindhoven|the hague|brussels|antwerp|ghent|bruges|luxembourg|copenhagen|aarhus|stockholm|gothenburg|malmo"
    "|oslo|bergen|trondheim|helsinki|tampere|turku|reykjavik|dublin|cork|galway|limerick|belfast|edinburgh|glasgow|aberdeen|dundee|cardiff|swansea"
    "|manchester|liverpool|birmingham|leeds|sheffield|bristol|newcastle|nottingham|leicester|york|bath|oxford|cambridge|brighton|southampton|exeter"
    "|norwich|plymouth|portsmouth|coventry|hull|lyon|marseille|toulouse|nice|nantes|bordeaux|lille|strasbourg|rennes|grenoble|montpellier"
    "|warsaw|krakow|gdansk|wroclaw|poznan|lodz|prague|brno|bratislava|budapest|bucharest|cluj|sofia|belgrade|zagreb|split|ljubljana|sarajevo|athens"
    "|thessaloniki|istanbul|ankara|izmir|kyiv|kiev|lviv|odesa|minsk|vilnius|riga|tallinn|moscow|saint petersburg|new york|new york city|nyc|brooklyn"
    "|queens|manhattan|boston|chicago|los angeles|san francisco|san diego|san jose|oakland|sacramento|seattle|portland|denver|boulder|austin|dallas"
    "|houston|san antonio|phoenix|tucson|las vegas|salt lake city|minneapolis|st paul|milwaukee|detroit|cleveland|columbus|cincinnati|pittsburgh"
    "|philadelphia|baltimore|washington|washington dc|atlanta|miami|orlando|tampa|jacksonville|nashville|memphis|new orleans|charlotte|raleigh"
    "|durham|richmond|st louis|kansas city|omaha|indianapolis|louisville|buffalo|albany|honolulu|anchorage|boise|spokane|toronto|montreal|vancouver"
    "|ottawa|calgary|edmonton|winnipeg|halifax|quebec|victoria|mexico city|guadalajara|monterrey|havana|bogota|medellin|lima|quito|santiago"
    "|buenos aires|cordoba|montevideo|sao paulo|rio de janeiro|rio|brasilia|recife|caracas|tokyo|osaka|kyoto|yokohama|nagoya|sapporo|fukuoka|kobe"
    "|seoul|busan|incheon|beijing|shanghai|shenzhen|guangzhou|hangzhou|chengdu|wuhan|nanjing|suzhou|xi'an|xian|chongqing|tianjin|qingdao|dalian"
    "|xiamen|changsha|hong kong|macau|taipei|kaohsiung|singapore|kuala lumpur|penang|jakarta|bali|bandung|manila|cebu|bangkok|chiang mai|hanoi"
    "|ho chi minh city|saigon|da nang|phnom penh|yangon|mumbai|delhi|new delhi|bangalore|bengaluru|hyderabad|chennai|kolkata|pune|ahmedabad|jaipur"
    "|karachi|lahore|islamabad|dhaka|colombo|kathmandu|dubai|abu dhabi|doha|riyadh|jeddah|kuwait city|muscat|tehran|baghdad|beirut|amman|tel aviv"
    "|jerusalem|haifa|cairo|alexandria|casablanca|marrakech|rabat|tunis|algiers|lagos|abuja|accra|nairobi|kampala|addis ababa|dakar|johannesburg"
    "|cape town|durban|pretoria|sydney|melbourne|brisbane|perth|adelaide|canberra|hobart|darwin|auckland|wellington|christchurch|dunedin"
    "|germany|france|spain|italy|portugal|england|scotland|wales|ireland|the uk|uk|the us|usa|the usa|the united states|canada|mexico|brazil"
    "|argentina|chile|japan|china|korea|south korea|taiwan|india|thailand|vietnam|indonesia|malaysia|philippines|the philippines|australia"
    "|new zealand|norway|sweden|denmark|finland|iceland|poland|austria|switzerland|belgium|the netherlands|greece|turkey|egypt|kenya|nigeria"
    "|california|texas|florida|oregon|ohio|michigan|colorado|arizona|nevada|utah|georgia|virginia|new jersey|massachusetts|bavaria|tuscany|catalonia"
)

COMPANIES = _words(
    "google|microsoft|apple|amazon|aws|meta|facebook|netflix|spotify|stripe|shopify|uber|lyft|airbnb|tesla|nvidia|intel|amd|ibm|oracle|sap|salesforce"
    "|adobe|twitter|linkedin|github|gitlab|slack|zoom|dropbox|atlassian|paypal|square|visa|mastercard|samsung|sony|nintendo|toyota|honda|bmw|siemens"
    "|bosch|philips|nokia|ericsson|huawei|xiaomi|tencent|alibaba|baidu|bytedance|tiktok|jd|meituan|didi|pinduoduo|lenovo|oppo|vivo|hsbc|barclays"
    "|jpmorgan|goldman sachs|morgan stanley|citi|deloitte|pwc|kpmg|ey|accenture|mckinsey|bcg|bain|ikea|walmart|target|costco|tesco|starbucks|mcdonalds"
    "|nike|adidas|unilever|nestle|pfizer|roche|novartis|bayer|airbus|boeing|spacex|nasa|openai|anthropic|deepmind|cloudflare|datadog|snowflake|reddit"
    "|pinterest|snap|discord|twitch|zalando|klarna|revolut|monzo|wise|deliveroo|doordash|door dash|instacart|booking.com|expedia|fedex|ups|dhl|contoso|canva|figma"
)

NAMES = _words(
    "aaron|abby|adam|adrian|aisha|alan|alana|albert|alex|alexander|alexandra|alice|alicia|alina|alison|amanda|amber|amelia|amir|amy|ana|andrea|andrew"
    "|andy|angela|anika|anita|anna|anne|annie|anthony|antonio|ariana|arjun|arthur|ashley|audrey|austin|ava|barbara|beatrice|becky|ben|benjamin|beth"
    "|bethany|bill|billy|bob|boris|brad|brandon|brenda|brian|bridget|bruce|bruno|bryan|caleb|calvin|cameron|camila|carl|carla|carlos|carmen|carol"
    "|caroline|catherine|cathy|cecilia|charles|charlie|charlotte|chen|cheryl|chloe|chris|christina|christine|christopher|cindy|claire|clara|colin"
    "|connor|craig|cristina|cynthia|daisy|dan|dana|daniel|daniela|danielle|danny|dave|david|deborah|dennis|derek|diana|diego|dina|dmitri|dominic"
    "|donald|donna|doris|dorothy|douglas|dylan|eddie|edward|elena|eleanor|eli|elijah|elisa|elizabeth|ella|ellen|emily|emma|eric|erica|erik|erin|ethan"
    "|eugene|eva|evan|evelyn|fatima|felix|fernando|fiona|frances|francesca|francis|frank|fred|freddie|gabriel|gary|gavin|gemma|george|gerald|gina"
    "|giulia|gloria|gordon|graham|greg|gregory|gwen|hana|hannah|hans|harold|harry|harvey|hassan|heather|hector|heidi|helen|helena|henry|holly|howard"
    "|hugo|ian|ibrahim|igor|imran|ines|ingrid|irene|iris|isaac|isabel|isabella|ivan|jack|jackie|jacob|jaden|jake|james|jamie|jan|jane|janet|janice"
    "|jasmine|jason|javier|jay|jean|jeff|jeffrey|jen|jenna|jennifer|jenny|jeremy|jerry|jesse|jessica|jill|jim|jimmy|joan|joanna|joao|joe|joel|johan"
    "|johanna|john|johnny|jon|jonas|jonathan|jordan|jorge|jose|joseph|josh|joshua|joyce|juan|judith|judy|julia|julian|julie|julien|justin|kaitlyn"
    "|karen|karim|karl|kate|katherine|kathleen|kathy|katie|katrina|kayla|keith|kelly|ken|kenji|kenneth|kevin|khalid|kim|kimberly|kira|kyle|lara|larry"
    "|lars|laura|lauren|layla|lea|leah|lee|leila|lena|leo|leon|leonardo|leslie|lewis|li|liam|lily|linda|lisa|liz|logan|lola|lorenzo|louis|louise|luca"
    "|lucas|lucia|lucy|luis|luke|luna|lydia|madison|magda|manuel|marc|marcel|marco|marcus|margaret|maria|marie|marina|mario|marion|mark|marta|martha"
    "|martin|mary|mateo|mathilda|matt|matteo|matthew|maya|megan|mehmet|mei|melanie|melissa|mia|michael|michelle|miguel|mike|mila|miles|ming|miriam"
    "|mohammed|molly|monica|morgan|muhammad|nadia|naomi|natalia|natalie|nathan|neil|nicholas|nick|nicola|nicole|nigel|nikhil|nina|noah|nora|norman"
    "|olga|oliver|olivia|omar|oscar|otto|pablo|pamela|patricia|patrick|paul|paula|pauline|pedro|peter|phil|philip|pierre|priya|rachel|rafael|raj|ralph"
    "|raquel|raymond|rebecca|ricardo|richard|rick|rita|rob|robert|robin|rodrigo|roger|roland|ron|ronald|rosa|rosie|roy|ruby|russell|ruth|ryan|sabrina"
    "|sally|sam|samantha|samir|samuel|sandra|sara|sarah|sasha|scott|sean|sebastian|sergei|shane|shannon|sharon|sheila|shirley|silvia|simon|simone|sofia"
    "|sonia|sophia|sophie|stacy|stanley|stella|stephanie|stephen|steve|steven|stuart|sue|susan|susie|svetlana|sven|sylvia|tania|tara|ted|teresa|terry"
    "|thea|theo|theodore|theresa|thomas|tim|timothy|tina|toby|todd|tom|tommy|tony|tracy|travis|tyler|ursula|valentina|valerie|vanessa|vera|veronica|vicky"
    "|victor|victoria|vikram|vincent|viola|virginia|vivian|vlad|walter|wanda|wang|wayne|wei|wendy|will|william|xavier|yan|yara|yasmin|yuki|yuri|yusuf"
    "|yvonne|zach|zachary|zara|zoe"
)

NOT_NAMES = _words(
    "american|british|english|scottish|welsh|irish|german|french|spanish|italian|portuguese|dutch|belgian|swiss|austrian|polish|czech|hungarian|romanian"
    "|greek|turkish|russian|ukrainian|swedish|norwegian|danish|finnish|icelandic|chinese|japanese|korean|taiwanese|indian|pakistani|thai|vietnamese"
    "|filipino|filipina|indonesian|malaysian|australian|canadian|mexican|brazilian|argentinian|colombian|chilean|peruvian|egyptian|moroccan|nigerian"
    "|kenyan|african|asian|european|latino|latina|hispanic|black|white|arab|persian|iranian|israeli|lebanese|catholic|christian|muslim|jewish|buddhist"
    "|hindu|atheist|mormon|gemini|leo|virgo|libra|aries|taurus|cancer|scorpio|sagittarius|capricorn|aquarius|pisces|vegan|vegetarian|ok|okay|sorry|fine"
    "|good|great|happy|sad|glad|tired|sure|not|so|very|really|just|still|also|here|back|done|ready|new|busy|free|sick|ill|late|early|lost|stuck|confused"
    "|worried|afraid|curious|interested|excited|bored|hungry|thirsty|home|out|in|on|at|from|with|an|a|the|my|your|going|looking|trying|having|using|getting"
    "|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|october|november|december"
    "|autistic|adhd|gay|bi|bisexual|lesbian|queer|trans|single|married|divorced|pregnant|disabled|deaf|blind|diabetic|celiac|coeliac|retired|unemployed"
    "|team|admin|customer|member|premium|gold|vip|pro|android|iphone|windows|mac|linux|blessed|grateful|proud|game|down|right|wrong|impressed|all|about|yes|no"
)
