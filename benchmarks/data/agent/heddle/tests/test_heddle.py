from heddle import Draft, Project, Stripes, dyeing, library, setts, yarns


def test_twill_has_floats_of_two():
    draft = library.draft("straight twill")
    assert draft.longest_weft_float() == 2
    assert draft.row(0) == "##.."


def test_turning_keeps_the_size():
    draft = Draft.parse("1 2 3", "1 2 3", "1 2 3 2")
    assert len(draft.turned().threading) == 4


def test_ends_are_whole_repeats():
    assert Project(2.0, 40, 8, 8).ends(repeat=6) % 6 == 0


def test_counts_of_yarn():
    assert round(yarns.run("2/20 Nm"), 3) == 10.0
    assert setts.sleying(7.5, 5) == [1, 2]


def test_stripes_fill_the_warp():
    assert Stripes("2red 1blue").counts(ends=4) == {"red": 3, "blue": 1}


def test_bath_counts_the_stock():
    assert dyeing.bath("wool", 100, 1.0)["water"] == 2900
