"""Files that GitHub Classroom and Gradescope need to run the tests of a handout."""
