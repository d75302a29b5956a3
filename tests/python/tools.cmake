# Reading runs, pictures, adapters and examples of the package.
impart_package_test(runs runs_test.py $<TARGET_FILE:impart>)
impart_package_test(plots plots_test.py)
impart_package_test(adapters adapters_test.py)
impart_package_test(examples examples_test.py)
set_tests_properties(python_adapters python_examples PROPERTIES RUN_SERIAL ON)
