"""Files with which GitHub Classroom and Gradescope run the tests of a handout."""
