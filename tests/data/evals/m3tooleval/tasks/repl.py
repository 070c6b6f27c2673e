from IPython.core.interactiveshell import InteractiveShell
from IPython.utils import io


class PythonREPL:
    def __init__(self):
        self.shell = InteractiveShell()
        self.captured = io.capture_output
