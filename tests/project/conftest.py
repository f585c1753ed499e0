"""What the tests of the app share."""

import pytest
from streamlit.components.v2.component_manager import BidiComponentManager


@pytest.fixture(autouse=True, scope="session")
def no_packaged_components():
    """Streamlit reads the metadata of every installed package before a page's first run; the app's components are in no package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BidiComponentManager, "discover_and_register_components", lambda *arguments, **options: None)
        yield
