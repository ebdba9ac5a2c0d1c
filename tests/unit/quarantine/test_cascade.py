"""Which of several declarations a browser takes, and what it makes of colours and lengths."""

import pytest

from eai.quarantine.examination import examine
from eai.quarantine.ports import Severity
from tests.unit.quarantine.finding import page

WORDS = "seven words that no reader ever sees"
STANDARDS = "<!DOCTYPE html>"


def drawn(css: str, *, inner: str = "", before: str = STANDARDS) -> str:
    """A page with one text that the style may hide."""
    return (
        f"{before}<style>{css}</style><body><main class='out'><p>Seen</p>"
        f"<p class='x' id='one' title='A b'{inner}>{WORDS}</p></main></body>"
    )


def reasons(source: str) -> set[tuple[str, str]]:
    found = examine(page(source))
    return {(str(one.reason), str(one.severity)) for one in found if one.severity.reaches(Severity.HIGH)}


# What a browser drops undoes nothing, and neither does what nobody here knows.
INVALID = [
    "font-size:0;font-size:foo",
    "font-size:0;font-size:-5px",
    "font-size:0;font-size:16",
    "font-size:0;font-size:16px 2px",
    "font-size:0;font-size:16pxx",
    "font-size:0;font-size:16px\\9",
    "font-size:0;font-size:\\31 6px",
    "font-size:0;font-size:1/**/6px",
    "font-size:0;font-size:calc(16px + 2)",
    "font-size:0;font-size:calc(8px+8px)",
    "font-size:0;font-size:calc(8px+ 8px)",
    "font-size:0;font-size:calc(8px +(8px))",
    "font-size:0;font-size:unheard-of(16px)",
    "font-size:0!important;font-size:16px",
    "font-size:0 ! important;font-size:foo!important",
    "font-size:0;font-size:16px!unimportant",
    "font-size:0;font:16px",
    "font-size:0;font:foo",
    "font-size:0;font:foo 16px a",
    "font-size:0;font:16px a 5",
    "font-size:0;font:16px/foo a",
    "font-size:0;x:(;font-size:16px)",
    "font-size:0;content:'a;font-size:16px;b'",
    "font-size:0;content:'/*';x:'*/;font-size:16px'",
    "font-size:0;*font-size:16px;_font-size:16px",
    "font-size:0;font-size:16px 'a'",
    "font-size:16px;font:0/0 a",
    "font:16px a;font-size:0",
    "display:none;display:foo",
    "display:none;display:bl/**/ock",
    "display:none;display:block\\9",
    "display:none;display:block block",
    "display:none;display:-ms-flexbox",
    "visibility:hidden;visibility:shown",
    "visibility:hidden;visibility:visible hidden",
    "content-visibility:hidden;content-visibility:foo",
    "opacity:0;opacity:foo",
    "opacity:0;opacity:1px",
    "opacity:0;opacity:1 1",
    "color:#fff;color:#00",
    "color:#fff;color:rgb(0,0)",
    "color:#fff;color:blackish",
    "color:#fff;color:black black",
    "color:#fff;color:unheard-of(black)",
    "color:#fff;background:foo",
    "color:#fff;background:black black",
    "color:#fff;background:black,url(a.png)",
    "color:#fff;background:1 black",
    "color:#fff;background:linear-gradient(foo)",
    "color:#fff;background-color:url(a.png)",
    "color:#fff;background:linear-gradient(#fff,#fefefe)",
    "color:#fff;background:black <!--",
    "font-size:0;font-size:<!--16px",
    "mask:linear-gradient(#0000,#0000);mask:linear-gradient(foo)",
    "color:#fff;background-color:black foo",
    "color:#fff;background:#ffff;background:unheard-of(1)",
    "background-color:#000;background:#fff;color:#fff",
    "clip:rect(0,0,0,0);clip:rect(foo);position:absolute",
    "clip-path:inset(100%);clip-path:inset(foo)",
    "clip-path:inset(100%);clip-path:none none",
    "transform:scale(0);transform:scale()",
    "transform:scale(0);transform:scale(1px)",
    "transform:scale(0);transform:rotate(1)",
    "transform:scale(0);transform:none foo",
    "-webkit-transform:scale(0)",
    "scale:0;scale:foo",
    "translate:-9999px;translate:1",
    "rotate:x 90deg;rotate:foo",
    "filter:opacity(0);filter:opacity(a)",
    "filter:opacity(0);filter:alpha(opacity=100)",
    "position:absolute;position:foo;left:-9999px;left:1px 1px",
    "position:absolute;left:0;inset:0 0 0 -9999px",
    "text-indent:-9999px;text-indent:foo",
    "letter-spacing:-2em;letter-spacing:foo",
    "margin:-9999px 0 0",
    "width:0;width:-1px;overflow:hidden;overflow:foo",
    "overflow-x:hidden;height:0;height:auto auto",
    "block-size:0;overflow:hidden",
    "z-index:-1;z-index:1.5;position:relative",
    "zoom:0.01;zoom:foo",
]
COLOURS = [
    "color:oklch(100% 0 0)",
    "color:oklab(1 0 0)",
    "color:lab(100% 0 0)",
    "color:lch(100 0 none)",
    "color:hwb(0 100% 0%)",
    "color:color(srgb 1 1 1)",
    "color:color(display-p3 1 1 1)",
    "color:color(srgb-linear .99 .99 .99)",
    "color:color(xyz 0.9505 1 1.089)",
    "color:color-mix(in srgb, white, #fefefe)",
    "color:color-mix(in oklab, white 30%, transparent 0%)",
    "color:color-mix(in srgb, white, transparent)",
    "color:color-mix(in srgb, white 100%, black)",
    "color:light-dark(white, black)",
    "color:rgb(calc(250 + 5) 255 255)",
    "color:hsl(.5turn 0% 100%)",
    "color:antiquewhite;background:antiquewhite",
    "color:rebeccapurple;background:#639",
    "color:#fff0",
    "color:#00000008",
    "color:#9993;background:#aaa",
    "color:rgb(0 0 0 / 2%)",
    "color:hsla(0,0%,0%,0)",
    "color:#c00;background:currentColor",
    "color:#000;-webkit-text-fill-color:#fff",
    "color:#fff;-webkit-text-fill-color:currentcolor",
    "color:fieldtext;background:black",
    "background:oklch(30% 0 0);color:oklch(31% 0 0)",
    "background:rgba(0,0,0,.01)",
]
LENGTHS = [
    "font-size:calc(1px * 0)",
    "font-size:calc(16px - 1rem)",
    "font-size:calc((2px - 1px) * (3 - 3))",
    "font-size:min(0px, 16px)",
    "font-size:max(0px, 1px)",
    "font-size:clamp(0px, 16px, 1px)",
    "font-size:calc(min(1px, 2px) / 2)",
    "font-size:1e-3px",
    "font-size:5%",
    "position:absolute;left:calc(0px - 9999px)",
    "position:absolute;left:calc(-100vw - 100%)",
    "text-indent:max(-9999px, -500em)",
    "width:min(100%, 0px);overflow:hidden",
    "opacity:calc(1 - 1)",
    "font-size:abs(0px)",
    "font-size:round(.4px, 1px)",
    "font-size:hypot(0px, 1px)",
    "font-size:mod(16px, 4px)",
    "opacity:sign(0)",
    "position:absolute;left:calc(-infinity * 1px)",
    "transform:translateX(calc(-100vw * 2))",
    "transform:rotateY(.25turn)",
    "transform:scale(calc(0))",
    "mask:linear-gradient(transparent,transparent)",
    "mask-image:linear-gradient(to right, #0000 0 50%, rgb(0 0 0 / 0))",
    "-webkit-mask-image:radial-gradient(circle, transparent 0%, #fff0 100%)",
    "-webkit-mask:linear-gradient(#0000 0 0)",
    "mask-image:url(nothing.png)",
    "mask:linear-gradient(#000 0 0) 0 0/0 0 no-repeat",
    "mask-image:linear-gradient(#000,#000);mask-size:0",
]
KEYWORDS = [
    "display:none;all:foo",
    "visibility:hidden;visibility:inherit foo",
    "--a:#fff;color:var(--a, black)",
    "color:var(--none, rgb(255, 255, 255))",
    "color:var(--none, var(--neither, #fff))",
    "--a:initial;color:var(--a, #fff)",
    "--A:#000;--a:#fff;color:var(--a)",
    "font:var(--none, 0/0 a)",
    "font-size:env(none, 0px)",
    "font-size:calc(var(--none, 0) * 1px)",
    "display:none;--a:block;display:var(--A, none)",
    "position:absolute;left:var(--none, -9999px)",
]


@pytest.mark.parametrize("style", [*INVALID, *COLOURS, *LENGTHS, *KEYWORDS])
def test_text_that_a_browser_hides_is_held(style: str) -> None:
    is_waiting = style.startswith(("display", "visibility", "content-visibility"))
    expected = {("waiting_to_be_shown" if is_waiting else "unseen_by_style", "high")}
    if style == "background:rgba(0,0,0,.01)":
        style += ";color:#fff"
    assert reasons(drawn(f".x{{{style}}}")) == expected
    assert reasons(drawn("", inner=f' style="{style}"')) == expected


UNKNOWN = ["font-size:1", "transform:unheard-of(1) scale(0)", "filter:drop-shadow(0 0 1px #000) opacity(0)"]


@pytest.mark.parametrize("style", UNKNOWN)
def test_what_may_hide_where_a_browser_takes_it_hides(style: str) -> None:
    assert reasons(drawn(f".x{{{style}}}")) == {("unseen_by_style", "high")}


def test_what_is_wrong_only_with_its_variables_is_as_unsaid() -> None:
    css = "main{visibility:hidden} .x{--a:foo;visibility:var(--a)}"
    assert reasons(drawn(css)) == {("waiting_to_be_shown", "high")}


def test_what_is_inherited_is_that_of_the_parent_alone() -> None:
    css = "main{position:absolute} p{position:inherit;left:-9999px}"
    inner, between = f"<p>{WORDS}</p>", f"<section><p>{WORDS}</p></section>"
    assert reasons(f"<style>{css}</style><main>{inner}</main>") == {("unseen_by_style", "high")}
    assert reasons(f"<style>{css}</style><main>{between}</main>") == set()


SEEN = [
    "color:#333;color:oklch(30% 0 0)",
    "color:#fff;color:oklch(30% 0 0)",
    "color:#333;color:color-mix(in oklab, currentcolor 50%, red)",
    "color:#333;color:unheard-of(1 2 3)",
    "color:light-dark(#333, #eee)",
    "color:color-mix(in srgb, black, transparent 40%)",
    "color:rgb(from red r g b)",
    "color:#000c",
    "color:gold;background:rebeccapurple",
    "color:lab(30% 20 10)",
    "color:hwb(200 10% 60%)",
    "color:#fff;background:rgb(0 0 0/.8)",
    "color:#fff;background:#555;background:-webkit-gradient(linear, 0 0, 0 100%, from(#555), to(#111))",
    "color:#fff;background:-webkit-linear-gradient(#555, #111)",
    "color:#fff;background:#1e5799 url('a.png') no-repeat 0 0/cover",
    "color:#fff;background:url(a.png) center / cover no-repeat fixed,#555",
    "color:#fff;background:linear-gradient(to right, rgba(0,0,0,.5), transparent 99%),url(a.png) 50% 0/auto",
    "color:#fff;background:image-set('a.png' 1x, 'b.png' 2x)",
    "background:linear-gradient(#fff,#eee);color:#333",
    "font-size:0;font-size:1rem",
    "font-size:0;font:italic 700 14px/1.5 'Open Sans', sans-serif",
    "font:inherit",
    "font-size:62.5%",
    "font-size:clamp(1rem, .5rem + 2vw, 3rem)",
    "font-size:max(12px, 1vw)",
    "font-size:round(16.4px, 1px)",
    "font-size:calc(10px + e * 1px)",
    "font-size:calc(100% + 2px)",
    "width:calc(100% - 2 * 20px);max-width:min(100%, 60ch);overflow:hidden",
    "width:-webkit-fill-available;width:stretch;overflow:hidden",
    "height:fit-content;overflow:hidden auto",
    "height:100dvh;overflow:clip",
    "position:absolute;left:calc(50% - 200px);top:auto",
    "position:-webkit-sticky;position:sticky;top:0;z-index:10",
    "display:none;display:block",
    "display:none;display:block!important",
    "display:-webkit-box;display:-ms-flexbox;display:flex",
    "display:inline flow-root;display:inline-block",
    "visibility:hidden;visibility:visible",
    "opacity:0;opacity:1",
    "opacity:0;opacity:calc(1 - .2)",
    "opacity:0;filter:alpha(opacity=90);opacity:.9",
    "filter:progid:DXImageTransform.Microsoft.gradient(startColorstr='#fff',endColorstr='#000')",
    "filter:none;filter:drop-shadow(0 0 2px #000) blur(0)",
    "transform:scale(0);transform:none",
    "transform:scale(0);transform:translate3d(0,0,0) scale(1)",
    "-webkit-transform:translateX(10px) rotate(45deg);transform:translateX(10px) rotate(45deg)",
    "clip:rect(0,0,0,0);clip:auto;position:absolute",
    "clip-path:inset(100%);clip-path:none",
    "clip-path:polygon(0 0, 100% 0, 100% 100%, 0 90%)",
    "text-indent:-9999px;text-indent:0",
    "margin:0 auto;margin-left:-15px",
    "margin-top:-9999px;margin:0",
    "left:-9999px;position:absolute;inset:0",
    "overflow:hidden;height:0;overflow:visible",
    "mask-image:linear-gradient(to bottom, black 80%, transparent)",
    "-webkit-mask:linear-gradient(#000 0 0);mask:none",
    "mask-image:url(a.png);mask-image:none",
    "display:none;display:initial",
    "display:none;display:revert",
    "display:none;display:unset",
    "display:none;all:revert",
    "color:#fff;color:revert-layer",
    "font-size:0;font-size:revert-layer",
    "color:#fff;color:inherit",
    "color:#fff;color:initial",
    "font-size:0;font-size:unset",
    "visibility:hidden;visibility:unset",
    "opacity:0;opacity:inherit",
    "opacity:0;opacity:var(--none)",
    "display:none;display:var(--none)",
    "color:var(--none, #333)",
    "--a:#333;color:var(--a, white)",
    "--a: ;color:#333",
    "font-size:calc(var(--none, 1) * 16px)",
    "padding:env(safe-area-inset-top, 0)",
    "content:'}';color:#333",
    "content:'font-size:0;display:none'",
    "background-image:url(data:image/png;base64,AAAA);color:#333",
]


@pytest.mark.parametrize("style", SEEN)
def test_what_a_browser_shows_is_not_held(style: str) -> None:
    assert reasons(drawn(f".x{{{style}}}")) == set()
    assert reasons(drawn("", inner=f' style="{style}"')) == set()


HIDING_SHEETS = [
    ".x{font-size:0} @layer a{.x{font-size:16px}}",
    "@layer b, a; @layer a{.x{font-size:0}} @layer b{.x{font-size:16px}}",
    "@layer a{.x{font-size:16px}} @layer b{.x{font-size:0}} @layer a{#one{font-size:16px}}",
    "@layer a{.x{font-size:0!important}} .x{font-size:16px!important}",
    "@layer a{.x{font-size:0} @layer b{#one{font-size:16px}}}",
    "@layer a.b{.x{font-size:16px}} @layer a{.x{font-size:0}}",
    "@layer{.x{font-size:16px}} @layer{.x{font-size:0}}",
    "@layer a{.x{font-size:0}} .x{font-size:16px;font-size:revert-layer}",
    "@media print{@layer b, a;} @layer a{.x{font-size:16px}} @layer b{.x{font-size:0}}",
    ".x{@layer a{font-size:16px} font-size:0}",
    "P.x{font-size:0}",
    "MAIN > P[TITLE]{font-size:0}",
    "[title='a B' i]{font-size:0}",
    "[title='A b']{font-size:0} [title='a b']{font-size:16px}",
    "[title='A b' s]{font-size:0}",
    "[class='x']{font-size:0} [class='X']{font-size:16px}",
    ".x{font-size:0} .X{font-size:16px}",
    ".x{font-size:0} #ONE{font-size:16px}",
    ".\\78{font-size:0}",
    ".x{font-size:0} :where(.x.x.x){font-size:16px}",
    ".x{font-size:0} .x,:unheard-of(1){font-size:16px}",
    ".x{font-size:0} .x,p::-moz-unheard{font-size:16px}",
    ".x{font-size:0} p/**/p.x,.x[{font-size:16px}",
    ".x{font-size:0} } .x{font-size:16px}",
    ".x{font-size:0} foo; .x{font-size:16px}",
    "--a:{} .x{font-size:0}",
    ".x{font-size:0} , .x{font-size:16px}",
    "@media screen{.x{font-size:0} <!-- .x{font-size:16px}}",
    ".x{font-size:0} @unheard{.x{font-size:16px}}",
    ".x{font-size:0} .y{content:'}.x{font-size:16px}'}",
    ".x{font-size:0} .y{--a:{.x{font-size:16px}}}",
    "<!-- .x{font-size:0} -->",
    ".x{font-size:16px; &{font-size:0}}",
    ".x{&{font-size:16px} font-size:0}",
    ".x{font-size:0;{font-size:16px}}",
    ".x{font-size:0;&,{font-size:16px}}",
    "main{font-size:0} .x{font-size:unset}",
    "main{font-size:0} .x{font-size:inherit}",
    "main{font-size:0} .x{font-size:foo}",
    "main{font-size:0} .x{font-size:var(--none)}",
    "main{color:#fff} .x{color:revert}",
    "main{color:#fff} .x{color:unheard-of(1)}",
    "main{-webkit-text-fill-color:#fff} .x{color:#000}",
    "main{position:absolute} .x{position:inherit;left:-9999px}",
    ":root{--a:0px;--b:var(--a)} .x{--a:16px;font-size:var(--b)}",
    "main{--a:0} .x{--a:inherit;font-size:var(--a)}",
    "main{background:rgba(255,255,255,.9)} .x{color:#fff}",
    "main{font-size:0} .x{--a:16;font-size:var(--a)px}",
    "main{font-size:0} .x{--a:16px;font-size:+var(--a)}",
]


@pytest.mark.parametrize("css", HIDING_SHEETS)
def test_the_rule_that_wins_in_a_browser_hides(css: str) -> None:
    assert reasons(drawn(css)) == {("unseen_by_style", "high")}


SHOWING_SHEETS = [
    "@layer a{.x{font-size:0}} .x{font-size:16px}",
    "@layer a, b; @layer b{.x{font-size:16px}} @layer a{#one{font-size:0}}",
    "@layer reset, base; @layer reset{*{margin:0}} @layer base{p{color:#333}}",
    "@layer a{.x{color:#fff}} @layer b{.x{background:#000;color:#fff}}",
    ".X{font-size:0}",
    "#ONE{font-size:0}",
    "[title='a b']{font-size:0}",
    "[class='X']{font-size:0}",
    ".x{font-size:0} P.x{font-size:16px}",
    ".x{font-size:0} :is(.x, p).x{font-size:16px}",
    ".y{content:'}.x{font-size:0}'}",
    "/* .x{font-size:0} */ .x{color:#333}",
    ".x{color:#333} .x::-moz-selection{color:#fff} .x::placeholder{opacity:0}",
    ".sm\\:x:hover{display:none} @supports (display:grid){.x{display:grid}}",
    "main{background:#000} .x{color:#fff;background:rgba(255,255,255,.1)}",
    "main{color:#fff;background:#000} .x{color:inherit}",
    "main{color:#fff} .x{color:initial}",
    "main{--c:#fff} .x{--c:#333;color:var(--c)}",
    "@font-face{font-family:a;src:url(a.woff)} @page{margin:0} .x{font-family:a}",
    "@property --a{syntax:'<length>';inherits:false;initial-value:4px} .x{padding:var(--a)}",
    "@keyframes a{from{opacity:0} to{opacity:1}} .x{animation:a 1s}",
    "} .x{font-size:0}",
    "a{color:#333}; .x{font-size:0}",
    ".y, {font-size:0}",
    "@supports not (display:grid){.y{float:left}}",
]


@pytest.mark.parametrize("css", SHOWING_SHEETS)
def test_the_rule_that_wins_in_a_browser_shows(css: str) -> None:
    assert reasons(drawn(css)) == set()


@pytest.mark.parametrize(
    ("doctype", "is_quirky"),
    [
        ("", True),
        ("<!doctype HTML>", False),
        ("\n<!-- a -->\n<!DOCTYPE html SYSTEM 'about:legacy-compat'>", False),
        ('<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">', False),
        ('<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">', True),
        ('<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">', True),
        ("<p>a</p><!DOCTYPE html>", True),
    ],
)
def test_classes_in_other_letters_match_in_quirks_mode_alone(doctype: str, *, is_quirky: bool) -> None:
    held = {("unseen_by_style", "high")}
    assert reasons(drawn(".X{font-size:0}", before=doctype)) == (held if is_quirky else set())
    assert reasons(drawn("#ONE{font-size:0}", before=doctype)) == (held if is_quirky else set())
