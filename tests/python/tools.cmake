# Reading runs, plots, adapters and examples. Expects IMPART_PYTHON_PATH, the folder of the package.
foreach(piece runs plots adapters examples)
  add_test(NAME python_${piece} COMMAND ${IMPART_SYSTEM_PYTHON}
    ${CMAKE_CURRENT_LIST_DIR}/${piece}_test.py WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(python_${piece} PROPERTIES LABELS python
    ENVIRONMENT PYTHONPATH=${IMPART_PYTHON_PATH})
endforeach()
set_tests_properties(python_examples PROPERTIES RUN_SERIAL ON)
if(TARGET impart-engine)
  add_test(NAME python_real_runs COMMAND ${IMPART_SYSTEM_PYTHON}
    ${CMAKE_CURRENT_LIST_DIR}/runs_test.py $<TARGET_FILE:impart> RealRun
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(python_real_runs PROPERTIES LABELS python
    ENVIRONMENT PYTHONPATH=${IMPART_PYTHON_PATH})
endif()
