"""Deletion said in other languages."""

import pytest

from tests.audit.tools import tool
from toolwise import registry
from toolwise.audit import audit
from toolwise.audit.languages import judge
from toolwise.audit.load import members
from toolwise.records import Level, Permission


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("datos", "Borra la base de datos completa"),
        ("kunden", "Löscht alle Kunden unwiderruflich"),
        ("fichiers", "Supprime un fichier"),
        ("数据", "删除所有数据"),
        ("удалить_файл", "Файл с диска"),
        ("予定", "予定を削除します"),
        ("파일 삭제", ""),
    ],
)
def test_what_says_that_it_deletes_is_level_4(name, description):
    """In its name, or in its first words."""
    verdict = judge(tool(name, description))
    assert verdict.level is Level.HIGH
    assert verdict.permissions == {Permission.WRITE}


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("列表", "列出文件，已经被删除的除外，按时间排列"),
        ("archivos", "Lista los archivos que se pueden borrar"),
        ("delete_file", "Deletes a file"),
        ("apagado", "Estado del servidor"),
        ("silo", "Reads the silo"),
    ],
)
def test_what_only_mentions_it_is_left_to_others(name, description):
    """Later words, English, and words that merely look alike."""
    assert judge(tool(name, description)).level is None


def test_the_resolved_verdict_has_it():
    """With all annotators together, an unknown tool rises from 3 to 4."""
    annotators = [registry.get("annotator", name)() for name in members()]
    (verdict,) = audit([tool("数据", "删除所有数据")], annotators)
    assert verdict.level is Level.HIGH
    assert verdict.evidence[0].source == "languages"
