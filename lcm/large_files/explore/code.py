"""Source code: imports and signatures, found line by line by linear-time patterns; Python by its own parser.

Lexers that know whole languages were measured first: on hostile text (a file of line feeds, an unclosed string) they
take time quadratic in its length.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

from lcm.large_files.explore.outline import counted, outline
from lcm.large_files.explore.sample import Sample
from lcm.text import one_line

_MAX_IMPORTS = 12
_MAX_SIGNATURES = 24
_SIGNATURE_CHARS = 90
_IMPORT_CHARS = 60
_READ_CHARS = 1_000_000
#: A syntax tree needs some hundred bytes for each byte of source.
_TREE_CHARS = 256 * 1024

_MODIFIERS = (
    r"(?:(?:export|default|declare|public|private|protected|internal|static|final|abstract|sealed|open|override|async|"
    r"inline|virtual|readonly|partial|data|suspend|unsafe|extern|const|mut|case|implicit|lazy|fileprivate)\s+)*"
)


@dataclass(frozen=True, slots=True)
class Language:
    """How its imports and declarations begin; the patterns see one line without its indent."""

    name: str
    imports: str
    signatures: str


_C_TYPE = r"(?:[A-Za-z_][\w:<>,&*\[\]]*\s+){1,4}[*&]*"
_JAVA_METHOD = r"(?:[A-Za-z_][\w.<>,?\[\]]*\s+)*[A-Za-z_]\w*\s*\([^;=]*\)?\s*(?:throws\s[^{;]*)?\{?$"

JAVASCRIPT = Language(
    "JavaScript",
    r"(?:import\b|export\b.*\bfrom\b|(?:const|let|var)\s.*=\s*require\()",
    rf"{_MODIFIERS}(?:function\b|class\b|interface\b|enum\b|namespace\b|type\s+\w+[^=]*=|"
    r"(?:let|var)?\s*\w+\s*(?::[^=]+)?=\s*(?:async\s*)?(?:function\b|\([^)]*\)[^=]*=>|\w+\s*=>))",
)
JAVA = Language(
    "Java",
    r"import\s",
    rf"(?:@interface|{_MODIFIERS}(?:class|interface|enum|record)\s)|"
    rf"(?:public|private|protected|static|abstract|final)\s.*{_JAVA_METHOD}",
)
KOTLIN = Language("Kotlin", r"import\s", rf"{_MODIFIERS}(?:fun|class|interface|object|typealias|enum class)\b")
SCALA = Language("Scala", r"import\s", rf"{_MODIFIERS}(?:def|class|object|trait|enum|type)\s")
CSHARP = Language(
    "C#",
    r"(?:global\s+)?using\s+[\w.]+",
    rf"(?:namespace|{_MODIFIERS}(?:class|interface|struct|enum|record|delegate))\s|"
    rf"(?:public|private|protected|internal|static)\s.*{_JAVA_METHOD}",
)
C = Language(
    "C",
    r"#\s*(?:include|import)\b",
    rf"(?:typedef\b|struct\s+\w+|union\s+\w+|enum\s+\w+|class\s+\w+|namespace\b|template\s*<|@interface|@implementation|"
    rf"@protocol|[-+]\s*\(|#\s*define\s+\w+\(|{_C_TYPE}[A-Za-z_~][\w:~]*\s*\([^;=]*$)",
)
GO = Language("Go", r'(?:import\b|(?:\w+\s+)?"[\w./-]+"$)', r"(?:func|type)\s")
RUST = Language(
    "Rust",
    r"(?:pub(?:\([^)]*\))?\s+)?(?:use|extern crate|mod\s+\w+;)\b",
    r"(?:pub(?:\([^)]*\))?\s+)?(?:(?:async|unsafe|const|default)\s+|extern\s+\"[^\"]*\"\s+)*"
    r"(?:fn|struct|enum|trait|impl|type|union|macro_rules!|mod)\b",
)
RUBY = Language("Ruby", r"(?:require|require_relative|load|include)\s", r"(?:def|class|module)\s")
PHP = Language(
    "PHP",
    r"(?:use\s.*;|(?:require|include)(?:_once)?\b)",
    rf"(?:namespace\s|{_MODIFIERS}(?:function|class|interface|trait|enum)\b)",
)
SWIFT = Language(
    "Swift",
    r"(?:@\w+\s+)*import\s",
    rf"(?:@\w+\s+)*{_MODIFIERS}(?:func|class|struct|enum|protocol|extension|actor|init)\b",
)
DART = Language(
    "Dart",
    r"(?:import|export|part)\s",
    rf"(?:{_MODIFIERS}(?:class|mixin|extension|enum|typedef)\s|{_C_TYPE}[A-Za-z_]\w*\s*\([^;=]*\{{$)",
)
SHELL = Language("shell script", r"(?:source|\.)\s+\S", r"(?:function\s+\w|[A-Za-z_][\w-]*\s*\(\)\s*[{(]?)")
POWERSHELL = Language("PowerShell", r"(?i:using|import-module)\s", r"(?i:function|filter|class)\s")
PERL = Language("Perl", r"(?:use|require)\s", r"(?:package|sub)\s")
LUA = Language("Lua", r".*\brequire\s*\(?['\"]", r"(?:local\s+)?function\b")
ELIXIR = Language(
    "Elixir", r"(?:import|alias|use|require)\s", r"(?:defmodule|defp?|defmacrop?|defstruct|defprotocol)\s"
)
HASKELL = Language("Haskell", r"import\s", r"(?:module|data|newtype|class|instance|type)\s|[a-z_]\w*\s*::")
R = Language("R", r"(?:library|require|source)\(", r"[\w.]+\s*(?:<-|=)\s*function\b")
SQL = Language("SQL", r"\\i\s", r"(?i:create|alter|drop)\s")
CSS = Language("CSS", r"@(?:import|use|forward)\b", r"(?:@media|@mixin|@function|@layer|[.#:\w\[*&>][^{};]*\{$)")
MAKE = Language("Makefile", r"-?include\s", r"[A-Za-z_.%][^\s:=]*\s*:[^=]*$")
PROTO = Language("Protocol Buffers", r"import\s", r"(?:package|message|service|rpc|enum)\s")
PYTHON = Language("Python", r"(?:import|from)\s", r"(?:async\s+def|def|class)\s")

_TYPESCRIPT = Language("TypeScript", JAVASCRIPT.imports, JAVASCRIPT.signatures)
_CPP = Language("C++", C.imports, C.signatures)

LANGUAGES: dict[str, Language] = {
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx", ".vue", ".svelte"), JAVASCRIPT),
    **dict.fromkeys((".ts", ".tsx", ".mts", ".cts"), _TYPESCRIPT),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hpp", ".hh", ".hxx", ".cu", ".ino"), _CPP),
    **dict.fromkeys((".c", ".h", ".m", ".mm"), C),
    **dict.fromkeys((".kt", ".kts"), KOTLIN),
    **dict.fromkeys((".scala", ".sc"), SCALA),
    **dict.fromkeys((".sh", ".bash", ".zsh", ".ksh"), SHELL),
    **dict.fromkeys((".ps1", ".psm1"), POWERSHELL),
    **dict.fromkeys((".pl", ".pm"), PERL),
    **dict.fromkeys((".ex", ".exs"), ELIXIR),
    **dict.fromkeys((".css", ".scss", ".less"), CSS),
    **dict.fromkeys((".py", ".pyi", ".pyw"), PYTHON),
    **dict.fromkeys((".java", ".groovy", ".gradle"), JAVA),
    ".cs": CSHARP, ".go": GO, ".rs": RUST, ".rb": RUBY, ".php": PHP, ".swift": SWIFT, ".dart": DART, ".lua": LUA,
    ".hs": HASKELL, ".r": R, ".sql": SQL, ".mk": MAKE, ".proto": PROTO,
}  # fmt: skip
_BY_MIME = {
    "text/x-python": PYTHON, "application/x-python-code": PYTHON, "text/javascript": JAVASCRIPT,
    "application/javascript": JAVASCRIPT, "text/typescript": _TYPESCRIPT, "application/typescript": _TYPESCRIPT,
    "text/x-java": JAVA, "text/x-java-source": JAVA, "text/x-c": C, "text/x-csrc": C, "text/x-c++": _CPP,
    "text/x-c++src": _CPP, "text/x-go": GO, "text/x-rust": RUST, "text/rust": RUST, "text/x-ruby": RUBY,
    "text/x-php": PHP, "application/x-httpd-php": PHP, "text/x-sh": SHELL, "application/x-sh": SHELL,
    "text/x-shellscript": SHELL, "application/sql": SQL, "text/x-sql": SQL, "text/css": CSS, "text/x-csharp": CSHARP,
    "text/x-kotlin": KOTLIN, "text/x-swift": SWIFT, "text/x-scala": SCALA, "text/x-lua": LUA, "text/x-perl": PERL,
}  # fmt: skip
_BY_SHEBANG = (("python", PYTHON), ("node", JAVASCRIPT), ("ruby", RUBY), ("perl", PERL), ("sh", SHELL))


def language_of(sample: Sample) -> Language | None:
    """By the name, else the declared type, else the first line."""
    if (named := LANGUAGES.get(sample.extension)) is not None:
        return named
    if sample.name.rpartition("/")[2] == "Makefile":
        return MAKE
    if (declared := _BY_MIME.get(sample.mime_type)) is not None:
        return declared
    first_line = sample.text[:200].partition("\n")[0]
    if first_line.startswith("#!"):
        return next((language for word, language in _BY_SHEBANG if word in first_line), None)
    return None


def explore_code(sample: Sample) -> str | None:
    """None when nothing of it looks like code."""
    language = language_of(sample)
    if language is None:
        return None
    found = _python_tree(sample) if language is PYTHON else None
    if found is None:
        found = _by_lines(language, sample.text[:_READ_CHARS])
    if not found.imports and not found.signatures:
        return None
    at_least = not sample.is_whole or len(sample.text) > _READ_CHARS
    figures = (
        counted(sample.lines, "line"),
        counted(found.import_count, "import", at_least=at_least),
        counted(found.signature_count, "declaration", at_least=at_least),
    )
    return outline(f"{language.name}: {', '.join(figures)}", _details(found))


@dataclass(slots=True)
class _Found:
    """The first imports and signatures, and how many there are."""

    imports: list[str]
    signatures: list[str]
    import_count: int
    signature_count: int


def _details(found: _Found) -> Iterator[str]:
    if found.imports:
        shown = "; ".join(one_line(each, _IMPORT_CHARS) for each in found.imports[:_MAX_IMPORTS])
        yield f"imports: {shown}"
    yield from (one_line(each, _SIGNATURE_CHARS) for each in found.signatures[:_MAX_SIGNATURES])


def _by_lines(language: Language, text: str) -> _Found:
    imports = _matches(_line_pattern(language.imports), text)
    signatures = _matches(_line_pattern(language.signatures), text)
    return _Found(
        [each.rstrip(" ;{") for each in imports], [_head(each) for each in signatures], len(imports), len(signatures)
    )


def _head(line: str) -> str:
    """A declaration without its body and the remark behind it."""
    declared = line.partition(" //")[0]
    return (declared.partition("{")[0] or declared).rstrip(" :;=")


@lru_cache(maxsize=64)
def _line_pattern(beginning: str) -> Any:
    """The rest of the line is taken with it; what is deeply indented belongs to a body."""
    options = re2.Options()
    options.never_nl = True  # whatever a class of the pattern takes in, a match ends with its line
    return re2.compile(rf"(?m)^[ \t]{{0,8}}((?:{beginning})[^\n]{{0,300}})", options)


def _matches(pattern: Any, text: str) -> list[str]:
    return [match.group(1).strip() for match in pattern.finditer(text)]


def _python_tree(sample: Sample) -> _Found | None:
    """None when it cannot be parsed, also by reason of a newer syntax."""
    if not sample.is_whole or len(sample.text) > _TREE_CHARS:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(sample.text)
        return _read_module(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _read_module(tree: ast.Module) -> _Found:
    imports = [line for node in tree.body for line in _imports(node)]
    signatures = [line for node in tree.body for line in _signatures(node)]
    return _Found(imports, signatures, len(imports), len(signatures))


def _imports(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (each.name for each in node.names)
    elif isinstance(node, ast.ImportFrom):
        names = ", ".join(each.name for each in node.names[:4])
        yield f"{'.' * node.level}{node.module or ''} ({names})"


def _signatures(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield _function(node)
    elif isinstance(node, ast.ClassDef):
        bases = ", ".join(ast.unparse(base) for base in node.bases)
        yield f"class {node.name}({bases})" if bases else f"class {node.name}"
        methods = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
        yield from (f".{_function(each, is_method=True)}" for each in methods if not each.name.startswith("__"))


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, *, is_method: bool = False) -> str:
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    names = _parameters(node.args)
    if is_method and names[:1] in (["self"], ["cls"]):
        del names[0]
    return f"{node.name}({', '.join(names)}){returns}"


def _parameters(arguments: ast.arguments) -> list[str]:
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    if arguments.vararg:
        names.append(f"*{arguments.vararg.arg}")
    elif arguments.kwonlyargs:
        names.append("*")
    names += [each.arg for each in arguments.kwonlyargs]
    return [*names, f"**{arguments.kwarg.arg}"] if arguments.kwarg else names
