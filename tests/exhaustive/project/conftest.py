"""What the tests of the app share."""

from tests.project.conftest import no_packaged_components
