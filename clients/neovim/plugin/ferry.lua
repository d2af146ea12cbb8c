require("ferry").define()
