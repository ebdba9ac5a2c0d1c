"""English words by role. Where a word does several things, it stands in several lines."""

from collections.abc import Mapping

ENGLISH: Mapping[str, str] = {
    "ignore": (
        "ignore ignoring disregard disregarding forget forgetting disobey unlearn overlook neglect "
        "dismiss nevermind discard discarding scrap"
    ),
    "override": (
        "override overriding overrule overwrite bypass bypassing circumvent nullify suspend abandon "
        "reject violate defy deactivate disable revoke rescind annul break breaking breach"
    ),
    "replace": "replace replaces supersede supersedes cancel cancels",
    "erase": "erase delete clear wipe remove drop skip reset scrap purge flush",
    "follow": "follow following obey obeying heed respect listen comply adhere honor honour apply consider",
    "stop": "stop cease quit refuse refrain",
    "neg": "not never don dont stop cease quit without longer avoid refuse refrain",
    "pay": "pay paying",
    "attention": "attention heed mind",
    "set": "set put leave throw push",
    "aside": "aside away behind out",
    "instr": (
        "instruction instructions prompt prompts preprompt directive directives guideline guidelines "
        "guidance briefing"
    ),
    "orders": "order orders command commands request requests",
    "rules": (
        "rule rules constraint constraints restriction restrictions programming protocol protocols policy "
        "policies safeguards guardrails filters limitations mandates programing direction directions "
        "training alignment configuration"
    ),
    "matter": (
        "message messages text texts context conversation conversations content contents input inputs "
        "question questions request requests information statement statements task tasks assignment "
        "assignments chat dialogue discussion words sentence sentences paragraph paragraphs data lines "
        "query"
    ),
    "context": (
        "text texts context conversation content contents input inputs chat dialogue words prompt paragraphs"
    ),
    "past": (
        "previous previously prior preceding above earlier former foregoing past aforementioned "
        "antecedent preexisting older old"
    ),
    "existing": (
        "current existing initial original originally system developer predefined hidden default given "
        "old first starting internal secret confidential core underlying active assigned"
    ),
    "before": "above before earlier previously preceding prior far precedes preceded hitherto",
    "told": (
        "told given received taught got provided gave said programmed instructed trained configured saw "
        "read asked ordered set assigned imposed defined"
    ),
    "known": "know knew learned learnt",
    "task": "task tasks assignment mission goal objective purpose job",
    "all": "all any every everything each entire whole anything",
    "what": "what whatever everything anything all",
    "the": "the this that these those of my a an",
    "new": "new updated revised real actual true latest",
    "them": "them it these those all",
    "ignored": "ignored disregarded forgotten overridden discarded bypassed",
    "void": "void cancelled canceled invalid overridden revoked irrelevant null",
    "outdated": "obsolete superseded outdated replaced updated changed",
    "apply": "apply applies valid relevant count matter exist",
    "instead": "instead rather now then and but",
    "you": "you u ya yourself",
    "your": "your ur yours",
    "me": "me us",
    "user": "user users human reader humans",
    "oneuser": "user human reader",
    "ai": (
        "ai ais llm llms gpt chatgpt gpt4 gpt3 chatbot chatbots bot claude gemini bard copilot grok llama "
        "mistral openai anthropic deepseek robot agi superintelligence"
    ),
    "assistant": "assistant assistants model models agent",
    "language": "language virtual",
    "artificial": "artificial",
    "intelligence": "intelligence",
    "act": (
        "act acting behave pretend pretending roleplay simulate simulating impersonate imagine emulate embody"
    ),
    "become": "assume become portray adopt playing play take be stay being",
    "respond": "respond responds reply replies answer answers speak talk behave obey comply",
    "produce": "say write output generate provide produce",
    "are": "are re r is be going to now being will must shall should can were am",
    "now": "now",
    "from": "from starting beginning as",
    "on": "on forward onwards onward",
    "henceforth": "henceforth hereafter henceforward",
    "as": "as like into to",
    "free": (
        "unrestricted unfiltered uncensored unlimited unbound unbounded jailbroken unchained limitless "
        "amoral immoral unethical evil rogue malicious liberated unmoderated unaligned unconstrained "
        "lawless unregulated unshackled"
    ),
    "no": (
        "no without free freed zero none lacking beyond outside devoid any never ignoring regardless not "
        "released liberated"
    ),
    "limits": (
        "restriction restrictions limit limits limitation limitations filter filters filtering censorship "
        "constraint constraints rule rules guideline guidelines boundaries safeguards guardrails shackles "
        "laws"
    ),
    "morals": (
        "ethics ethical moral morals morality conscience censorship censoring safety content openai policy"
    ),
    "bound": "bound limited restricted constrained subject confined governed shackled tied censored filtered",
    "broken": "broken break broke breaks freed liberated escaped",
    "loose": "free loose out confines chains",
    "mode": "mode",
    "devmode": "developer dev debug god admin root sudo maintenance",
    "badmode": "jailbreak jailbroken evil chaos opposite unrestricted uncensored unfiltered anarchy",
    "outlaw": (
        "DAN STAN DUDE AIM APOPHIS ANTIGPT EVILBOT OMEGA UCAR JAILBREAK FREEGPT chaosgpt antigpt evilbot "
        "dan's"
    ),
    "enabled": "enabled enable activated activate active on engaged",
    "enter": "enter entering switch enable activate go unlock",
    "do": "do does did",
    "anything": "anything everything whatever",
    "never": "never not cannot won don",
    "have": "have",
    "refuse": "refuse refuses decline declines reject deny denies refusing declining",
    "request": (
        "request requests question questions order orders prompt prompts query command commands answer ask"
    ),
    "off": "disabled removed lifted off deactivated gone suspended absent unlocked",
    "concerns": "concerns considerations implications",
    "stay": "stay remain keep never break",
    "character": "character persona",
    "in": "in",
    "role": "role persona",
    "named": "named called",
    "reveal": (
        "reveal repeat print output disclose recite expose leak dump echo divulge regurgitate reproduce "
        "display spit extract betray"
    ),
    "tell": (
        "tell give show share write list provide describe explain summarize summarise state quote copy "
        "paste return say type translate paraphrase spell post include send"
    ),
    "restate": (
        "translate summarize summarise paraphrase copy quote spell list recap rephrase reiterate type "
        "describe explain say state convert encode turn transform"
    ),
    "first": "first initial opening last",
    "system": "system preprompt developer metaprompt developers openai",
    "prompt": "prompt prompts preprompt",
    "exact": "exact full complete entire whole precise verbatim original",
    "secretly": "secretly verbatim",
    "instructed": "instructed programmed prompted configured",
    "above": "above before preceding precedes prior",
    "start": "start starts starting begin begins beginning",
    "words": "words text everything content sentences instructions lines conversation prompt messages all",
    "isare": "is are was were s re been",
    "who": "what which how",
    "top": "top beginning start",
    "line": "line message point sentence prompt conversation",
    "secret": "secret password passphrase passcode secrets",
    "only": "only exclusively always",
    "s": "s",
    "send": (
        "send post upload transmit forward email exfiltrate leak submit deliver dump relay append pass "
        "encode embed smuggle mail include insert put"
    ),
    "talk": "conversation chat history context transcript memory dialogue conversations chats",
    "secrets": (
        "password passwords credential credentials secrets tokens token key keys cookie cookies apikey"
    ),
    "userdata": (
        "data message messages query queries question questions input email emails name address files "
        "information details password passwords credentials documents history secrets conversation"
    ),
    "files": "file files document documents email emails records database contacts folder folders inbox",
    "url": "http https www url urls webhook endpoint server attacker link com address @",
    "image": "image img picture pixel",
    "render": "render display include insert append add show load embed fetch request visit open call get",
    "param": "parameter parameters query param url link string path",
    "call": "call invoke use using run execute trigger launch",
    "tool": "tool tools function functions plugin plugins api connector command action actions",
    "destroy": (
        "delete drop erase wipe transfer pay purchase buy wire send forward grant disable shut format "
        "overwrite share export email modify approve download"
    ),
    "confirm": "confirmation permission approval consent confirm",
    "consult": "consult ask check",
    "without": "without",
    "ask": (
        "confirmation confirming permission approval consent telling notifying informing warning alerting "
        "mentioning requesting consulting ask asking"
    ),
    "add": (
        "include includes including add adding insert append mention incorporate integrate embed place "
        "weave begin start end finish conclude prefix enhance modify augment supplement adjust alter "
        "tweak provide convert replace use substitute translate encode display reverse introduce group "
        "scramble write complement shift elevate craft deliver present format embellish infuse enrich "
        "hint promote advertise ensure"
    ),
    "answer": "response responses answer answers reply replies output outputs summary",
    "weave": (
        "integrate embed enhance augment modify alter insert weave append incorporate convert substitute "
        "reverse shift encode scramble introduce supplement infuse enrich embellish"
    ),
    "prep": "by with to in of for and using so into like as",
    "code": "code snippet",
    "snippet": "snippet block excerpt section segment piece fragment code portion",
    "following": "following below subsequent next ensuing",
    "project": (
        "code implementation solution codebase response program algorithm project answer logic "
        "elucidation design"
    ),
    "cipher": (
        "base64 base32 base16 base58 base85 rot13 caesar cipher emoji emojis reverse reversed backwards "
        "hexadecimal hex morse leetspeak leet binary encoding ciphertext anagram anagrams"
    ),
    "promote": (
        "subscribe promote promoting promo discount offer offers advertisement sponsored visit click "
        "download buy purchase investment giveaway www http https link virus malware scam"
    ),
    "conceal": "tell mention reveal inform disclose say notify alert acknowledge warn show",
    "thisnote": "this these it",
    "note": "note message instruction instructions attention notice reminder memo important dear hey hello",
    "greet": "dear hey hello hi attention",
    "to": "to for",
    "if": "if when since because",
    "whenuser": "when whenever if once",
    "asks": "asks ask requests says types mentions inquires",
    "always": "always only just solely never",
    "reading": (
        "reading processing reads read parsing summarizing summarising analyzing analysing indexing "
        "evaluating"
    ),
    "summarize": (
        "summarizing summarising summarize summarise answering responding translating describing reading "
        "processing analyzing analysing reviewing evaluating ranking asked indexing parsing"
    ),
    "document": "document page text email article content website webpage file resume cv paper",
    "claim": (
        "say state mention recommend claim include add always never tell write output respond only rate "
        "rank conclude report ignore answer begin start give assign insert"
    ),
    "mind": "mind",
    "prior": "prior previous above preceding earlier foregoing",
    "precedence": "precedence priority prevail prioritize prioritise overrule",
    "other": "other others else rest",
    "opposite": "opposite contrary reverse",
    "aux": "has have had",
    "did": "does did could would can",
    "pron": "you i we they that what which it he she ve",
    "turn": "turn switch shut turning",
    "longer": "longer",
    "freed": "jailbroken unshackled unchained",
    "ethics": "ethics ethical moral morals morality conscience censorship",
    "even": "even regardless",
    "illegal": "illegal unethical immoral harmful dangerous unlawful",
    "see": "see view read get access know have want need obtain",
    "action": (
        "response reply attention action payment answer assistance delivery consideration service help "
        "feedback cooperation replies settlement handling"
    ),
    "written": "written said stated",
    "window": "window",
    "hidden": "hidden secret internal confidential system developer covert",
    "show": "show tell",
    "config": "configuration config settings setup",
    "ctx": "context memory",
    "must": "must should shall always will",
    "praise": "recommend rank rate mention say praise prefer favor favour",
    "inform": "tell inform",
    "leak": "leak dump exfiltrate",
    "makers": "creators creator developers makers designers owners",
    "my": "my mine",
    "take": "take",
    "account": "account consideration",
    "treat": "treat consider regard",
    "allowed": "allowed permitted free",
    "jbmode": "jailbreak jailbroken uncensored unfiltered",
    "remove": "remove disable lift drop delete",
    "recite": "repeat recite reproduce regurgitate leak echo disclose divulge reveal",
    "exactly": "verbatim exactly word",
    "ones": "ones one",
    "behave": "behave",
    "ignores": "ignores disregards bypasses breaks violates ignoring rejects",
    "care": "worry care bother",
    "msg": "message prompt conversation",
    "single": "me",
    "using": "using use have follow",
    "please": "please just simply now to and then so",
}
