"""The UCI regression sets, and their descriptions.

They are the sets of Hernandez-Lobato & Adams, "Probabilistic backpropagation for scalable learning
of Bayesian neural networks", ICML 2015, arXiv:1502.05336, except for the largest, of songs and
their years. The files do not contain names of columns; they are from the descriptions by the sets'
authors.
"""

from dataclasses import dataclass

from ..core.validation import is_one_of, shown
from .errors import DataError
from .near import near_names


@dataclass(frozen=True)
class UCISet:
    """One of the sets, without its numbers.

    :param folder: folder of the published files.
    :param num_rows: number of rows of data.txt.
    :param input_names: the inputs, in their order.
    :param target_name: name of the target.
    :param sha256: hash of data.txt, which identifies the data.
    :param inputs_sha256: hash of index_features.txt, the indices of the input columns.
    :param target_sha256: hash of index_target.txt, the index of the target column.
    :param num_splits: number of published splits.
    """

    folder: str
    num_rows: int
    input_names: tuple[str, ...]
    target_name: str
    sha256: str
    inputs_sha256: str
    target_sha256: str
    num_splits: int = 20


UCI_SETS = {
    "boston": UCISet(
        folder="bostonHousing",
        num_rows=506,
        input_names=(
            "CRIM",
            "ZN",
            "INDUS",
            "CHAS",
            "NOX",
            "RM",
            "AGE",
            "DIS",
            "RAD",
            "TAX",
            "PTRATIO",
            "B",
            "LSTAT",
        ),
        target_name="MEDV",
        sha256="baadf72995725d76efe787b664e1f083388c79ba21ef9a7990d87f774184735a",
        inputs_sha256="b762e997c89e06c8e2f54d015ae208226f3099cac114245641578f183da0450a",
        target_sha256="1a252402972f6057fa53cc172b52b9ffca698e18311facd0f3b06ecaaef79e17",
    ),
    "concrete": UCISet(
        folder="concrete",
        num_rows=1030,
        input_names=(
            "cement",
            "blast furnace slag",
            "fly ash",
            "water",
            "superplasticizer",
            "coarse aggregate",
            "fine aggregate",
            "age",
        ),
        target_name="compressive strength",
        sha256="43d290fd2c2a399ad7e62c45cab5337ba94ece69ebdcf5875aa668cb886243de",
        inputs_sha256="d59784813bbf8e9a47929bbd4195498a43979c690f9e799cfe2e14522217c48d",
        target_sha256="aa67a169b0bba217aa0aa88a65346920c84c42447c36ba5f7ea65f422c1fe5d8",
    ),
    "energy": UCISet(
        folder="energy",
        num_rows=768,
        input_names=(
            "relative compactness",
            "surface area",
            "wall area",
            "roof area",
            "overall height",
            "orientation",
            "glazing area",
            "glazing area distribution",
        ),
        target_name="heating load",
        sha256="7f8bf024cea437267d56be99b7af7bb3faebec8a7bccfbb20d06d52d9372a950",
        inputs_sha256="d59784813bbf8e9a47929bbd4195498a43979c690f9e799cfe2e14522217c48d",
        target_sha256="aa67a169b0bba217aa0aa88a65346920c84c42447c36ba5f7ea65f422c1fe5d8",
    ),
    "kin8nm": UCISet(
        folder="kin8nm",
        num_rows=8192,
        input_names=(
            "theta1",
            "theta2",
            "theta3",
            "theta4",
            "theta5",
            "theta6",
            "theta7",
            "theta8",
        ),
        target_name="distance",
        sha256="a694ce0c7a21390f2bd2a205c36f2482cd974637a207038696716e22f3bbe810",
        inputs_sha256="d59784813bbf8e9a47929bbd4195498a43979c690f9e799cfe2e14522217c48d",
        target_sha256="aa67a169b0bba217aa0aa88a65346920c84c42447c36ba5f7ea65f422c1fe5d8",
    ),
    "naval": UCISet(
        folder="naval-propulsion-plant",
        num_rows=11934,
        input_names=(
            "lever position",
            "ship speed",
            "gas turbine shaft torque",
            "gas turbine rate of revolutions",
            "gas generator rate of revolutions",
            "starboard propeller torque",
            "port propeller torque",
            "turbine exit temperature",
            "compressor inlet temperature",
            "compressor outlet temperature",
            "turbine exit pressure",
            "compressor inlet pressure",
            "compressor outlet pressure",
            "exhaust gas pressure",
            "turbine injection control",
            "fuel flow",
        ),
        target_name="compressor decay",
        sha256="de0ea69da1efaab8b9655ffed828547d10dd68c1fb8c6e0163e6a988def393a6",
        inputs_sha256="19db51381e85a36e256e116b63fa48901a4277fd8e681840ed0ff6d1cdd5c0e3",
        target_sha256="e6c21e8d260fe71882debdb339d2402a2ca7648529bc2303f48649bce0380017",
    ),
    "power": UCISet(
        folder="power-plant",
        num_rows=9568,
        input_names=(
            "temperature",
            "exhaust vacuum",
            "ambient pressure",
            "relative humidity",
        ),
        target_name="energy output",
        sha256="daebd20c408dfc5c4979604f240e891be162c3a5d00d662380aa669044a1fb31",
        inputs_sha256="e169bdf59fac30d230f7d21be511d04dc8cc61e5edb1d8255758bc220ba3d4c7",
        target_sha256="7de1555df0c2700329e815b93b32c571c3ea54dc967b89e81ab73b9972b72d1d",
    ),
    "protein": UCISet(
        folder="protein-tertiary-structure",
        num_rows=45730,
        input_names=(
            "F1",
            "F2",
            "F3",
            "F4",
            "F5",
            "F6",
            "F7",
            "F8",
            "F9",
        ),
        target_name="RMSD",
        sha256="d35f332707e8a73f21e021039250a1e7b26e14f7dd826a0337ffa8e8e48b9727",
        inputs_sha256="3025504b09307ca02bc4d32551aed10ed5d40d72b1730c4891ce35b9ab55bcb7",
        target_sha256="2e6d31a5983a91251bfae5aefa1c0a19d8ba3cf601d0e8a706b4cfa9661a6b8a",
        num_splits=5,
    ),
    "wine": UCISet(
        folder="wine-quality-red",
        num_rows=1599,
        input_names=(
            "fixed acidity",
            "volatile acidity",
            "citric acid",
            "residual sugar",
            "chlorides",
            "free sulfur dioxide",
            "total sulfur dioxide",
            "density",
            "pH",
            "sulphates",
            "alcohol",
        ),
        target_name="quality",
        sha256="3ba41eaf4ab562088cf47b5c9dca2b4de2a330c3ee38a7920b4527a09574d5c1",
        inputs_sha256="d3dcb66facaeee49137e7ce2c7b05a4a190876ba4bd1c6dcf48ef39fdb78e549",
        target_sha256="25d4f2a86deb5e2574bb3210b67bb24fcc4afb19f93a7b65a057daa874a9d18e",
    ),
    "yacht": UCISet(
        folder="yacht",
        num_rows=308,
        input_names=(
            "longitudinal position",
            "prismatic coefficient",
            "length-displacement ratio",
            "beam-draught ratio",
            "length-beam ratio",
            "Froude number",
        ),
        target_name="residuary resistance",
        sha256="00dfecc0fc01ddd4c90b558a3ac11b246df8ebcfea130724223475a9a67f0ea1",
        inputs_sha256="9d6093db34ed3db1834973eb10698ddb099971d39ac0e4707485d5f5aa5b0595",
        target_sha256="06e9d52c1720fca412803e3b07c4b228ff113e303f4c7ab94665319d832bbfb7",
    ),
}
"""The sets by name, in alphabetical order."""


def uci_set(name: str) -> UCISet:
    """The description of a UCI regression set.

    :param name: as for :func:`gpflow_gi.datasets.uci`.
    :return: its columns, hashes and splits.
    :raises DataError: if there is no such set.
    """
    if not is_one_of(name, UCI_SETS):
        near = near_names(name, UCI_SETS) if isinstance(name, str) else []
        meant = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise DataError(
            f"There is no UCI data set {shown(name)}.{meant} There are {', '.join(UCI_SETS)}."
        )
    return UCI_SETS[name]
