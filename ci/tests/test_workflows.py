import changed
import workflows

import packages


def test_the_workflow_files_are_what_the_script_writes():
    written = {p.name: p.read_text() for p in workflows.FOLDER.glob("*.yml")}
    assert written == workflows.files(), "python ci/workflows.py"


def test_every_environment_of_tox_has_a_job():
    text = workflows.files()["test.yml"]
    for env in workflows.environments():
        assert f"\n  {env}:\n" in text


def test_every_environment_that_a_change_can_name_has_a_job():
    text = workflows.files()["test.yml"]
    for env in changed.environments(["core/CMakeLists.txt"], packages.read()):
        assert f"\n  {env}:\n" in text


def test_every_part_has_an_environment():
    assert {p.part for p in packages.read().values()} <= set(workflows.environments())
