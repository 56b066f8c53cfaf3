from gpflow_gi.datasets.near import near_names


def test_near_names_are_found_whatever_the_capitals():
    assert near_names("YACTH", ["wine", "Yacht", "power"]) == ["Yacht"]
    assert near_names("aab", ["aaa", "zzz", "aab"])[0] == "aab"
    assert near_names("housing", ["wine", "Yacht"]) == []
    assert len(near_names("age1", [f"age{i}" for i in range(10)])) == 3
