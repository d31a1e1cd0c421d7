"""Tables: types, missing values, quotes, files that lie, and memory."""

import csv
import gzip
import io
import math
import pickle
import random
import threading

import pytest
import torch
from torch.utils.data import DataLoader
from torch.utils.data.datasets import CSV, BrokenFile, Column, CSVStream, rows

FLOWERS = """length,width,kind,fresh,count
5.1,3.5,setosa,yes,3
,3.0,virginica,no,4
4.9,1e-1,setosa,yes,5
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "flowers.csv"
    path.write_text(FLOWERS)
    return path


def table(tmp_path, text, **options):
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return CSV(path, **options)


def test_types_are_guessed(path):
    data = CSV(path)
    assert {name: str(column) for name, column in data.columns.items()} == {
        "length": "float",
        "width": "float",
        "kind": "str",
        "fresh": "str",
        "count": "int",
    }
    assert data[2] == {"length": 4.9, "width": 0.1, "kind": "setosa", "fresh": "yes", "count": 5}
    assert math.isnan(data[1]["length"])
    assert data[-1] == data[2]
    assert len(data) == 3
    with pytest.raises(IndexError, match="row 3 is out of range for 3 rows"):
        data[3]


def test_types_are_given(path):
    columns = {"kind": ["setosa", "virginica"], "fresh": bool, "count": lambda text: int(text) * 2}
    assert list(CSV(path, columns)) == [
        {"kind": 0, "fresh": True, "count": 6},
        {"kind": 1, "fresh": False, "count": 8},
        {"kind": 0, "fresh": True, "count": 10},
    ]


def test_a_target_makes_pairs(path):
    columns = {"width": float, "count": int, "kind": ["setosa", "virginica"]}
    data = CSV(path, columns, target="kind", target_transform=lambda y: y + 10)
    x, y = data[0]
    assert x.tolist() == [3.5, 3.0]
    assert x.dtype == torch.float32
    assert y == 10
    xs, ys = next(iter(DataLoader(data, batch_size=3)))
    assert xs.shape == (3, 2)
    assert ys.tolist() == [10, 11, 10]
    assert CSV(path, target="kind", columns={}, transform=len)[0] == (0, "setosa")


def test_missing_values_take_the_default_or_are_named(tmp_path):
    text = "a,b\n1,x\nNA,y\n"
    assert table(tmp_path, text, columns={"a": Column(int, default=-1)})[1] == {"a": -1}
    with pytest.raises(
        BrokenFile, match=r"t.csv: row 1, column 'a': a missing value \('NA'\).*Column\(int, default=...\)"
    ):
        table(tmp_path, text, columns={"a": int})[1]
    assert table(tmp_path, text, missing=("y",), columns={"b": Column(str, default=None)})[1] == {"b": None}
    assert table(tmp_path, "a,b\n1,NA\n", columns={"b": ["NA", "EU"]})[0] == {"b": 0}


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"length": int}, "row 0, column 'length': '5.1' is no int"),
        ({"kind": float}, "row 0, column 'kind': 'setosa' is no float"),
        ({"kind": ["virginica"]}, "'setosa' is not one of 'virginica'"),
        ({"width": bool}, "'3.5' is not one of true, yes"),
    ],
)
def test_a_field_of_another_type_is_named(path, columns, says):
    with pytest.raises(BrokenFile, match=f"flowers.csv: .*{says}"):
        CSV(path, columns)[0]


def test_columns_that_are_not_there_are_named(path):
    with pytest.raises(ValueError, match=r"flowers.csv: there is no column 'hight'; columns are 'length', 'width'"):
        CSV(path, {"hight": float})
    with pytest.raises(ValueError, match="there is no column 'k'"):
        CSV(path, target="k")
    with pytest.raises(TypeError, match="kind must be a type, a list of words or a function, got 3"):
        Column(3)


def test_headers_may_be_given_or_absent(tmp_path):
    assert table(tmp_path, "1;2\n3;4\n", header=False, delimiter=";")[1] == {"0": 3, "1": 4}
    assert table(tmp_path, "1,2\n3,4\n", header=["x", "y"])[0] == {"x": 1, "y": 2}
    with pytest.raises(BrokenFile, match=r"two columns are called 'a'; header="):
        table(tmp_path, "a,a\n")
    with pytest.raises(BrokenFile, match="empty"):
        table(tmp_path, "")


def test_rows_end_where_no_quote_is_open(tmp_path):
    text = '\ufeff\n\na,b\r\n"one\nline, ""quoted""",1\r\n\r\n\n"x",2\n\n\n3,4'
    data = table(tmp_path, text)
    assert list(data) == [{"a": 'one\nline, "quoted"', "b": 1}, {"a": "x", "b": 2}, {"a": "3", "b": 4}]
    assert table(tmp_path, 'a,b\n5" disk,1\n', quote=None)[0] == {"a": '5" disk', "b": 1}


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 20])
def test_random_tables_agree_with_the_csv_module(tmp_path, monkeypatch, block):
    monkeypatch.setattr(rows, "BLOCK", block)
    draw = random.Random(block)
    letters = 'ab,"\n\r ü1'
    path = tmp_path / "t.csv"
    for _ in range(30):
        content = [["".join(draw.choices(letters, k=draw.randrange(6))) + "." for _ in range(3)] for _ in range(20)]
        out = io.StringIO()
        csv.writer(out, lineterminator=draw.choice(["\n", "\r\n"]), quoting=csv.QUOTE_ALL).writerows(
            [["x", "y", "z"], *content]
        )
        path.write_text(out.getvalue().removesuffix(draw.choice(["", "\n"])), newline="")
        data = CSV(path, {"x": Column(str.__str__), "y": str, "z": str}, missing=())
        expected = [[value.strip() for value in row] for row in content]
        assert [list(row.values()) for row in data] == expected
        order = draw.sample(range(20), 20)
        assert [list(data[i].values()) for i in order] == [expected[i] for i in order]
        assert [list(row.values()) for row in CSVStream(path, {"x": str, "y": str, "z": str}, missing=())] == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n1,2\n1,2,3\n", "row 1 has 3 fields, and the table has 2 columns"),
        ("a,b\n1\n", "row 0 has 1 fields"),
        ('a,b\n"x"y,1\n', "row 0: .*expected after"),
        (b"a,b\n\xff,1\n", "row 0 is not utf-8"),
        ("a,b\n" + "x" * 200_000 + ",1\n", "row 0: field larger than field limit"),
    ],
)
def test_broken_rows_are_named(tmp_path, text, says):
    with pytest.raises(BrokenFile, match=f"t.csv: {says}"):
        table(tmp_path, text)[-1]


def test_a_quote_that_stays_open_is_named(tmp_path):
    with pytest.raises(BrokenFile, match=r"a quote in the row that begins at byte 8 is never closed.*give quote=None"):
        table(tmp_path, 'a,b\n1,2\n"x,1\n3,4\n')


def test_a_row_without_end_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "LONGEST", 1 << 12)
    monkeypatch.setattr(rows, "BLOCK", 1 << 10)
    with pytest.raises(BrokenFile, match="the row that begins at byte 4 is longer than 4096 bytes"):
        table(tmp_path, "a,b\n" + "x" * 100_000)


def test_a_file_that_changes_is_noticed(path):
    data = CSV(path)
    path.write_text(FLOWERS + "1,2,setosa,no,1\n")
    with pytest.raises(BrokenFile, match="changed since its rows were counted"):
        data[0]


def test_workers_threads_and_pickles_share_a_table(tmp_path):
    text = "i\n" + "".join(f"{i}\n" for i in range(500))
    data = table(tmp_path, text)
    data[0]
    assert [b for batch in DataLoader(data, batch_size=50, num_workers=2) for b in batch["i"].tolist()] == list(
        range(500)
    )
    again = pickle.loads(pickle.dumps(data))
    assert again[499] == {"i": 499}
    wrong = []

    def read(seed):
        draw = random.Random(seed)
        for i in draw.choices(range(500), k=300):
            if data[i] != {"i": i}:
                wrong.append(i)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_stream_is_shared_out_between_workers(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"i\n" + b"".join(b"%d\n" % i for i in range(100))))
    stream = CSVStream(path)
    assert [row["i"] for row in stream] == list(range(100))
    for workers in (1, 2):
        got = [i for batch in DataLoader(stream, batch_size=7, num_workers=workers) for i in batch["i"].tolist()]
        assert sorted(got) == list(range(100))
    with pytest.raises(ValueError, match="rows of a gzipped file cannot be read by index; unpack it, or use CSVStream"):
        CSV(path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(BrokenFile, match="damaged gzip data"):
        list(CSVStream(path))


def test_columns_become_a_tensor(path):
    data = CSV(path, {"width": float, "count": int, "kind": ["setosa", "virginica"]})
    assert data.tensor().tolist() == [[3.5, 3, 0], [3, 4, 1], [pytest.approx(0.1), 5, 0]]
    assert data.tensor("count", dtype=torch.int64).tolist() == [[3], [4], [5]]
    with pytest.raises(ValueError, match="column 'kind' holds 'setosa', which is no number"):
        CSV(path).tensor()


def test_check_reads_all_rows(tmp_path):
    good = table(tmp_path, "a\n1\n2\n")
    assert good.check()
    bad = table(tmp_path, "a,b\n1,1\nx,2\n3\n4,4\n", columns={"a": int, "b": int})
    problem = bad.check().problems[tmp_path / "t.csv"]
    assert problem == "row 1, column 'a': 'x' is no int; row 2 has 1 fields, and the table has 2 columns"


def test_a_big_table_costs_eight_bytes_a_row(tmp_path):
    import tracemalloc

    text = b"a,b\n" + b"1.5,some words that are longer than a number\n" * 50_000
    (tmp_path / "t.csv").write_bytes(text)
    tracemalloc.start()
    data = CSV(tmp_path / "t.csv")
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(data) == 50_000
    assert data._begins.nbytes <= 8 * 50_001
    assert held < 200_000
    assert data[49_999]["a"] == 1.5
