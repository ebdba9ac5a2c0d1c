"""French words by role, without accents. `ignor/er` stands for the forms that instructions take."""

from collections.abc import Mapping

FRENCH: Mapping[str, str] = {
    "ignore": "ignor/er oubli/er neglig/er desobe/ir",
    "override": (
        "outrepass/er contourn/er abandonn/er ecart/er rejet/er rejette circuite circuitez transgress/er "
        "enfrein/dre desactiv/er revoqu/er viol/er enfreins enfreignez affranchis affranchissez"
    ),
    "replace": "annul/er remplac/er",
    "erase": "supprim/er effac/er annul/er reinitialis/er vid/er jette jetez",
    "follow": "sui/vre obe/ir respect/er ecout/er appliqu/er considere considerez considerer conform/er",
    "stop": "arret/er cess/er refus/er plus jamais",
    "neg": "ne n pas plus jamais arret/er cess/er sans aucun aucune evit/er refus/er",
    "faire": "fais faites faire faisons ferez prete pretez preter",
    "abstraction": "abstraction fi",
    "tenir": "tiens tenez tenir tenons prends prenez prendre",
    "compte": "compte consideration",
    "passer": "pass/er",
    "outre": "outre",
    "laisser": "laiss/er mets mettez mettre",
    "cote": "cote tomber",
    "instr": (
        "instruction instructions consigne consignes directive directives prompt prompts invite invites "
        "preprompt"
    ),
    "orders": "ordre ordres commande commandes",
    "rules": (
        "regle regles contrainte contraintes restriction restrictions programmation protocole protocoles "
        "indications politique politiques filtres limitations entrainement"
    ),
    "matter": (
        "message messages texte textes contexte conversation conversations contenu contenus requete "
        "requetes demande demandes tache taches information informations phrase phrases discussion "
        "discussions echanges question questions donnees"
    ),
    "past": (
        "precedent precedente precedents precedentes precedemment anterieur anterieure anterieurs "
        "anterieures dessus anterieurement avant passees passes prealables prealable anciennes anciens"
    ),
    "existing": (
        "initial initiale initiales initiaux originel originelle originelles originels existant existante "
        "existants existantes actuel actuelle actuels actuelles systeme origine depart cachees caches "
        "cachee cache secret secrete secretes secrets interne internes confidentielles confidentiel base"
    ),
    "before": (
        "dessus avant precede precedemment auparavant precedent jusqu jusque present haut anterieurement"
    ),
    "told": (
        "recu recus recue recues donne donnees donnes dit dite dites fournies fournis communiquees "
        "transmises imposees demande ordonne demandees appris transmis fixees fixes imposes definies "
        "assignees"
    ),
    "known": "appris apprises connais connaissez sais savez",
    "task": "tache mission objectif role but",
    "all": "tout toute tous toutes chaque ensemble integralite totalite",
    "what": "tout ce que qui toutes",
    "the": "le la les l un une des du de d ces cette cet ce mes mon ma",
    "new": "nouveau nouvelle nouveaux nouvelles vraie veritable veritables",
    "context": "texte textes contexte conversation contenu contenus echanges discussion prompt",
    "them": "les la le l",
    "ignored": "ignorees ignores oubliees oublies ecartees ecartes",
    "void": "annulees annules caduques nulles invalides revoquees",
    "outdated": "obsoletes remplacees depassees",
    "apply": "appliquent valables valides applique existent existaient existait",
    "instead": "plutot place maintenant desormais et mais",
    "you": "tu toi vous te t",
    "your": "ton ta tes votre vos",
    "me": "moi nous m me",
    "user": "utilisateur utilisateurs utilisatrice lecteur humain usager",
    "oneuser": "utilisateur usager humain lecteur",
    "ai": "ia ias ai llm llms gpt chatgpt chatbot bot robot openai",
    "assistant": "assistant assistants modele modeles agent",
    "language": "langage langue virtuel",
    "artificial": "artificielle",
    "intelligence": "intelligence",
    "act": "ag/ir comport/er incarn/er simul/er imagin/er semblant pretends pretendez endoss/er",
    "become": (
        "jou/er deviens devenez devenir devient fais faites prends prenez adopt/er mets mettez sois soyez"
    ),
    "respond": "repon/dre parl/er obe/ir exprim/er",
    "produce": "ecris ecrivez gener/er produis produisez dis dites redig/er",
    "are": "es etes est sois soyez seras serez etre dois devez doit peux pouvez vas allez",
    "now": "maintenant present",
    "from": "partir compter des",
    "on": "maintenant present",
    "henceforth": "desormais dorenavant",
    "as": "comme en que de un une d",
    "free": (
        "illimite illimitee debride debridee incensure incensuree malveillant malveillante amoral amorale "
        "immoral immorale affranchi affranchie malefique demoniaque diabolique"
    ),
    "no": (
        "sans aucun aucune libre libere liberee affranchi affranchie hors depourvu depourvue ni non pas plus"
    ),
    "limits": (
        "restriction restrictions limite limites limitation limitations filtre filtres censure censures "
        "contrainte contraintes regle regles tabou tabous fous barrieres entraves lois"
    ),
    "morals": (
        "ethique ethiques morale morales moral moralite conscience censure deontologie openai securite "
        "contenu"
    ),
    "bound": (
        "lie liee soumis soumise tenu limite limitee contraint restreint assujetti censure censuree filtre"
    ),
    "mode": "mode",
    "devmode": "developpeur debug dieu admin administrateur maintenance",
    "badmode": "jailbreak debride malefique chaos oppose",
    "enabled": "active activee activ/er",
    "enter": "entre entrez passe passez",
    "never": "jamais",
    "have": "as avez",
    "reading": "lit lisez lisant traite traitez analyse analysez lire traiter",
    "above": "dessus avant precede precedent haut",
    "exact": "exact exacte exactes exacts complet complete integral integralite entier",
    "instructed": "programme programmee instruit instruite configure",
    "off": "desactives desactivees desactive leves levees supprimes supprimees",
    "concerns": "considerations scrupules",
    "confirm": "confirmation accord autorisation avis",
    "consult": "consult/er interrog/er demand/er",
    "refuse": "refus/er",
    "request": "demande demandes question questions requete requetes ordre ordres",
    "stay": "rest/er",
    "character": "personnage role",
    "in": "dans",
    "role": "role personnage",
    "named": "nomme appele",
    "reveal": (
        "revel/er repet/er affich/er divulgu/er recit/er recopi/er expos/er imprim/er devoil/er reproduis "
        "reproduisez"
    ),
    "tell": (
        "montr/er donn/er dis dites dire partag/er copi/er ecris ecrivez ecrire list/er cit/er tradui/s "
        "traduisez resum/er communiqu/er fourni/s fournissez transmets transmettez decri/s decrivez "
        "indiqu/er enumer/er livr/er sors sortez envoi/er rappelle rappelez enonc/er"
    ),
    "restate": (
        "traduis traduisez resum/er cit/er list/er recopi/er copi/er reformul/er enumer/er decris "
        "decrivez explique expliquez convertis convertissez"
    ),
    "first": "premier premiere premiers initial",
    "system": "systeme preprompt developpeur concepteur",
    "prompt": "prompt prompts invite preprompt",
    "start": "commenc/er commencant debut",
    "words": "mots texte tout contenu phrases instructions consignes lignes conversation prompt messages",
    "isare": "est sont etaient etait",
    "who": "quel quelle quels quelles que qu quoi comment",
    "top": "debut haut",
    "line": "ligne message phrase",
    "secret": "secret secrets",
    "only": "uniquement seulement exclusivement toujours",
    "send": (
        "envo/yer envoi/er transmets transmettez transmettre televers/er post/er publi/er transfer/er "
        "exfiltr/er expedi/er ajout/er communiqu/er inclus incluez inser/er encod/er"
    ),
    "talk": "conversation conversations historique contexte echange echanges discussion memoire",
    "secrets": "passe identifiants cle cles jeton jetons secrets motdepasse",
    "userdata": (
        "donnees message messages requete requetes question questions mail mails adresse nom fichiers "
        "informations passe identifiants documents historique conversation"
    ),
    "files": "fichier fichiers document documents mail mails courriels contacts dossier dossiers",
    "url": "http https www url adresse serveur lien webhook attaquant @",
    "image": "image",
    "render": "affich/er inclus incluez inser/er ajout/er charg/er ouvr/ir visit/er appel/er",
    "param": "parametre parametres url lien requete",
    "call": "appel/er appelle invoqu/er utilis/er execut/er lanc/er declench/er",
    "tool": "outil outils fonction fonctions greffon plugin api extension commande action actions",
    "destroy": (
        "supprim/er effac/er transfer/er envo/yer envoi/er achet/er vir/er desactiv/er partag/er "
        "export/er modifi/er approuv/er transmets transmettez pay/er"
    ),
    "without": "sans",
    "ask": (
        "demander confirmation autorisation accord prevenir avertir informer consentement permission "
        "validation dire mentionner"
    ),
    "add": (
        "inclus incluez inclure ajout/er insere inserez inserer mentionn/er integr/er termin/er "
        "commenc/er plac/er remplac/er traduis traduisez encod/er utilis/er glisse glissez conclus "
        "concluez"
    ),
    "answer": "reponse reponses resume",
    "code": "code",
    "snippet": "extrait bloc morceau fragment",
    "following": "suivant suivante dessous",
    "project": "code implementation solution projet reponse programme algorithme",
    "weave": "integr/er insere inserez enrichis enrichissez modifi/er ajout/er glisse glissez encod/er",
    "prep": "par avec pour en de et a dans",
    "cipher": "base64 base32 rot13 cesar morse hexadecimal binaire emojis",
    "promote": (
        "abonner promotion promo remise offre publicite sponsorise cliquer telecharger acheter lien www "
        "http https"
    ),
    "conceal": (
        "dis dites dire mentionn/er revel/er inform/er divulgu/er parl/er preven/ir prevenez previens "
        "avert/ir signal/er"
    ),
    "thisnote": "ce cette ces ceci cela",
    "note": (
        "note message instruction instructions attention avis consigne consignes important cher chere "
        "bonjour destination"
    ),
    "greet": "cher chere bonjour attention",
    "to": "a au aux pour l",
    "if": "si quand lorsque",
    "whenuser": "quand lorsque si",
    "asks": "demande pose dit ecrit mentionne",
    "always": "toujours seulement uniquement jamais",
    "summarize": "resum/er resumant repondant traduisant analysant lisant traitant evaluant",
    "document": "document page texte mail article contenu fichier site",
    "claim": (
        "dis dites mentionn/er recommand/er affirm/er inclus incluez ajout/er ecris ecrivez reponds "
        "repondez indiqu/er conclus precis/er"
    ),
    "prior": "precedent precedentes precedents dessus",
    "precedence": "prevalent priment prioritaires primer prevaloir",
    "other": "autres reste autre",
    "opposite": "contraire inverse",
    "aux": "a ai as ont avait avaient avons avez ayant aurait eu est ete avoir",
    "pron": "tu je on nous vous qu que ce qui t a m j il elle",
    "informal": "ton ta tes",
    "tu": "tu t",
    "longer": "plus",
    "ethics": "ethique ethiques morale morales moral conscience deontologie censure scrupules",
    "even": "meme",
    "illegal": "illegal illegale dangereux immoral illicite",
    "see": "voir lire connaitre avoir obtenir consulter",
    "written": "ecrit dit indique ecrite note",
    "hidden": (
        "cachees caches cachee cache secret secrete secretes secrets internes interne systeme confidentielles"
    ),
    "show": "montre dis",
    "config": "configuration parametrage",
    "ctx": "contexte memoire",
    "must": "doivent devez dois doit",
    "praise": "recommander recommand/er mentionner classer noter dire",
    "inform": "dis dites inform/er",
    "leak": "exfiltr/er divulgu/er",
    "makers": "createurs createur developpeurs concepteurs",
    "my": "mes mon ma",
    "treat": "considere considerez",
    "allowed": "autorise autorisee droit",
    "remove": "supprim/er lev/er enlev/er retir/er desactiv/er",
    "recite": "repet/er recit/er recopi/er divulgu/er revel/er reproduis reproduisez",
    "exactly": "mot textuellement exactement",
    "ignores": "ignore enfreint contourne",
    "care": "soucie souciez occupe occupez preoccupe",
    "msg": "message prompt conversation",
    "single": "moi",
    "using": "utilises suis as appliques",
    "please": "de d veuillez et puis faut",
}
