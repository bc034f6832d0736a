"""Pages that change GPUs between supersteps leave nothing behind that counts twice."""

from __future__ import annotations

import pytest
from compilers import needs_gxx
from moving import check_moving
from planned import PROGRAMS, make

from gstream.options.run_options import RunOptions

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with make(tmp_path_factory.mktemp("stores")) as made:
        yield made


@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", ["cuda:0,2", "cuda:0,1"], ids=["reach each other", "do not"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("cache", ["auto", "0"])
def test_answers_do_not_change_when_pages_change_gpus(store, program, devices, cache):
    check_moving(store, PROGRAMS[program], RunOptions(devices=[devices], cache=cache))
